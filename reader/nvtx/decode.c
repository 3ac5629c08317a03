/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c - printing of whole payloads: of an event, of a counter sample, of batches. */
#define _GNU_SOURCE
#include "reader/nvtx/decode.h"

#include "reader/base/print.h"
#include "reader/nvtx/values.h"

/* Print a whole payload. */
static void blob_print(struct decode *d, const struct blob *b, uint64_t schema)
{
	const struct location at = {b, 0, 0};
	decode_seek(d, b);
	struct nvtx_extent extent = decode_extent(d, schema);
	bool is_one = decode_layout(d, schema) ||
		(extent.bytes && b->bytes / extent.bytes == 1 && !nvtx_type_is_text(schema));
	if (!b->bytes) {
		fputs("null", d->out);
	} else if (is_one) {
		decode_element(d, schema, &at, UINT64_MAX);
	} else if (schema == NVTX_TYPE_RAW || !extent.bytes) {
		print_bytes(d->out, (const char *)b->data, b->bytes);
	} else if (nvtx_type_is_text(schema)) {
		nvtx_text_print(d->out, schema, b->data, b->bytes);
	} else {
		const struct dimensions n = {{b->bytes / extent.bytes}, 1};
		decode_array(d, schema, &at, &n);
	}
}

/* Print a batch of consecutive values. */
static void batch_print(struct decode *d, const struct blob *b, uint64_t schema)
{
	struct location at = {b, 0, 0};
	decode_seek(d, b);
	struct nvtx_layout_row *l = decode_layout(d, schema);
	struct nvtx_extent extent = decode_extent(d, schema);
	putc_unlocked('[', d->out);
	while (location_left(&at) && !decode_spent(d)) {
		uint64_t bytes = extent.bytes;
		if (at.at)
			putc_unlocked(',', d->out);
		if (l && bytes == NVTX_BYTES_UNKNOWN)
			bytes = decode_fields(d, l, &at, UINT64_MAX);
		else
			decode_element(d, schema, &at, UINT64_MAX);
		if (!bytes || bytes > location_left(&at))
			break;
		at.at += bytes;
		at.base = at.at;
	}
	putc_unlocked(']', d->out);
}

/* Print one value of a batch, by its index. */
static void element_print(struct decode *d, uint64_t index)
{
	struct blob *b = &d->blobs[0];
	decode_seek(d, b);
	uint64_t bytes = decode_extent(d, b->schema).bytes;
	if (!bytes || index >= b->bytes / bytes) {
		fputs("null", d->out);
		return;
	}
	const struct location at = {b, index * bytes, index * bytes};
	decode_element(d, b->schema, &at, UINT64_MAX);
}

static void event_print(struct decode *d)
{
	uint32_t shown = 0, seen = 0;
	for (uint32_t i = 0; i < d->blob_count; i++)
		shown += d->blobs[i].schema != NVTX_TYPE_REFERENCED;
	if (shown != 1)
		putc_unlocked('[', d->out);
	for (uint32_t i = 0; i < d->blob_count; i++) {
		if (d->blobs[i].schema == NVTX_TYPE_REFERENCED)
			continue;
		if (seen++)
			putc_unlocked(',', d->out);
		blob_print(d, &d->blobs[i], d->blobs[i].schema);
	}
	if (shown != 1)
		putc_unlocked(']', d->out);
}

static void samples_print(struct decode *d, uint64_t schema)
{
	fputs_unlocked("{\"values\":", d->out);
	batch_print(d, &d->blobs[0], schema);
	fputs_unlocked(",\"times\":", d->out);
	if (d->blob_count > 1)
		batch_print(d, &d->blobs[1], NVTX_TYPE_INT64);
	else
		fputs("null", d->out);
	putc_unlocked('}', d->out);
}

/* Return the type of the counter of a sample; 0 = not known, or not a sample. */
static uint64_t counter_schema(const struct decode *d)
{
	const struct nvtx_payload_ref *ref = &d->ref;
	if (!d->blob_count || (ref->use != NVTX_USE_SAMPLE && ref->use != NVTX_USE_SAMPLE_BATCH))
		return 0;
	return nvtx_counter_schema(d->p,
		(struct nvtx_key){.process = ref->process,
			.domain = d->domain,
			.id = ref->counter,
			.time_ns = d->blobs[0].time_ns});
}

/* Resolve a reference to one event of a batch: returns the batch, and the event's index in it;
 * UINT64_MAX for any other reference. */
static struct nvtx_payload_ref ref_resolve(
	const struct nvtx_payloads *p, const struct nvtx_payload_ref *ref, uint64_t *ret_index)
{
	struct nvtx_payload_ref own = *ref;
	if (ref->use != NVTX_USE_EVENT ||
		!nvtx_event_in_batch(ref->payload, &own.payload, ret_index)) {
		*ret_index = UINT64_MAX;
		return own;
	}
	const struct nvtx_deferred_row *row = nvtx_deferred_find(p, ref->process, own.payload);
	own.use = NVTX_USE_EVENT_BATCH;
	own.flex_offset = row ? row->flex_offset : 0;
	return own;
}

static void cache_free(void *cache)
{
	decode_close(cache);
}

/* Print one event of a batch. Keep the decoded batch, because callers mostly print its events in
 * turn. */
static void batch_event_print(
	FILE *out, struct nvtx_payloads *p, const struct nvtx_payload_ref *batch, uint64_t index)
{
	struct decode *d = p->cache;
	if (!d || d->ref.process != batch->process || d->ref.payload != batch->payload) {
		decode_close(d);
		d = p->cache = decode_open(out, p, batch);
		p->cache_free = cache_free;
	}
	if (!d || !d->blob_count) {
		fputs("null", out);
		return;
	}
	d->out = out;
	d->values = 0;
	element_print(d, index);
}

void nvtx_payload_print(
	FILE *out, struct nvtx_payloads *p, const struct nvtx_payload_ref *reference)
{
	uint64_t index;
	const struct nvtx_payload_ref own = ref_resolve(p, reference, &index);
	if (index != UINT64_MAX) {
		batch_event_print(out, p, &own, index);
		return;
	}
	struct decode *d = decode_open(out, p, &own);
	uint64_t counter = d ? counter_schema(d) : 0;
	if (!d || !d->blob_count)
		fputs("null", out);
	else if (own.use == NVTX_USE_SAMPLE)
		blob_print(d, &d->blobs[0], counter);
	else if (own.use == NVTX_USE_SAMPLE_BATCH)
		samples_print(d, counter);
	else if (own.use == NVTX_USE_EVENT_BATCH)
		batch_print(d, &d->blobs[0], d->blobs[0].schema);
	else
		event_print(d);
	decode_close(d);
}
