#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/spool.h"
#include "reader/export/sqlite_writing.h"

/* A column's name here: "start_ns" is start, "parent_tid" parentTid. */
static void column_name(const char *column, char *out, size_t bytes)
{
	size_t length = strlen(column), n = 0;
	if (!strcmp(column, "time_ns"))
		column = "timestamp", length = 9;
	else if (length > 3 && !strcmp(column + length - 3, "_ns"))
		length -= 3;
	for (size_t i = 0; i < length && n + 1 < bytes; i++)
		if (column[i] == '_' && i + 1 < length)
			out[n++] = (char)toupper((unsigned char)column[++i]);
		else
			out[n++] = column[i];
	out[n] = 0;
}

static bool is_text(const struct schema_field *f)
{
	return f->kind == FIELD_KIND_STRING || f->kind == FIELD_KIND_BYTES ||
		f->kind == FIELD_KIND_FUNCTION || f->kind == FIELD_KIND_SYMBOL;
}

/* A column that holds the id of a text ends in Id, as those of nsys do; function names are
 * nameId. */
static void column_add(char *sql, size_t bytes, const struct schema_field *f)
{
	char name[48];
	size_t used = strlen(sql), length;
	column_name(f->column, name, sizeof(name));
	length = strlen(name);
	if (f->kind == FIELD_KIND_FUNCTION)
		strcpy(name, "nameId");
	else if (f->kind == FIELD_KIND_CALLCHAIN ||
		(is_text(f) && (length < 2 || strcmp(name + length - 2, "Id"))))
		strcat(name, "Id");
	snprintf(sql + used, bytes - used, ", \"%s\" INTEGER", name);
}

/* The table of LIBTRACE_KIND. */
static void facts_name(const struct schema_event *e, char *out, size_t bytes)
{
	snprintf(out, bytes, "LIBTRACE_%s", e->name);
	for (; *out; out++)
		*out = (char)toupper((unsigned char)*out);
}

static int table_begin(
	struct writing *w, struct page_table *t, const char *name, const char *columns)
{
	uint32_t root = 0, count = 0;
	int error = database_table(&w->database, name, columns);
	if (!error)
		error = database_root(&w->database, name, &root, &count);
	if (!error)
		page_table_begin(
			t, &w->pages, root, count, columns ? NULL : w->database.shape.places);
	return error;
}

/* Columns of LIBTRACE_KIND: the row that it belongs to, or its time and thread; then the fields. */
static int facts_begin(struct writing *w, const struct schema_event *e)
{
	char name[64], sql[4096];
	const struct mapping *m = &w->mappings[e->number];
	const bool mapped = writing_is_mapped(w, e->number);
	if (mapped && !m->fact_count)
		return 0;
	facts_name(e, name, sizeof(name));
	snprintf(sql, sizeof(sql), "id INTEGER NOT NULL PRIMARY KEY");
	if (!mapped) {
		char time[48];
		column_name(e->fields[0].column, time, sizeof(time));
		snprintf(sql, sizeof(sql), "\"%s\" INTEGER NOT NULL, globalTid INTEGER", time);
	}
	for (uint32_t i = mapped ? 0 : 1; i < m->fact_count; i++)
		column_add(sql, sizeof(sql), &e->fields[m->facts[i]]);
	return table_begin(w, &w->facts[e->number], name, sql);
}

static int unfinished_begin(struct writing *w)
{
	char sql[1024] = "start INTEGER NOT NULL, globalTid INTEGER";
	const struct schema_event *e = schema_event(KIND_OSRT_CALL);
	for (uint32_t i = 1; i < e->field_count; i++)
		column_add(sql, sizeof(sql), &e->fields[i]);
	return table_begin(w, &w->unfinished, "LIBTRACE_OSRT_UNFINISHED", sql);
}

/* Is this a table that is filled by pages? */
static bool is_paged(const struct writing *w, enum nsys_table table)
{
	bool paged = table == NSYS_OSRT_CALLCHAINS;
	for (uint32_t kind = 0; kind < SCHEMA_KINDS; kind++)
		paged |= w->mappings[kind].table == table;
	return paged;
}

int writing_tables_begin(struct writing *w)
{
	const struct schema_event *e;
	int error = mapped_begin(w->mappings);
	for (uint32_t i = 0; !error && i < NSYS_TABLES; i++) {
		struct nsys_shape shape;
		nsys_table_shape(i, w->database.generation, &shape);
		if (is_paged(w, i) && shape.columns)
			error = table_begin(w, &w->tables[i], nsys_table_name(i), NULL);
	}
	if (!error)
		error = unfinished_begin(w);
	for (uint32_t n = 0; !error && (e = schema_event_at(n)); n++)
		error = facts_begin(w, e);
	return error;
}

static int table_end(struct page_table *t)
{
	return t->columns ? page_table_end(t) : 0;
}

int writing_tables_end(struct writing *w)
{
	int error = table_end(&w->unfinished);
	for (uint32_t i = 0; !error && i < NSYS_TABLES; i++)
		error = table_end(&w->tables[i]);
	for (uint32_t i = 0; !error && i < SCHEMA_KINDS; i++)
		error = table_end(&w->facts[i]);
	return error;
}

static int drop_if_empty(struct writing *w, const struct page_table *t, const char *name)
{
	char sql[96];
	if (!t->columns || t->rows)
		return 0;
	snprintf(sql, sizeof(sql), "DROP TABLE %s", name);
	return database_run(&w->database, sql);
}

/* The index of the callchains' primary key is made from their rows. */
int writing_tables_drop_empty(struct writing *w)
{
	char name[64];
	const struct schema_event *e;
	int error = drop_if_empty(w, &w->unfinished, "LIBTRACE_OSRT_UNFINISHED");
	for (uint32_t i = 0; !error && i < NSYS_TABLES; i++)
		error = drop_if_empty(w, &w->tables[i], nsys_table_name(i));
	for (uint32_t n = 0; !error && (e = schema_event_at(n)); n++) {
		facts_name(e, name, sizeof(name));
		error = drop_if_empty(w, &w->facts[e->number], name);
	}
	if (!error && w->tables[NSYS_OSRT_CALLCHAINS].rows)
		error = database_run(&w->database, "REINDEX OSRT_CALLCHAINS");
	return error;
}

void writing_tables_release(struct writing *w)
{
	page_table_release(&w->unfinished);
	for (uint32_t i = 0; i < NSYS_TABLES; i++)
		page_table_release(&w->tables[i]);
	for (uint32_t i = 0; i < SCHEMA_KINDS; i++)
		page_table_release(&w->facts[i]);
}

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
	} else if (f->kind == FIELD_KIND_BYTES && value) {
		error = bytes_text(w, (uint32_t)value, &id);
		value = id;
	} else if (f->kind == FIELD_KIND_FUNCTION || (is_text(f) && value)) {
		error = writing_string(w, (uint32_t)value, &id);
		value = id;
	} else if (is_text(f)) {
		*ret_null = true;
	} else if (f->kind == FIELD_KIND_CALLCHAIN && b->process) {
		uint64_t ns = (uint64_t)b->columns[0][row];
		error = writing_chain(w, b->process, (uint32_t)value,
			b->method ? (uint32_t)b->method[row] : 0,
			ns + (b->duration ? (uint64_t)b->duration[row] : 0), &id);
		value = id;
	}
	*ret_value = value;
	return error;
}

/* A row of the table that is made from the declaration of the event. */
static int whole_row(
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

int writing_unfinished(struct writing *w, const struct writing_batch *b, uint32_t row)
{
	return whole_row(w, &w->unfinished, b, row);
}

int writing_facts(struct writing *w, const struct writing_batch *b, uint32_t row)
{
	int64_t values[SCHEMA_FIELDS + 1] = {0}, any = 0;
	uint64_t nulls = 1; /* the row id */
	const struct mapping *m = &w->mappings[b->event->number];
	for (uint32_t i = 0; i < m->fact_count; i++) {
		bool null = false;
		int error = value_make(w, b, m->facts[i], row, &values[i + 1], &null);
		if (error)
			return error;
		nulls |= (uint64_t)null << (i + 1);
		any |= null ? 0 : values[i + 1];
	}
	return any ? writing_numbers(w, &w->facts[b->event->number], w->tables[m->table].last_rowid,
			     values, nulls)
		   : 0;
}

/* The last name of a thread, by time. */
static int names_take(struct writing *w, const struct writing_batch *b)
{
	const int64_t *names = writing_column(b,
		b->batch->kind == KIND_THREAD_START ? (uint32_t)FIELD_THREAD_START_NAME
						    : (uint32_t)FIELD_THREAD_NAME_NAME);
	int error = 0;
	for (uint32_t i = 0; names && !error && i < b->batch->count; i++)
		error = writing_thread_name(
			w, b->global_tid, (uint32_t)names[i], (uint64_t)b->columns[0][i], false);
	return error;
}

int writing_decode(
	struct writing *w, const struct event_batch *batch, struct writing_batch *ret_batch)
{
	struct writing_batch *b = ret_batch;
	*b = (struct writing_batch){.batch = batch, .event = schema_event(batch->kind)};
	b->process = process_find(&w->contents.processes, batch->process);
	b->global_tid = writing_global(w, b->process ? b->process->facts->pid : 0, batch->tid);
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

static int mapped_rows(struct writing *w, const struct writing_batch *b)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++) {
		if (b->duration && b->duration[i] < 0) {
			w->impossible++;
			continue;
		}
		error = mapped_row(w, b, i);
		if (!error && w->facts[b->event->number].columns)
			error = writing_facts(w, b, i);
	}
	return error;
}

int writing_batch(struct writing *w, const struct event_batch *batch)
{
	struct writing_batch b;
	struct writing_thread *thread;
	int error = writing_decode(w, batch, &b);
	if (error)
		return error == -EBADMSG ? 0 : error;
	error = writing_thread(w, b.global_tid, &thread);
	if (!error && (batch->kind == KIND_THREAD_START || batch->kind == KIND_THREAD_NAME))
		error = names_take(w, &b);
	if (!error && batch->kind == KIND_NVTX_NAME)
		error = nvtx_names(w, &b);
	if (!error && batch->kind == KIND_OSRT_CALL)
		return writing_calls(w, &b);
	if (!error && writing_is_mapped(w, batch->kind))
		return mapped_rows(w, &b);
	for (uint32_t i = 0; !error && i < batch->count; i++)
		error = whole_row(w, &w->facts[batch->kind], &b, i);
	return error;
}
