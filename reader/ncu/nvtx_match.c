#include "reader/ncu/nvtx_match.h"

/* Expressions (bits) that are about the domain. */
static uint32_t of_domain(const struct nvtx_filter *f, const Ncu__NvtxState *s, uint64_t id)
{
	uint32_t domains = id == s->default_domain ? nvtx_filter_domains(f, "") : 0;
	for (size_t i = 0; i < s->n_domains; i++)
		if (s->domains[i]->id == id && s->domains[i]->name)
			domains |= nvtx_filter_domains(f, s->domains[i]->name);
	return domains;
}

static uint64_t names_of(const struct nvtx_filter *f, const char *name)
{
	return name && *name ? nvtx_filter_names(f, name) : 0;
}

static uint32_t stack_holds(
	const struct nvtx_filter *f, const Ncu__NvtxState *s, const Ncu__NvtxPushPopDomain *d)
{
	const uint32_t domains = of_domain(f, s, d->id);
	struct nvtx_stack stacks[2];
	const struct nvtx_stack *below = NULL;
	for (size_t i = 0; i < d->n_stack; i++) {
		struct nvtx_stack *top = &stacks[i % 2];
		nvtx_stack_push(f, below, domains, names_of(f, d->stack[i]->name), top);
		below = top;
	}
	return below ? below->holds : 0;
}

static uint32_t ranges_hold(
	const struct nvtx_filter *f, const Ncu__NvtxState *s, const Ncu__NvtxStartEndDomain *d)
{
	const uint32_t domains = of_domain(f, s, d->id);
	uint64_t names = 0;
	uint32_t holds = 0;
	for (size_t i = 0; i < d->n_ranges; i++)
		names |= names_of(f, d->ranges[i]->name);
	for (uint32_t i = 0; i < f->count; i++)
		if (domains >> i & 1 && nvtx_filter_all_open(&f->expressions[i], names))
			holds |= 1u << i;
	return holds;
}

bool ncu_nvtx_passes(const struct nvtx_filter *f, const Ncu__NvtxState *s, uint32_t thread_id)
{
	uint32_t holds = 0;
	for (size_t t = 0; s && t < s->n_threads; t++)
		for (size_t i = 0;
			s->threads[t]->tid == thread_id && i < s->threads[t]->n_push_pop_domains;
			i++)
			holds |= stack_holds(f, s, s->threads[t]->push_pop_domains[i]);
	for (size_t i = 0; s && i < s->n_start_end_domains; i++)
		holds |= ranges_hold(f, s, s->start_end_domains[i]);
	return nvtx_filter_passes(f, holds);
}
