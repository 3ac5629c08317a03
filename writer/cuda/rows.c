/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c - conversion of records of the CUDA source to rows.
 */
#include "writer/cuda/rows.h"

#include <string.h>

#include "common/schema/cuda_columns.h"
#include "common/varint.h"
#include "writer/base/names.h"
#include "writer/cuda/cubins.h"
#include "writer/cuda/launches.h"
#include "writer/cuda/results.h"

_Static_assert(CUDA_COLUMNS_MAX == BATCH_COLUMNS, "columns of CUDA events must fit a batch");

/* ---- the call of an operation ---- */

#define CALLS_KEPT 16384u

struct cuda_origin {
	uint32_t process, correlation;
	uint64_t start_ns;
	uint32_t tid;
};

static struct cuda_origin *origin_of(struct writer *w, uint32_t correlation)
{
	struct cuda_origin *all = slot_get(&w->slots[SLOT_CALLS], CALLS_KEPT * sizeof(*all), NULL);
	return all ? &all[correlation % CALLS_KEPT] : NULL;
}

/* Remember the call that causes an operation. If nested calls have the same id, the outermost call
 * counts, because it began first. */
static void origin_keep(struct segment *s, uint32_t correlation, uint64_t start_ns)
{
	struct cuda_origin *o = origin_of(s->w, correlation);
	if (!o)
		return;
	bool same = o->process == s->spool->id && o->correlation == correlation;
	if (!same || start_ns < o->start_ns)
		*o = (struct cuda_origin){s->spool->id, correlation, start_ns, s->view->tid};
}

/* Return the thread of the call; 0 = not known. */
static uint32_t origin_tid(struct segment *s, uint32_t correlation)
{
	const struct cuda_origin *o = origin_of(s->w, correlation);
	return o && o->process == s->spool->id && o->correlation == correlation ? o->tid : 0;
}

static void origin_check(struct segment *s, uint32_t correlation, uint64_t start_ns)
{
	struct cuda_causality *c = slot_get(&s->spool->slots[SLOT_CAUSALITY], sizeof(*c), NULL);
	struct cuda_origin *o = correlation ? origin_of(s->w, correlation) : NULL;
	if (!c || !o || o->process != s->spool->id || o->correlation != correlation)
		return;
	c->checked++;
	if (start_ns >= o->start_ns)
		return;
	c->too_early++;
	if (o->start_ns - start_ns > c->worst_early_ns)
		c->worst_early_ns = o->start_ns - start_ns;
}

/* ---- API calls ---- */

void cuda_call_fill(struct batch *b, uint32_t name, const struct cuda_call *call,
	uint32_t correlation, int32_t result)
{
	batch_set(b, CUDA_API_FUNCTION, name);
	batch_set(b, CUDA_API_RETURN_VALUE, (uint64_t)(int64_t)result);
	batch_set(b, CUDA_API_CORRELATION_ID, correlation);
	batch_set(b, CUDA_API_CONTEXT_ID, call->context);
	batch_set(b, CUDA_API_API, call->api);
	batch_set(b, CUDA_API_CBID, call->cbid);
	batch_set(b, CUDA_API_LEVEL, call->level);
}

uint32_t cuda_call_put(struct segment *s, const struct record_at *at)
{
	const struct record r = *at->r; /* a copy: a lookup of a name may remap the spool */
	struct cuda_call call = {0};
	uint32_t correlation = (uint32_t)(r.a >> 32);
	memcpy(&call, at->payload, at->bytes < sizeof(call) ? at->bytes : sizeof(call));
	uint64_t start = segment_ns(s, r.tick), end = segment_ns(s, r.tick + r.b);
	uint32_t name = spool_name_id(s->w, s->spool, call.name);
	struct batch *b = segment_row_add(s, EVENT_CUDA_API, start);
	batch_set(b, CUDA_API_DURATION, end > start ? end - start : 0);
	cuda_call_fill(b, name, &call, correlation, (int32_t)(uint32_t)r.a);
	uint32_t chain = s->callchain;
	if (chain) {
		batch_set(b, CUDA_API_CALLCHAIN, chain);
		batch_set(b, CUDA_API_CALLCHAIN_METHOD, s->callchain_method);
		s->callchain = 0;
	}
	segment_note_end(s, end);
	if (r.tick + r.b > s->latest_tick)
		s->latest_tick = r.tick + r.b;
	segment_tally(s)->impossible += r.tick < s->least_tick || r.tick + r.b > s->most_tick;
	origin_keep(s, correlation, start);
	if (!s->view->owner)
		launches_note_call(s->spool,
			&(struct launch_call){.tick = r.tick,
				.correlation = correlation,
				.tid = s->view->tid,
				.chain = chain},
			call.name, call.api, call.cbid);
	segment_reload(s);
	return at->slots;
}

/* ---- rows ---- */

static uint32_t correlation_column(uint32_t event)
{
	switch (event) {
	case EVENT_CUDA_KERNEL:
		return CUDA_KERNEL_CORRELATION_ID;
	case EVENT_CUDA_MEMCPY:
		return CUDA_MEMCPY_CORRELATION_ID;
	case EVENT_CUDA_MEMSET:
		return CUDA_MEMSET_CORRELATION_ID;
	default:
		return 0;
	}
}

/* Read the columns after the record; columns that it lacks are 0. Return false if it is not such a
 * row. */
static bool columns_read(const uint8_t *p, uint32_t bytes, const struct cuda_column *columns,
	uint32_t count, uint64_t *values)
{
	const uint8_t *end = p + bytes;
	uint32_t first = cuda_columns_first(columns);
	memset(values, 0, (CUDA_COLUMNS_MAX + 1) * sizeof(*values));
	if (count > CUDA_COLUMNS_MAX + 1 - first)
		return false;
	for (uint32_t i = first; p && i < first + count; i++) {
		if (!columns[i].encoding)
			return false;
		p = varint_get(p, end, &values[i]);
		if (p && columns[i].encoding == CUDA_ENCODING_SIGNED)
			values[i] = (uint64_t)zigzag_decode(values[i]);
	}
	return p == end;
}

static void texts_find(struct segment *s, const struct cuda_column *columns, uint64_t *values)
{
	for (uint32_t i = 2; i <= CUDA_COLUMNS_MAX; i++)
		if (values[i] && cuda_column_is_text(&columns[i]))
			values[i] = spool_name_id(s->w, s->spool, (uint32_t)values[i]);
}

uint32_t cuda_row_put(struct segment *s, const struct record_at *at)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1];
	const struct record r = *at->r;
	uint32_t event = (uint32_t)(r.a >> 32);
	const struct cuda_column *columns = cuda_columns_of(event);
	if (!columns || !batch_columns(event) ||
		!columns_read(at->payload, at->bytes, columns, (uint32_t)r.a, values))
		return 0;
	uint32_t first = cuda_columns_first(columns);
	if (event == EVENT_CUDA_KERNEL)
		results_note_kernel(s->spool, values, r.b,
			origin_tid(s, (uint32_t)values[CUDA_KERNEL_CORRELATION_ID + 1]));
	else if (event == EVENT_CUDA_DEVICE)
		results_note_device(s->spool, values);
	else if (event == EVENT_CUDA_DEVICE_ATTRIBUTE)
		results_note_attribute(s->spool, values);
	else if (event == EVENT_CUDA_SETUP)
		results_note_setup(s->spool, values);
	else if (event == EVENT_CUDA_MODULE)
		cubins_note_module(s, values);
	texts_find(s, columns, values);
	struct batch *b = segment_row_add(s, event, r.tick);
	if (first == 3)
		batch_set(b, CUDA_KERNEL_DURATION, r.b);
	for (uint32_t i = first; i <= CUDA_COLUMNS_MAX; i++)
		if (values[i])
			batch_set(b, i - 1, values[i]);
	segment_note_end(s, r.tick + r.b);
	if (correlation_column(event))
		origin_check(s, (uint32_t)values[correlation_column(event) + 1], r.tick);
	segment_reload(s);
	return at->slots;
}

struct cuda_causality cuda_causality_of(const struct spool *spool)
{
	const struct cuda_causality *c = spool->slots[SLOT_CAUSALITY].data;
	return c ? *c : (struct cuda_causality){0};
}
