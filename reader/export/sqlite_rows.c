/* Batches of events as rows. */
#include <errno.h>
#include <stdlib.h>

#include "common/spool.h"
#include "reader/export/sqlite_writing.h"

int writing_numbers(struct writing *w, struct page_table *t, uint64_t rowid, const int64_t *values,
	uint64_t nulls)
{
	int error = page_table_row(t, rowid, values, nulls);
	w->output_failed |= error != 0;
	return error;
}

static int columns_decode(struct writing *w, struct writing_batch *b)
{
	size_t wanted = (size_t)b->batch->count * b->event->field_count + 1;
	if (wanted > w->column_values) {
		free(w->columns);
		w->columns = malloc(wanted * sizeof(*w->columns));
		w->column_values = w->columns ? wanted : 0;
	}
	if (!w->columns)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->event->field_count; i++) {
		int64_t *column = w->columns + (size_t)i * b->batch->count;
		if (event_batch_column(b->batch, b->event->fields[i].number, column))
			return -EBADMSG;
		b->columns[i] = column;
	}
	return 0;
}

const int64_t *writing_column(const struct writing_batch *b, uint32_t field)
{
	for (uint32_t i = 0; i < b->event->field_count; i++)
		if (b->event->fields[i].number == field)
			return b->columns[i];
	return NULL;
}

int writing_row_chain(struct writing *w, const struct writing_batch *b, uint32_t row,
	enum nsys_table table, uint32_t *ret_id)
{
	const uint32_t kind = b->event->number;
	const struct writing_chain_wanted wanted = {.process = b->process,
		.node = (uint32_t)b->chain[row],
		.method = b->method ? (uint32_t)b->method[row] : 0,
		.function = kind == KIND_OSRT_CALL
			? (uint32_t)writing_column(b, FIELD_OSRT_CALL_FUNCTION)[row]
			: 0,
		.table = table,
		.ns = (uint64_t)b->columns[0][row] +
			(b->duration ? (uint64_t)b->duration[row] : 0)};
	return writing_chain(w, &wanted, ret_id);
}

/* Bytes that are no text, as hex digits. */
static int bytes_text(struct writing *w, uint32_t string, uint32_t *ret_id)
{
	static const char digits[] = "0123456789abcdef";
	struct string_ref ref = string_table_get(&w->contents.strings, string);
	char *text = malloc((size_t)ref.bytes * 2 + 1);
	if (!text)
		return -ENOMEM;
	for (uint32_t i = 0; i < ref.bytes; i++) {
		text[2 * i] = digits[(unsigned char)ref.text[i] >> 4];
		text[2 * i + 1] = digits[ref.text[i] & 15];
	}
	text[(size_t)ref.bytes * 2] = 0;
	int error = writing_text(w, text, ret_id);
	free(text);
	return error;
}

/* A value as it stands in tables of ours. */
static int value_make(struct writing *w, const struct writing_batch *b, uint32_t field,
	uint32_t row, int64_t *ret_value, bool *ret_null)
{
	const struct schema_field *f = &b->event->fields[field];
	int64_t value = b->columns[field][row];
	uint32_t id = 0;
	int error = 0;
	*ret_null = false;
	if (b->event->number == KIND_OSRT_CALL && f->number == FIELD_OSRT_CALL_OBJECT) {
		value = value >> 47 == 1 ? value - (INT64_C(1) << 48) : value;
	} else if (f->kind == FIELD_KIND_FLAGS) {
		value &= ~(int64_t)RECORD_TEXT_NAMED; /* textId tells it */
	} else if (f->kind == FIELD_KIND_TIME) {
		value = writing_time(w, (uint64_t)value);
	} else if (schema_is_moment(f)) {
		*ret_null = !value;
		value = writing_time(w, (uint64_t)value);
	} else if (f->kind == FIELD_KIND_BYTES && value) {
		error = bytes_text(w, (uint32_t)value, &id);
		value = id;
	} else if (f->kind == FIELD_KIND_FUNCTION || (writing_is_text(f) && value)) {
		error = writing_string(w, (uint32_t)value, &id);
		value = id;
	} else if (writing_is_text(f)) {
		*ret_null = true;
	} else if (f->kind == FIELD_KIND_CALLCHAIN) {
		error = writing_row_chain(w, b, row, NSYS_OSRT_CALLCHAINS, &id);
		value = id;
	}
	*ret_value = value;
	return error;
}

/* A row of the table that is made from the declaration of the event. */
int writing_whole(
	struct writing *w, struct page_table *t, const struct writing_batch *b, uint32_t row)
{
	int64_t values[SCHEMA_FIELDS + 1];
	uint64_t nulls = 0;
	for (uint32_t i = 0; i < b->event->field_count; i++) {
		bool null = false;
		uint32_t place = i ? i + 1 : 0;
		int error = value_make(w, b, i, row, &values[place], &null);
		if (error)
			return error;
		nulls |= (uint64_t)null << place;
	}
	values[1] = b->global_tid;
	return writing_numbers(w, t, 0, values, nulls);
}

/* What the tables of nsys have no place for of a row that they hold, if anything. */
static int facts_row(struct writing *w, const struct writing_batch *b, uint32_t row, uint64_t rowid)
{
	int64_t values[SCHEMA_FIELDS + 1] = {0}, any = 0;
	uint64_t nulls = 1; /* the row id */
	const struct kind_rows *k = &w->kinds[b->event->number];
	for (uint32_t i = 0; i < k->fact_count; i++) {
		bool null = false;
		int error = value_make(w, b, k->facts[i], row, &values[i + 1], &null);
		if (error)
			return error;
		nulls |= (uint64_t)null << (i + 1);
		any |= null ? 0 : values[i + 1];
	}
	return any ? writing_numbers(w, &w->facts[b->event->number], rowid, values, nulls) : 0;
}

/* What THREAD_START and THREAD_NAME tell of a thread. */
static int thread_facts_take(struct writing *w, const struct writing_batch *b)
{
	const bool starts = b->batch->kind == KIND_THREAD_START;
	const int64_t *names = writing_column(b,
			      starts ? (uint32_t)FIELD_THREAD_START_NAME
				     : (uint32_t)FIELD_THREAD_NAME_NAME),
		      *priorities = starts ? writing_column(b, FIELD_THREAD_START_PRIORITY) : NULL;
	struct writing_thread *t;
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++) {
		error = writing_thread_name(
			w, b->global_tid, (uint32_t)names[i], (uint64_t)b->columns[0][i], false);
		if (!error)
			error = writing_thread(w, b->global_tid, &t);
		if (!error && priorities && priorities[i])
			t->priority = (uint32_t)priorities[i];
	}
	return error;
}

int writing_decode(
	struct writing *w, const struct event_batch *batch, struct writing_batch *ret_batch)
{
	struct writing_batch *b = ret_batch;
	*b = (struct writing_batch){.batch = batch, .event = schema_event(batch->kind)};
	b->process = process_find(&w->contents.processes, batch->process);
	b->global_tid = writing_global(w, b->process, batch->tid);
	int error = b->event && batch->count ? columns_decode(w, b) : -EBADMSG;
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

/* A row of a kind that tables of nsys take, and what they leave. */
static int kind_row(struct writing *w, const struct writing_batch *b, uint32_t row)
{
	const uint32_t kind = b->event->number;
	const struct kind_rows *k = &w->kinds[kind];
	uint64_t rowid = 0;
	if (b->duration && b->duration[row] < 0) {
		w->impossible++;
		return 0;
	}
	int error = mapped_row(w, b, row, &rowid);
	if (error || k->whole)
		return error ? error : writing_whole(w, &w->facts[kind], b, row);
	if (!rowid)
		return k->conditional ? writing_whole(w, &w->others[kind], b, row) : 0;
	return k->fact_count ? facts_row(w, b, row, rowid) : 0;
}

int writing_batch(struct writing *w, const struct event_batch *batch)
{
	struct writing_batch b;
	struct writing_thread *thread;
	int error = writing_decode(w, batch, &b);
	if (error)
		return error == -EBADMSG ? 0 : error;
	if (batch->tid) /* else it is of the process */
		error = writing_thread(w, b.global_tid, &thread);
	if (!error && (batch->kind == KIND_THREAD_START || batch->kind == KIND_THREAD_NAME))
		error = thread_facts_take(w, &b);
	if (!error && batch->kind == KIND_NVTX_NAME)
		error = nvtx_names(w, &b);
	if (!error && batch->kind == KIND_OSRT_CALL)
		return writing_calls(w, &b);
	for (uint32_t i = 0; !error && i < batch->count; i++)
		error = w->kinds[batch->kind].count
			? kind_row(w, &b, i)
			: writing_whole(w, &w->facts[batch->kind], &b, i);
	return error;
}
