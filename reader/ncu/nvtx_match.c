/* SPDX-License-Identifier: Apache-2.0 */
/* nvtx_match.c - match of an NVTX filter against a result. */
#include "reader/ncu/nvtx_match.h"

#include "reader/ncu/nvtx_names.h"

/* Return the expressions (bits) that name the domain. */
static uint32_t of_domain(const struct nvtx_filter *f, struct ncu_nvtx_names *n, uint64_t id)
{
	const char *name = ncu_nvtx_domain(n, id);
	return (id == n->state->default_domain ? nvtx_filter_domains(f, "") : 0) |
		(name ? nvtx_filter_domains(f, name) : 0);
}

static uint64_t names_of(const struct nvtx_filter *f, const char *name)
{
	return name && *name ? nvtx_filter_names(f, name) : 0;
}

static uint32_t stack_holds(
	const struct nvtx_filter *f, struct ncu_nvtx_names *n, const Ncu__NvtxPushPopDomain *d)
{
	const uint32_t domains = of_domain(f, n, d->id);
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
	const struct nvtx_filter *f, struct ncu_nvtx_names *n, const Ncu__NvtxStartEndDomain *d)
{
	const uint32_t domains = of_domain(f, n, d->id);
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
	struct ncu_nvtx_names names;
	uint32_t holds = 0;
	ncu_nvtx_names_init(&names, s);
	for (size_t t = 0; s && t < s->n_threads; t++)
		for (size_t i = 0;
			s->threads[t]->tid == thread_id && i < s->threads[t]->n_push_pop_domains;
			i++)
			holds |= stack_holds(f, &names, s->threads[t]->push_pop_domains[i]);
	for (size_t i = 0; s && i < s->n_start_end_domains; i++)
		holds |= ranges_hold(f, &names, s->start_end_domains[i]);
	ncu_nvtx_names_release(&names);
	return nvtx_filter_passes(f, holds);
}
