/* SPDX-License-Identifier: Apache-2.0 */
/* decoded.c - decoder of event batches for the rows of the database. */
#include "reader/export/sqlite/decoded.h"

#include <errno.h>
#include <stdlib.h>

#include "reader/export/sqlite/export_state.h"

static int columns_decode(struct batch_decoder *d, struct decoded_batch *b, bool partly)
{
	size_t wanted = (size_t)b->batch->count * (b->event->field_count + partly) + 1;
	if (wanted > d->values) {
		free(d->columns);
		d->columns = malloc(wanted * sizeof(*d->columns));
		d->values = d->columns ? wanted : 0;
	}
	if (!d->columns)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->event->field_count; i++) {
		int64_t *column = d->columns + (size_t)i * b->batch->count;
		if (event_batch_column(b->batch, b->event->fields[i].number, column))
			return -EBADMSG;
		b->columns[i] = column;
	}
	if (partly) {
		int64_t *column = d->columns + (size_t)b->event->field_count * b->batch->count;
		b->unknown_rows = (const uint64_t *)column;
		return event_batch_column(b->batch, BATCH_UNKNOWN, column) ? -EBADMSG : 0;
	}
	return 0;
}

int batch_decode(
	struct sqlite_export *x, const struct event_batch *batch, struct decoded_batch *ret_batch)
{
	struct decoded_batch *b = ret_batch;
	*b = (struct decoded_batch){.batch = batch, .event = schema_event(batch->kind)};
	b->process = process_find(&x->contents.processes, batch->process);
	b->unknown = b->event ? x->source->report->unknown[b->event->number] : 0;
	b->global_tid = global_id(&x->threads, b->process, batch->tid);
	const bool partly = b->event && x->source->report->partly[b->event->number];
	int error = b->event && batch->count ? columns_decode(&x->decoder, b, partly) : -EBADMSG;
	for (uint32_t i = 0; !error && i < b->event->field_count; i++) {
		enum field_kind kind = b->event->fields[i].kind;
		if (kind == FIELD_KIND_FLAGS)
			b->flags = b->columns[i];
		else if (kind == FIELD_KIND_CALLCHAIN)
			b->chain = b->columns[i];
		else if (kind == FIELD_KIND_METHOD)
			b->method = b->columns[i];
		else if (kind == FIELD_KIND_DURATION)
			b->duration = b->columns[i];
	}
	return error;
}

const int64_t *decoded_column(const struct decoded_batch *b, uint32_t field)
{
	for (uint32_t i = 0; i < b->event->field_count; i++)
		if (b->event->fields[i].number == field)
			return b->columns[i];
	return NULL;
}

bool field_is_text(const struct schema_field *f)
{
	return f->kind == FIELD_KIND_STRING || f->kind == FIELD_KIND_BYTES ||
		f->kind == FIELD_KIND_FUNCTION || f->kind == FIELD_KIND_SYMBOL ||
		f->kind == FIELD_KIND_PROTOTYPE;
}
