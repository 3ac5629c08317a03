/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - time, kind and message of deferred NVTX events. */
#define _GNU_SOURCE
#include "reader/nvtx/facts.h"

#include <errno.h>
#include <stdlib.h>

#include "reader/nvtx/layouts.h"
#include "reader/nvtx/values.h"

/* ---- entries ---- */

/* Store a time. Of times without a flag, the first is the begin and the second the end. */
static void time_note(
	struct nvtx_event_facts *f, uint64_t event, const struct nvtx_event_time *time)
{
	bool is_end = event == NVTX_ENTRY_END || (!event && f->begin.is_set);
	struct nvtx_event_time *own = is_end ? &f->end : &f->begin;
	f->is_begin |= event == NVTX_ENTRY_BEGIN;
	f->is_end |= event == NVTX_ENTRY_END;
	f->is_mark |= event == NVTX_ENTRY_MARK;
	if (!own->is_set)
		*own = *time;
}

static bool is_plain_integer(uint64_t type)
{
	return type < NVTX_TYPE_RANGE_ID && nvtx_type_extent(type).bytes == sizeof(int64_t);
}

/* Implements struct decode_notes: store what an entry says about its event. */
static void entry_note(void *user, uint32_t depth, const struct nvtx_layout_row *l,
	const struct nvtx_entry_row *e, uint32_t index, const struct location *at)
{
	struct nvtx_event_facts *f = user;
	uint64_t event = e->flags & NVTX_ENTRY_EVENT;
	uint32_t bytes = (uint32_t)nvtx_type_extent(e->type).bytes;
	int64_t value;
	f->what |= depth ? 0 : l->flags & NVTX_SCHEMA_EVENT;
	if (e->flags & (NVTX_ENTRY_ARRAY | NVTX_ENTRY_ELSEWHERE) || !bytes ||
		location_left(at) < bytes ||
		!nvtx_integer(e->type, location_bytes(at), bytes, &value))
		return;
	if (e->flags & NVTX_ENTRY_TIMESTAMP || (event && is_plain_integer(e->type))) {
		const struct nvtx_event_time time = {true, value, l->key.id, index};
		time_note(f, event, &time);
	} else if (e->type == NVTX_TYPE_CATEGORY) {
		f->category = (uint32_t)value;
	} else if (e->type == NVTX_TYPE_COLOR) {
		f->color = (uint32_t)value;
	} else if (e->type == NVTX_TYPE_RANGE_ID) {
		f->range_id = (uint64_t)value;
	} else if (e->type == NVTX_TYPE_SCOPE) {
		f->scope = (uint64_t)value;
	} else if (e->type == NVTX_TYPE_TID32 || e->type == NVTX_TYPE_TID64) {
		f->tid = (uint32_t)value;
	}
}

/* ---- events ---- */

struct facts_reader {
	struct decode *d;
	const struct nvtx_deferred_row *row;
	struct nvtx_event_facts facts;
	struct decode_notes notes;
	char *text;
	size_t text_bytes;
	nvtx_facts_fn take;
	void *user;
};

static void facts_reset(struct facts_reader *r)
{
	r->facts = (struct nvtx_event_facts){.scope = r->row->scope};
	r->notes.has_message = false;
	rewind(r->notes.message);
}

static int facts_give(struct facts_reader *r, uint64_t index)
{
	long bytes = ftell(r->notes.message);
	if (fflush(r->notes.message) || bytes < 0)
		return -ENOMEM;
	r->facts.has_text = r->notes.has_message;
	r->facts.text = r->text;
	r->facts.text_bytes = (size_t)bytes;
	return r->take(r->user, index, &r->facts);
}

/* Visit the fields of the value at `at`, if it has a layout. */
static void value_note(struct facts_reader *r, struct nvtx_layout_row *l, const struct location *at)
{
	if (l && !l->is_enum)
		decode_fields(r->d, l, at, UINT64_MAX);
}

static int event_read(struct facts_reader *r)
{
	facts_reset(r);
	for (uint32_t i = 0; i < r->d->blob_count; i++) {
		const struct location at = {&r->d->blobs[i], 0, 0};
		decode_seek(r->d, &r->d->blobs[i]);
		value_note(r, decode_layout(r->d, r->d->blobs[i].schema), &at);
	}
	return facts_give(r, 0);
}

static int batch_read(struct facts_reader *r, uint64_t *ret_missing)
{
	struct decode *d = r->d;
	const struct blob *b = &d->blobs[0];
	struct location at = {b, 0, 0};
	decode_seek(d, b);
	struct nvtx_layout_row *l = decode_layout(d, b->schema);
	uint64_t step = decode_extent(d, b->schema).bytes, index = 0;
	int error = 0;
	*ret_missing = 1;
	if (!l || !step || step == NVTX_BYTES_UNKNOWN)
		return 0;
	for (; location_left(&at) >= step && !decode_spent(d) && !error; at.at += step, index++) {
		at.base = at.at;
		facts_reset(r);
		value_note(r, l, &at);
		error = facts_give(r, index);
	}
	*ret_missing = b->stated_bytes / step > index ? b->stated_bytes / step - index : 0;
	return error;
}

/* Discard output: a cookie stream without a write function would fail. */
static ssize_t drop(void *cookie, const char *bytes, size_t count)
{
	(void)cookie;
	(void)bytes;
	return (ssize_t)count;
}

int nvtx_facts_read(struct nvtx_payloads *p, const struct nvtx_deferred_row *row,
	nvtx_facts_fn take, void *user, uint64_t *ret_missing)
{
	const struct nvtx_payload_ref ref = {
		.use = row->is_batch ? NVTX_USE_EVENT_BATCH : NVTX_USE_EVENT,
		.process = row->key.process,
		.domain = row->domain,
		.payload = row->key.id,
		.flex_offset = row->flex_offset};
	static const cookie_io_functions_t nowhere = {.write = drop};
	struct facts_reader r = {.row = row, .take = take, .user = user};
	FILE *out = fopencookie(NULL, "w", nowhere);
	r.notes = (struct decode_notes){.entry = entry_note,
		.user = &r.facts,
		.message = open_memstream(&r.text, &r.text_bytes)};
	r.d = out && r.notes.message ? decode_open(out, p, &ref) : NULL;
	int error = r.d ? 0 : -ENOMEM;
	*ret_missing = 1;
	if (r.d)
		r.d->notes = &r.notes;
	if (r.d && r.d->blob_count) {
		*ret_missing = 0;
		error = row->is_batch ? batch_read(&r, ret_missing) : event_read(&r);
	}
	decode_close(r.d);
	if (r.notes.message)
		fclose(r.notes.message);
	if (out)
		fclose(out);
	free(r.text);
	return error;
}
