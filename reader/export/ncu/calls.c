/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - launch calls of kernels, with the NVTX ranges that were open. */
#include "reader/export/ncu/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/ncu/launch_nvtx.h"
#include "common/utf8.h"

#define CALLS_FIRST 1024u

/* A range that was open when it was last examined. */
struct open_range {
	uint64_t end_ns, id;
	uint32_t tid; /* thread that pushed or started the range */
	uint32_t domain, text, category, color, payload_type;
	uint64_t payload;
	bool is_span; /* start/end range */
};

/* State of a process. */
struct ncu_origin {
	struct ncu_call *calls; /* indexed by correlation id modulo the capacity */
	uint32_t call_capacity;
	struct open_range *open; /* open ranges in order of their start */
	uint32_t open_count, open_capacity;
};

int ncu_calls_init(struct ncu_calls *c, struct contents *contents)
{
	*c = (struct ncu_calls){.contents = contents,
		.launches = {.pattern = "*Launch*"},
		.has_nvtx = contents->events[KIND_NVTX_RANGE] ||
			contents->events[KIND_NVTX_START_END] || contents->events[KIND_NVTX_MARK],
		.origin_count = contents->processes.ids};
	c->origins = calloc(c->origin_count + 1, sizeof(struct ncu_origin *));
	return c->origins ? 0 : -ENOMEM;
}

void ncu_calls_release(struct ncu_calls *c)
{
	for (size_t i = 0; c->origins && i < c->origin_count; i++) {
		struct ncu_origin *o = c->origins[i];
		for (uint32_t n = 0; o && n < o->call_capacity; n++)
			free(o->calls[n].nvtx);
		if (o) {
			free(o->calls);
			free(o->open);
		}
		free(o);
	}
	free(c->origins);
	name_filter_release(&c->launches);
	pool_release(&c->texts);
}

static struct ncu_origin *origin_of(const struct ncu_calls *c, const struct process *p)
{
	if (p->id >= c->origin_count)
		return NULL;
	if (!c->origins[p->id])
		c->origins[p->id] = calloc(1, sizeof(struct ncu_origin));
	return c->origins[p->id];
}

char *ncu_text(struct pool *pool, const char *text)
{
	size_t bytes = text ? strlen(text) : 0, clean = utf8_clean_bytes(text, bytes);
	if (clean == bytes)
		return (char *)(uintptr_t)(text ? text : ""); /* the cast is safe, because
							       * messages are only packed */
	char *copy = malloc(clean + 1);
	if (copy)
		utf8_clean(text, bytes, copy);
	const char *kept = copy ? pool_text(pool, copy, clean) : NULL;
	free(copy);
	return (char *)(uintptr_t)(kept ? kept : "");
}

static uint64_t value_of(const struct event_row *row, uint32_t field)
{
	return (uint64_t)row->values[schema_column_index(row->event, field)];
}

/* ---- ranges ---- */

/* Remove ranges that have ended. A range is open at its start, and no longer at its end. */
static void open_prune(struct ncu_origin *o, uint64_t now_ns)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < o->open_count; i++)
		if (o->open[i].end_ns > now_ns)
			o->open[kept++] = o->open[i];
	o->open_count = kept;
}

static int range_note(
	struct ncu_calls *c, struct ncu_origin *o, const struct open_range *range, uint64_t now_ns)
{
	if (o->open_count == o->open_capacity)
		open_prune(o, now_ns);
	if (o->open_count == NCU_OPEN_MAX) {
		c->ranges_left_out++;
		return 0;
	}
	if (array_room(&o->open, o->open_count, &o->open_capacity, sizeof(*o->open)))
		return -ENOMEM;
	o->open[o->open_count++] = *range;
	return 0;
}

#define RANGE_OF(row, event)                                                                   \
	{                                                                                      \
		.domain = (uint32_t)value_of(row, FIELD_##event##_DOMAIN),                     \
		.text = (uint32_t)value_of(row, FIELD_##event##_TEXT),                         \
		.category = (uint32_t)value_of(row, FIELD_##event##_CATEGORY),                 \
		.color = (uint32_t)value_of(row, FIELD_##event##_COLOR),                       \
		.payload_type = (uint32_t)value_of(row, FIELD_##event##_PAYLOAD_TYPE),         \
		.payload = value_of(row, FIELD_##event##_PAYLOAD),                             \
		.end_ns = (uint64_t)(row)->values[0] + value_of(row, FIELD_##event##_DURATION) \
	}

static int push_pop_note(struct ncu_calls *c, struct ncu_origin *o, const struct event_row *row)
{
	struct open_range range = RANGE_OF(row, NVTX_RANGE);
	range.tid = row->tid;
	return range_note(c, o, &range, (uint64_t)row->values[0]);
}

static int span_note(struct ncu_calls *c, struct ncu_origin *o, const struct event_row *row)
{
	struct open_range range = RANGE_OF(row, NVTX_START_END);
	range.is_span = true;
	range.tid = (uint32_t)value_of(row, FIELD_NVTX_START_END_START_TID);
	range.id = value_of(row, FIELD_NVTX_START_END_RANGE_ID);
	return range_note(c, o, &range, (uint64_t)row->values[0]);
}

/* ---- NVTX state ---- */

static const char *text_of(struct ncu_calls *c, uint32_t id)
{
	return ncu_text(&c->texts, string_table_get(&c->contents->strings, id).text);
}

static int state_keep(struct ncu_calls *c, struct ncu_call *call, const Ncu__NvtxState *state)
{
	size_t bytes = ncu__nvtx_state__get_packed_size(state);
	if (bytes > NCU_STATES_BYTES - c->state_bytes) {
		c->states_left_out++;
		return 0;
	}
	call->nvtx = malloc(bytes + 1);
	if (!call->nvtx)
		return -ENOMEM;
	call->nvtx_bytes = bytes;
	c->state_bytes += bytes;
	ncu__nvtx_state__pack(state, call->nvtx);
	return 0;
}

static int state_pack(struct ncu_calls *c, const struct ncu_origin *o, struct ncu_call *call)
{
	struct launch_nvtx state;
	struct launch_range *open = calloc(o->open_count + 1, sizeof(*open));
	if (!open)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->open_count; i++) {
		const struct open_range *range = &o->open[i];
		open[i] = (struct launch_range){.is_span = range->is_span,
			.tid = range->tid,
			.id = range->id,
			.domain = range->domain,
			.domain_name = text_of(c, range->domain),
			.text = text_of(c, range->text),
			.category = range->category,
			.color = range->color,
			.payload_type = range->payload_type,
			.payload = range->payload};
	}
	int error = launch_nvtx_fill(&state, open, o->open_count, call->tid);
	if (!error)
		error = state_keep(c, call, &state.message);
	launch_nvtx_release(&state);
	free(open);
	return error;
}

/* ---- calls ---- */

static struct ncu_call *call_at(const struct ncu_origin *o, uint64_t correlation)
{
	return &o->calls[correlation & (o->call_capacity - 1)];
}

/* Double the table. Entries that did not collide before do not collide afterwards. */
static int calls_grow(struct ncu_origin *o)
{
	struct ncu_origin more = {
		.call_capacity = o->call_capacity ? o->call_capacity * 2 : CALLS_FIRST};
	more.calls = calloc(more.call_capacity, sizeof(*more.calls));
	if (!more.calls)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->call_capacity; i++)
		if (o->calls[i].correlation)
			*call_at(&more, o->calls[i].correlation) = o->calls[i];
	free(o->calls);
	o->calls = more.calls;
	o->call_capacity = more.call_capacity;
	return 0;
}

/* Store a launch call. A driver call inside a runtime call has the same correlation id; the outer
 * call, which starts first, is kept. */
static int call_note(struct ncu_calls *c, struct ncu_origin *o, const struct event_row *row)
{
	uint64_t correlation = value_of(row, FIELD_CUDA_API_CORRELATION_ID);
	if (!correlation ||
		!name_filter_matches(&c->launches, &c->contents->strings,
			(uint32_t)value_of(row, FIELD_CUDA_API_FUNCTION)))
		return 0;
	int error = o->calls ? 0 : calls_grow(o);
	struct ncu_call *call = error ? NULL : call_at(o, correlation);
	while (!error && call->correlation && call->correlation != correlation && !call->used &&
		o->call_capacity < NCU_CALLS_MAX) {
		error = calls_grow(o);
		call = call_at(o, correlation);
	}
	if (error || call->correlation == correlation)
		return error;
	c->state_bytes -= call->nvtx_bytes;
	free(call->nvtx);
	*call = (struct ncu_call){.correlation = correlation,
		.end_ns = (uint64_t)row->values[0] + value_of(row, FIELD_CUDA_API_DURATION),
		.tid = row->tid,
		.chain = (uint32_t)value_of(row, FIELD_CUDA_API_CALLCHAIN)};
	if (!c->has_nvtx)
		return 0;
	open_prune(o, (uint64_t)row->values[0]);
	return state_pack(c, o, call);
}

int ncu_calls_note(struct ncu_calls *c, const struct event_row *row)
{
	const uint32_t kind = row->event->number;
	if (kind != KIND_NVTX_RANGE && kind != KIND_NVTX_START_END && kind != KIND_CUDA_API)
		return 0;
	struct ncu_origin *o = origin_of(c, row->process);
	if (!o)
		return -ENOMEM;
	if (kind == KIND_CUDA_API)
		return call_note(c, o, row);
	return kind == KIND_NVTX_RANGE ? push_pop_note(c, o, row) : span_note(c, o, row);
}

const struct ncu_call *ncu_call_find(
	struct ncu_calls *c, const struct process *process, uint64_t correlation)
{
	const struct ncu_origin *o = process->id < c->origin_count ? c->origins[process->id] : NULL;
	struct ncu_call *call = o && o->calls && correlation ? call_at(o, correlation) : NULL;
	if (!call || call->correlation != correlation)
		return NULL;
	call->used = true;
	return call;
}
