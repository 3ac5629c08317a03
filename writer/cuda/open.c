/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - open CUDA calls and CUDA counts of a dead process.
 */
#include "writer/cuda/open.h"

#include "common/cuda/cuda_spool.h"
#include "writer/base/names.h"
#include "writer/cuda/rows.h"

static void open_fill(
	struct writer *w, struct spool *spool, struct batch *b, const struct cuda_open *open)
{
	const struct cuda_call call = {
		.context = open->context, .cbid = open->cbid, .api = (uint8_t)open->api};
	uint32_t name = spool_name_id(w, spool, open->name);
	cuda_call_fill(b, name, &call, open->correlation, 0);
	batch_set(b, CUDA_API_FLAGS, RECORD_UNFINISHED);
}

static void counted_fill(
	struct writer *w, struct spool *spool, struct batch *b, const struct cuda_counted *counted)
{
	batch_set(b, CUDA_API_SUMMARY_FUNCTION, spool_name_id(w, spool, counted->name));
	batch_set(b, CUDA_API_SUMMARY_API, counted->api);
	batch_set(b, CUDA_API_SUMMARY_CBID, counted->cbid);
	batch_set(b, CUDA_API_SUMMARY_COUNT, counted->count);
}

/* Copy the page of the process, which may contain any bytes. */
static bool page_read(struct spool *spool, struct cuda_page *ret_page)
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

static void receipt_fill(
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

/* Add the row of an API call that did not return. */
static void open_call_put(struct ending *e)
{
	const struct cuda_open open = e->lane->cuda_open;
	if (!open.tick || open.tick > e->end_tick || ending_is_recorded(e, open.tick, REC_CUDA_API))
		return;
	uint64_t ns = ending_ns(e, open.tick), end_ns = ending_ns(e, e->end_tick);
	struct batch *b = ending_row_add(e, EVENT_CUDA_API, ns);
	batch_set(b, CUDA_API_DURATION, end_ns > ns ? end_ns - ns : 0);
	open_fill(e->w, e->spool, b, &open);
	ending_note_end(e, end_ns);
	ending_tally(e)->unfinished++;
}

/* Add the counts of the process once, with the device lane. */
static void counts_put(struct ending *e)
{
	struct cuda_page page;
	const struct cuda_causality causality = cuda_causality_of(e->spool);
	uint64_t ns = ending_ns(e, e->end_tick);
	if (__atomic_load_n(&e->lane->state, __ATOMIC_ACQUIRE) != LANE_DEVICE ||
		!page_read(e->spool, &page) ||
		!(page.records || page.api_calls || page.counted_count))
		return; /* the source never started */
	for (uint32_t i = 0; i < page.counted_count; i++) {
		const struct cuda_counted *c = &page.counted[i];
		if (!c->count)
			continue;
		struct batch *b = ending_row_add(e, EVENT_CUDA_API_SUMMARY, ns);
		counted_fill(e->w, e->spool, b, c);
		ending_tally(e)->summarized += c->count;
	}
	receipt_fill(ending_row_add(e, EVENT_CUDA_RECEIPT, ns), &page, &causality);
}

void cuda_open_put(struct ending *e)
{
	open_call_put(e);
	e->lane = lane_of(e->spool, e->view); /* the spool may have been remapped */
	if (e->lane)
		counts_put(e);
}

uint64_t cuda_unaccounted(struct spool *spool)
{
	struct cuda_page page;
	if (!spool->device_lane || !page_read(spool, &page))
		return 0;
	uint64_t written = spool->lanes[spool->device_lane - 1]->own.written;
	return page.rows > written ? page.rows - written : 0;
}
