/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c - records of the CUDA source into rows, and what a dead process left of it.
 *
 * Device rows come as columns already (common/cuda_spool.h). What is done here: names become string
 * ids, and each operation is compared with the API call that it comes from, which must have begun
 * before.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "common/cuda_spool.h"
#include "common/schema/cuda_columns.h"
#include "common/varint.h"
#include "writer/cubins.h"
#include "writer/launches.h"
#include "writer/segment.h"

_Static_assert(CUDA_COLUMNS_MAX == BATCH_COLUMNS, "columns of CUDA events must fit a batch");

/* ---- which call an operation comes from ---- */

#define CALLS_KEPT 16384u

struct cuda_origin {
	uint32_t process, correlation;
	uint64_t start_ns;
	uint32_t tid;
};

static struct cuda_origin *origin_of(struct writer *w, uint32_t correlation)
{
	if (!w->cuda_origins)
		w->cuda_origins = calloc(CALLS_KEPT, sizeof(*w->cuda_origins));
	return w->cuda_origins ? &w->cuda_origins[correlation % CALLS_KEPT] : NULL;
}

/* Of nested calls with one id, the outermost began first. */
static void origin_keep(struct segment *s, uint32_t correlation, uint64_t start_ns)
{
	struct cuda_origin *o = origin_of(s->w, correlation);
	if (!o)
		return;
	bool same = o->process == s->spool->id && o->correlation == correlation;
	if (!same || start_ns < o->start_ns)
		*o = (struct cuda_origin){s->spool->id, correlation, start_ns, s->view->tid};
}

/* Thread that made the call, 0 = not known. */
static uint32_t origin_tid(struct segment *s, uint32_t correlation)
{
	const struct cuda_origin *o = origin_of(s->w, correlation);
	return o && o->process == s->spool->id && o->correlation == correlation ? o->tid : 0;
}

static void origin_check(struct segment *s, uint32_t correlation, uint64_t start_ns)
{
	struct cuda_causality *c = &s->spool->cuda;
	struct cuda_origin *o = correlation ? origin_of(s->w, correlation) : NULL;
	if (!o || o->process != s->spool->id || o->correlation != correlation)
		return;
	c->checked++;
	if (start_ns >= o->start_ns)
		return;
	c->too_early++;
	if (o->start_ns - start_ns > c->worst_early_ns)
		c->worst_early_ns = o->start_ns - start_ns;
}

/* ---- API calls ---- */

static void call_fill(struct batch *b, uint32_t name, const struct cuda_call *call,
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

static void call_put(struct segment *s, uint32_t bytes)
{
	const struct record r = s->records[s->at]; /* a copy: looking up a name may map anew */
	struct cuda_call call = {0};
	uint32_t correlation = (uint32_t)(r.a >> 32);
	memcpy(&call, &s->records[s->at + 1], bytes < sizeof(call) ? bytes : sizeof(call));
	uint64_t start = segment_ns(s, r.tick), end = segment_ns(s, r.tick + r.b);
	uint32_t name = nvtx_name_id(s->w, s->spool, call.name);
	struct batch *b = segment_row_add(s, EVENT_CUDA_API, start);
	batch_set(b, CUDA_API_DURATION, end > start ? end - start : 0);
	call_fill(b, name, &call, correlation, (int32_t)(uint32_t)r.a);
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

/* The columns behind the record; those that are left out are 0. False: it is no such row. */
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
			values[i] = nvtx_name_id(s->w, s->spool, (uint32_t)values[i]);
}

static bool row_put(struct segment *s, uint32_t bytes)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1];
	const struct record r = s->records[s->at];
	uint32_t event = (uint32_t)(r.a >> 32);
	const struct cuda_column *columns = cuda_columns_of(event);
	if (!columns || !batch_columns(event) ||
		!columns_read((const uint8_t *)&s->records[s->at + 1], bytes, columns,
			(uint32_t)r.a, values))
		return false;
	uint32_t first = cuda_columns_first(columns);
	if (event == EVENT_CUDA_KERNEL)
		results_note_kernel(s->spool, values, r.b,
			origin_tid(s, (uint32_t)values[CUDA_KERNEL_CORRELATION_ID + 1]));
	else if (event == EVENT_CUDA_DEVICE)
		results_note_device(s->spool, values);
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
	return true;
}

bool cuda_put(struct segment *s, uint64_t word, uint32_t bytes)
{
	bool sound = true;
	if ((word & RECORD_KIND_MASK) == REC_CUDA_API)
		call_put(s, bytes);
	else
		sound = row_put(s, bytes);
	s->records = spool_at(s->spool, s->offset, CHUNK_BYTES); /* may lie elsewhere now */
	return sound;
}

/* ---- the end ---- */

void cuda_open_fill(
	struct writer *w, struct spool *spool, struct batch *b, const struct cuda_open *open)
{
	const struct cuda_call call = {
		.context = open->context, .cbid = open->cbid, .api = (uint8_t)open->api};
	uint32_t name = nvtx_name_id(w, spool, open->name);
	call_fill(b, name, &call, open->correlation, 0);
	batch_set(b, CUDA_API_FLAGS, RECORD_UNFINISHED);
}

void cuda_counted_fill(
	struct writer *w, struct spool *spool, struct batch *b, const struct cuda_counted *counted)
{
	batch_set(b, CUDA_API_SUMMARY_FUNCTION, nvtx_name_id(w, spool, counted->name));
	batch_set(b, CUDA_API_SUMMARY_API, counted->api);
	batch_set(b, CUDA_API_SUMMARY_CBID, counted->cbid);
	batch_set(b, CUDA_API_SUMMARY_COUNT, counted->count);
}

/* A copy of the page: it may be anything. */
bool cuda_page_read(struct spool *spool, struct cuda_page *ret_page)
{
	uint64_t offset = __atomic_load_n(&spool_header(spool)->cuda_offset, __ATOMIC_ACQUIRE);
	const struct cuda_page *page = offset ? spool_at(spool, offset, CUDA_PAGE_BYTES) : NULL;
	if (!page)
		return false;
	*ret_page = *page;
	if (ret_page->counted_count > CUDA_COUNTED_MAX)
		ret_page->counted_count = CUDA_COUNTED_MAX;
	return true;
}

void cuda_receipt_fill(
	struct batch *b, const struct cuda_page *page, const struct cuda_causality *causality)
{
	batch_set(b, CUDA_RECEIPT_RECORDS, page->records);
	batch_set(b, CUDA_RECEIPT_ROWS, page->rows);
	batch_set(b, CUDA_RECEIPT_DROPPED, page->dropped);
	batch_set(b, CUDA_RECEIPT_IGNORED, page->ignored);
	batch_set(b, CUDA_RECEIPT_UNWANTED, page->unwanted);
	batch_set(b, CUDA_RECEIPT_IMPOSSIBLE, page->impossible);
	batch_set(b, CUDA_RECEIPT_CONVERTED, page->converted);
	batch_set(b, CUDA_RECEIPT_BUFFERS, page->buffers);
	batch_set(b, CUDA_RECEIPT_BUFFERS_REFUSED, page->buffers_refused);
	batch_set(b, CUDA_RECEIPT_API_CALLS, page->api_calls);
	batch_set(b, CUDA_RECEIPT_CHECKED, causality->checked);
	batch_set(b, CUDA_RECEIPT_TOO_EARLY, causality->too_early);
	batch_set(b, CUDA_RECEIPT_WORST_EARLY, causality->worst_early_ns);
	batch_set(b, CUDA_RECEIPT_UNREAD, page->unread);
}
