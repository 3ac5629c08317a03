/* SPDX-License-Identifier: Apache-2.0 */
/* append_rows.c - encoder of event rows, for blocks that are appended to a report. */
#include <stdlib.h>

#include "reader/file/append.h"
#include "reader/file/batch.h"
#include "reader/file/schema.h"

enum encoding { ENCODING_DELTA, ENCODING_PLAIN, ENCODING_SIGNED };

#define FIELD(event_id, number, id, column, kind, encoding, title) \
	{KIND_##event_id, number, ENCODING_##encoding},
static const struct {
	uint32_t event, number;
	enum encoding encoding;
} encodings[] = {
#include "common/schema/events.def"
};

static enum encoding encoding_of(const struct schema_field *field)
{
	size_t i = 0;
	while (encodings[i].event != field->event || encodings[i].number != field->number)
		i++;
	return encodings[i].encoding;
}

struct rows {
	const struct schema_event *event;
	uint32_t count;
	const int64_t *values;
};

static int64_t value_at(const struct rows *r, uint32_t row, uint32_t column)
{
	return r->values[(size_t)row * r->event->field_count + column];
}

static bool is_constant(const struct rows *r, uint32_t column)
{
	for (uint32_t i = 1; i < r->count; i++)
		if (value_at(r, i, column) != value_at(r, 0, column))
			return false;
	return true;
}

/* Encode a column into `room`. Returns false if it is 0 in every row: such a column is omitted. */
static bool column_make(
	const struct rows *r, uint32_t index, Libtrace__Column *column, int64_t *room)
{
	enum encoding encoding = encoding_of(&r->event->fields[index]);
	libtrace__column__init(column);
	column->has_field = true;
	column->field = r->event->fields[index].number;
	if (is_constant(r, index)) {
		column->has_constant = true;
		column->constant = value_at(r, 0, index);
		return column->constant != 0;
	}
	uint64_t before = 0;
	for (uint32_t i = 0; i < r->count; i++) {
		uint64_t value = (uint64_t)value_at(r, i, index);
		room[i] = (int64_t)(encoding == ENCODING_DELTA ? value - before : value);
		before = value;
	}
	if (encoding == ENCODING_PLAIN) {
		column->n_values = r->count;
		column->values = (uint64_t *)room;
	} else if (encoding == ENCODING_SIGNED) {
		column->n_signed_values = r->count;
		column->signed_values = room;
	} else {
		column->n_deltas = r->count;
		column->deltas = room;
	}
	return true;
}

static void times_note(struct append *a, const struct rows *r)
{
	int duration = schema_column(r->event, FIELD_KIND_DURATION);
	for (uint32_t i = 0; i < r->count; i++) {
		uint64_t first = (uint64_t)value_at(r, i, 0), last = first;
		last += duration > 0 ? (uint64_t)value_at(r, i, (uint32_t)duration) : 0;
		a->first_ns = a->num_events && a->first_ns < first ? a->first_ns : first;
		a->last_ns = a->num_events && a->last_ns > last ? a->last_ns : last;
		a->num_events++;
	}
}

void append_rows(struct append *a, uint32_t kind, uint32_t process, uint32_t tid, uint32_t count,
	const int64_t *values)
{
	append_rows_partly(a, kind, process, tid, count, values, NULL);
}

void append_rows_partly(struct append *a, uint32_t kind, uint32_t process, uint32_t tid,
	uint32_t count, const int64_t *values, const uint64_t *unknown)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__EventBatch batch = LIBTRACE__EVENT_BATCH__INIT;
	Libtrace__Column columns[SCHEMA_FIELDS + 1], *pointers[SCHEMA_FIELDS + 1];
	const struct rows r = {schema_event(kind), count, values};
	int64_t *room = malloc((size_t)count * r.event->field_count * sizeof(*room));
	if (!room || !count) {
		a->broken |= !room;
		free(room);
		return;
	}
	batch.has_kind = batch.has_process = batch.has_tid = batch.has_count = true;
	batch.kind = kind;
	batch.process = process;
	batch.tid = tid;
	batch.count = count;
	batch.columns = pointers;
	for (uint32_t i = 0; i < r.event->field_count; i++) {
		pointers[batch.n_columns] = &columns[batch.n_columns];
		batch.n_columns +=
			column_make(&r, i, &columns[batch.n_columns], room + (size_t)i * count);
	}
	if (unknown) {
		Libtrace__Column *column = &columns[batch.n_columns];
		libtrace__column__init(column);
		column->has_field = true;
		column->field = BATCH_UNKNOWN;
		column->n_values = count;
		column->values = (uint64_t *)unknown;
		pointers[batch.n_columns++] = column;
	}
	entry.batch = &batch;
	times_note(a, &r);
	append_entry(a, &entry);
	free(room);
}
