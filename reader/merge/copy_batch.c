/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_batch.c - events of a report, with the ids and times of the merged one. Columns without any
 * are copied as they are stored.
 */
#include <errno.h>
#include <string.h>

#include "common/varint.h"
#include "reader/merge/copy.h"

/* Fields of EventBatch and Column, and that of a batch in an entry (report.proto). */
enum { BATCH_KIND = 1, BATCH_PROCESS, BATCH_TID, BATCH_COUNT, BATCH_COLUMN };
enum { COLUMN_FIELD = 1, COLUMN_CONST };

static int number_put(struct buffer *b, uint32_t field, uint64_t value)
{
	uint8_t bytes[2 * VARINT_MAX];
	uint8_t *end = varint_put(varint_put(bytes, field << 3 | WIRE_VARINT), value);
	return buffer_add(b, bytes, (size_t)(end - bytes));
}

static int bytes_put(struct buffer *b, uint32_t field, const void *data, size_t size)
{
	uint8_t bytes[2 * VARINT_MAX];
	uint8_t *end = varint_put(varint_put(bytes, field << 3 | WIRE_BYTES), size);
	const int error = buffer_add(b, bytes, (size_t)(end - bytes));
	return error ? error : buffer_add(b, data, size);
}

/* Encode values as a column of a form other than a constant. */
static int values_put(struct copy *c, uint32_t field, enum column_form form, const int64_t *values,
	uint32_t count)
{
	struct buffer run = {0};
	uint64_t before = 0;
	int error = buffer_reserve(&run, (size_t)count * VARINT_MAX + 1);
	if (!error) {
		uint8_t *at = run.data;
		for (uint32_t i = 0; i < count; i++) {
			const uint64_t value = (uint64_t)values[i];
			at = varint_put(at,
				form == COLUMN_DELTAS ? zigzag_encode((int64_t)(value - before))
						      : value);
			before = value;
		}
		run.bytes = (size_t)(at - run.data);
		error = number_put(&c->column, COLUMN_FIELD, field);
	}
	if (!error)
		error = bytes_put(&c->column, (uint32_t)form + COLUMN_CONST, run.data, run.bytes);
	free(run.data);
	return error;
}

static int constant_put(struct copy *c, uint32_t field, int64_t value)
{
	const int error = number_put(&c->column, COLUMN_FIELD, field);
	return error ? error : number_put(&c->column, COLUMN_CONST, zigzag_encode(value));
}

static int stored_put(struct copy *c, const struct column *column)
{
	if (column->form == COLUMN_CONSTANT)
		return constant_put(c, column->field, column->constant);
	const int error = number_put(&c->column, COLUMN_FIELD, column->field);
	return error ? error
		     : bytes_put(&c->column, (uint32_t)column->form + COLUMN_CONST, column->at,
			       (size_t)(column->end - column->at));
}

static bool holds_text(const struct schema_field *f)
{
	return f->kind == FIELD_KIND_STRING || f->kind == FIELD_KIND_FUNCTION ||
		f->kind == FIELD_KIND_SYMBOL || f->kind == FIELD_KIND_BYTES ||
		f->kind == FIELD_KIND_PROTOTYPE;
}

static const struct schema_field *field_of(const struct schema_event *event, uint32_t number)
{
	for (uint32_t i = 0; i < event->field_count; i++)
		if (event->fields[i].number == number)
			return &event->fields[i];
	return NULL;
}

static int texts_put(struct copy *c, const struct event_batch *b, const struct column *column)
{
	if (column->form == COLUMN_CONSTANT)
		return constant_put(c, column->field, copy_text(c, (uint64_t)column->constant));
	int error = event_batch_column(b, column->field, c->values);
	for (uint32_t i = 0; !error && i < b->count; i++)
		c->values[i] = copy_text(c, (uint64_t)c->values[i]);
	return error ? error : values_put(c, column->field, COLUMN_VALUES, c->values, b->count);
}

static int times_put(struct copy *c, const struct event_batch *b, const struct column *column)
{
	int error = event_batch_column(b, column->field, c->values);
	for (uint32_t i = 0; !error && i < b->count; i++)
		c->values[i] = (int64_t)copy_time(c, (uint64_t)c->values[i]);
	return error ? error : values_put(c, column->field, COLUMN_DELTAS, c->values, b->count);
}

/* Convert durations by their ends, so that an event ends in the merged report where its end is. */
static int durations_put(struct copy *c, const struct event_batch *b, const struct column *column)
{
	int error = event_batch_column(b, column->field, c->values);
	for (uint32_t i = 0; !error && i < b->count; i++) {
		const uint64_t start = (uint64_t)c->starts[i], end = start + (uint64_t)c->values[i];
		c->values[i] = (int64_t)(copy_time(c, end) - copy_time(c, start));
	}
	return error ? error : values_put(c, column->field, COLUMN_VALUES, c->values, b->count);
}

static int column_copy(struct copy *c, const struct event_batch *b,
	const struct schema_event *event, const struct column *column, const char **ret_cause)
{
	const struct schema_field *f = field_of(event, column->field);
	const int duration = schema_column(event, FIELD_KIND_DURATION);
	*ret_cause = "it has columns of a newer version";
	if (!f)
		return -EBADMSG;
	*ret_cause = "number of rows of a column differs from that of its batch";
	c->column.bytes = 0;
	int error = holds_text(f) ? texts_put(c, b, column)
		: c->map && (f->kind == FIELD_KIND_TIME || schema_is_moment(f))
		? times_put(c, b, column)
		: c->map && duration > 0 && f == &event->fields[duration]
		? durations_put(c, b, column)
		: stored_put(c, column);
	return error ? error : bytes_put(&c->batch, BATCH_COLUMN, c->column.data, c->column.bytes);
}

/* Count the events of a batch for the header of the block. */
static int block_count(
	struct copy *c, const struct event_batch *b, const struct schema_event *event)
{
	struct append *a = &c->m->append;
	const int duration = schema_column(event, FIELD_KIND_DURATION);
	const bool spans = duration > 0 && b->kind != KIND_OSRT_SUMMARY;
	int error = spans ? event_batch_column(b, event->fields[duration].number, c->values)
		: b->kind == KIND_GAP ? event_batch_column(b, FIELD_GAP_COUNT, c->values)
				      : 0;
	for (uint32_t i = 0; !error && i < b->count; i++) {
		const uint64_t start = (uint64_t)c->starts[i], first = copy_time(c, start),
			       last = spans ? copy_time(c, start + (uint64_t)c->values[i]) : first;
		a->first_ns = a->num_events && a->first_ns < first ? a->first_ns : first;
		a->last_ns = a->num_events && a->last_ns > last ? a->last_ns : last;
		a->num_events++;
	}
	a->num_deferred += b->kind == KIND_NVTX_DEFERRED ? b->count : 0;
	if (!error && b->kind == KIND_GAP)
		error = event_batch_column(b, FIELD_GAP_COUNT, c->values);
	for (uint32_t i = 0; !error && b->kind == KIND_GAP && i < b->count; i++)
		a->num_dropped += (uint64_t)c->values[i];
	return error;
}

static int head_put(struct copy *c, const struct event_batch *b, uint32_t process)
{
	c->batch.bytes = 0;
	int error = number_put(&c->batch, BATCH_KIND, b->kind);
	if (!error)
		error = number_put(&c->batch, BATCH_PROCESS, process);
	if (!error)
		error = number_put(&c->batch, BATCH_TID, b->tid);
	return error ? error : number_put(&c->batch, BATCH_COUNT, b->count);
}

int copy_batch(struct copy *c, const struct report_entry *e, const char **ret_cause)
{
	struct event_batch b;
	if (event_batch_parse(&b, e->inner, e->inner_end, ret_cause))
		return -EBADMSG;
	const struct schema_event *event = schema_event(b.kind);
	*ret_cause = "it has events of a newer version";
	if (!event)
		return -EBADMSG;
	const uint32_t process = copy_process(c, b.process);
	if (!process && b.process)
		return -ENOMEM;
	*ret_cause = "number of rows of a column differs from that of its batch";
	int error = event_batch_column(&b, event->fields[0].number, c->starts);
	if (!error)
		error = head_put(c, &b, process);
	for (uint32_t i = 0; !error && i < b.column_count; i++)
		error = column_copy(c, &b, event, &b.columns[i], ret_cause);
	if (!error)
		error = block_count(c, &b, event);
	c->column.bytes = 0;
	if (!error)
		error = bytes_put(&c->column, ENTRY_BATCH, c->batch.data, c->batch.bytes);
	if (!error)
		append_packed(&c->m->append, c->column.data, c->column.bytes);
	return error;
}
