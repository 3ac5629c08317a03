#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/spool.h"
#include "reader/export/sqlite_writing.h"

#define CLASS_OS_RUNTIME 27 /* ENUM_NSYS_EVENT_CLASS */

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
	return f->kind == FIELD_KIND_STRING || f->kind == FIELD_KIND_FUNCTION ||
		f->kind == FIELD_KIND_SYMBOL;
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

/* The columns of LIBTRACE_OSRT_CALL: positions in the schema's fields of OSRT_CALL that OSRT_API
 * has no place for. Returns their number. */
static uint32_t call_facts(uint32_t *ret_fields)
{
	uint32_t count = 0;
	const struct schema_event *e = schema_event(KIND_OSRT_CALL);
	for (uint32_t i = 0; i < e->field_count; i++)
		switch (e->fields[i].number) {
		case FIELD_OSRT_CALL_START:
		case FIELD_OSRT_CALL_DURATION:
		case FIELD_OSRT_CALL_FUNCTION:
		case FIELD_OSRT_CALL_RETURN:
		case FIELD_OSRT_CALL_CALLCHAIN:
			break;
		default:
			ret_fields[count++] = i;
		}
	return count;
}

static int table_begin(
	struct writing *w, struct page_table *t, const char *name, const char *columns)
{
	uint32_t root = 0, count = 0;
	int error = database_table(&w->database, name, columns);
	if (!error)
		error = database_root(&w->database, name, &root, &count);
	if (!error)
		page_table_begin(t, &w->pages, root, count);
	return error;
}

static void event_table_name(const struct schema_event *e, char *out, size_t bytes)
{
	snprintf(out, bytes, "LIBTRACE_%s",
		e->number == KIND_OSRT_CALL ? "osrt_unfinished" : e->name);
	for (; *out; out++)
		*out = (char)toupper((unsigned char)*out);
}

int writing_tables_begin(struct writing *w)
{
	char name[64], sql[1024] = "id INTEGER NOT NULL PRIMARY KEY";
	uint32_t fields[SCHEMA_FIELDS], count = call_facts(fields);
	const struct schema_event *e = schema_event(KIND_OSRT_CALL);
	for (uint32_t i = 0; i < count; i++)
		column_add(sql, sizeof(sql), &e->fields[fields[i]]);
	int error = table_begin(w, &w->calls, "OSRT_API", NULL);
	if (!error)
		error = table_begin(w, &w->call_facts, "LIBTRACE_OSRT_CALL", sql);
	if (!error)
		error = table_begin(w, &w->chain_rows, "OSRT_CALLCHAINS", NULL);
	for (uint32_t n = 0; !error && (e = schema_event_at(n)); n++) {
		column_name(e->fields[0].column, name, sizeof(name));
		snprintf(sql, sizeof(sql), "\"%s\" INTEGER NOT NULL, globalTid INTEGER", name);
		for (uint32_t i = 1; i < e->field_count; i++)
			column_add(sql, sizeof(sql), &e->fields[i]);
		event_table_name(e, name, sizeof(name));
		error = table_begin(w, &w->events[e->number], name, sql);
	}
	return error;
}

int writing_tables_end(struct writing *w)
{
	int error = page_table_end(&w->calls);
	if (!error)
		error = page_table_end(&w->call_facts);
	if (!error)
		error = page_table_end(&w->chain_rows);
	for (uint32_t i = 0; !error && i < SCHEMA_KINDS; i++)
		if (w->events[i].columns)
			error = page_table_end(&w->events[i]);
	return error;
}

/* The index of the callchains' primary key is made from their rows. */
int writing_tables_drop_empty(struct writing *w)
{
	char name[64], sql[96];
	const struct schema_event *e;
	int error = w->calls.rows ? 0 : database_run(&w->database, "DROP TABLE OSRT_API");
	if (!error && !w->call_facts.rows)
		error = database_run(&w->database, "DROP TABLE LIBTRACE_OSRT_CALL");
	if (!error)
		error = database_run(&w->database,
			w->chain_rows.rows ? "REINDEX OSRT_CALLCHAINS"
					   : "DROP TABLE OSRT_CALLCHAINS");
	for (uint32_t n = 0; !error && (e = schema_event_at(n)); n++) {
		if (w->events[e->number].rows)
			continue;
		event_table_name(e, name, sizeof(name));
		snprintf(sql, sizeof(sql), "DROP TABLE %s", name);
		error = database_run(&w->database, sql);
	}
	return error;
}

void writing_tables_release(struct writing *w)
{
	page_table_release(&w->calls);
	page_table_release(&w->call_facts);
	page_table_release(&w->chain_rows);
	for (uint32_t i = 0; i < SCHEMA_KINDS; i++)
		page_table_release(&w->events[i]);
}

static int row_put(struct writing *w, struct page_table *t, uint64_t rowid, const int64_t *values,
	uint64_t nulls)
{
	int error = page_table_row(t, rowid, values, nulls);
	w->output_failed |= error != 0;
	return error;
}

/* The batch at hand. */
struct batch {
	const struct event_batch *batch;
	const struct schema_event *event;
	struct process *process; /* NULL = not told */
	int64_t global_tid;
	const int64_t *columns[SCHEMA_FIELDS]; /* by position in the schema */
	const int64_t *flags, *chain, *method; /* of OSRT_CALL */
};

/* 0, -ENOMEM, or -EBADMSG where the rows do not match: that was told in the first pass. */
static int columns_decode(struct writing *w, struct batch *b)
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

static const int64_t *column_of(const struct batch *b, uint32_t field)
{
	for (uint32_t i = 0; i < b->event->field_count; i++)
		if (b->event->fields[i].number == field)
			return b->columns[i];
	return NULL;
}

static int thread_find(struct writing *w, int64_t global_tid, struct writing_thread **ret_thread)
{
	uint32_t found = map_get(&w->thread_ids, (uint64_t)global_tid, 0);
	if (!found) {
		void *room = array_room(
			w->threads, w->thread_count, &w->thread_capacity, sizeof(*w->threads));
		if (!room)
			return -ENOMEM;
		w->threads = room;
		w->threads[w->thread_count] = (struct writing_thread){.global_tid = global_tid};
		found = ++w->thread_count;
		if (map_put(&w->thread_ids, (uint64_t)global_tid, 0, found))
			return -ENOMEM;
	}
	*ret_thread = &w->threads[found - 1];
	return 0;
}

/* The thread's last name, by time. */
static int names_take(struct writing *w, const struct batch *b, struct writing_thread *thread)
{
	const int64_t *names = column_of(b,
		b->batch->kind == KIND_THREAD_START ? (uint32_t)FIELD_THREAD_START_NAME
						    : (uint32_t)FIELD_THREAD_NAME_NAME);
	for (uint32_t i = 0; names && i < b->batch->count; i++) {
		uint32_t text = 0;
		uint64_t ns = (uint64_t)b->columns[0][i];
		struct string_ref name = string_table_get(&w->contents.strings, (uint32_t)names[i]);
		if (!name.bytes || (thread->name && ns < thread->name_ns))
			continue;
		if (writing_string(w, (uint32_t)names[i], &text))
			return -ENOMEM;
		thread->name = text + 1;
		thread->name_ns = ns;
	}
	return 0;
}

/* Objects have 48 bits: a small negative number, as AT_FDCWD, has the upper ones set. */
static int64_t object_value(int64_t value)
{
	return value >> 47 == 1 ? value - (INT64_C(1) << 48) : value;
}

static int value_make(struct writing *w, const struct batch *b, uint32_t field, uint32_t row,
	int64_t *ret_value, bool *ret_null)
{
	const struct schema_field *f = &b->event->fields[field];
	int64_t value = b->columns[field][row];
	uint32_t id = 0;
	int error = 0;
	*ret_null = false;
	if (b->event->number == KIND_OSRT_CALL && f->number == FIELD_OSRT_CALL_OBJECT) {
		value = object_value(value);
	} else if (f->kind == FIELD_KIND_TIME) {
		value = writing_time(w, (uint64_t)value);
	} else if (f->kind == FIELD_KIND_FUNCTION || (is_text(f) && value)) {
		error = writing_string(w, (uint32_t)value, &id);
		value = id;
	} else if (is_text(f)) {
		*ret_null = true;
	} else if (f->kind == FIELD_KIND_CALLCHAIN && b->process) {
		uint64_t ns = (uint64_t)b->columns[0][row];
		int duration = schema_column(b->event, FIELD_KIND_DURATION),
		    method = schema_column(b->event, FIELD_KIND_METHOD);
		error = writing_chain(w, b->process, (uint32_t)value,
			method > 0 ? (uint32_t)b->columns[method][row] : 0,
			ns + (duration > 0 ? (uint64_t)b->columns[duration][row] : 0), &id);
		value = id;
	}
	*ret_value = value;
	return error;
}

/* A row of the table that is made from the declaration of the event. */
static int event_row(struct writing *w, const struct batch *b, uint32_t row)
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
	return row_put(w, &w->events[b->event->number], 0, values, nulls);
}

struct call_columns {
	const int64_t *start, *duration, *function, *result;
	uint32_t facts[SCHEMA_FIELDS], fact_count;
	uint32_t object;                   /* which of the facts */
	uint32_t function_last, text_last; /* the name found last */
};

static int call_row(struct writing *w, const struct batch *b, struct call_columns *c, uint32_t i)
{
	int64_t facts[SCHEMA_FIELDS + 1], any = 0;
	uint32_t chain = 0, function = (uint32_t)c->function[i];
	int error = 0;
	if (function != c->function_last || !i)
		error = writing_string(w, function, &c->text_last);
	c->function_last = function;
	int64_t start = writing_time(w, (uint64_t)c->start[i]),
		end = (int64_t)((uint64_t)start + (uint64_t)c->duration[i]);
	if (!error && b->chain[i] && b->process)
		error = writing_chain(w, b->process, (uint32_t)b->chain[i], (uint32_t)b->method[i],
			(uint64_t)c->start[i] + (uint64_t)c->duration[i], &chain);
	if (error)
		return error;
	/* start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId,
	 * argumentsId, correlationId */
	const int64_t values[] = {start, end, CLASS_OS_RUNTIME, b->global_tid, c->text_last,
		c->result[i], 0, chain, 0, 0};
	error = row_put(w, &w->calls, 0, values, UINT64_C(1) << 9);
	for (uint32_t n = 0; n < c->fact_count; n++)
		any |= facts[n + 1] = b->columns[c->facts[n]][i];
	facts[c->object + 1] = object_value(facts[c->object + 1]);
	if (error || !any)
		return error;
	facts[0] = 0; /* the row id */
	return row_put(w, &w->call_facts, w->calls.last_rowid, facts, 1);
}

static int call_rows(struct writing *w, const struct batch *b)
{
	struct call_columns c = {.start = b->columns[0],
		.duration = column_of(b, FIELD_OSRT_CALL_DURATION),
		.function = column_of(b, FIELD_OSRT_CALL_FUNCTION),
		.result = column_of(b, FIELD_OSRT_CALL_RETURN)};
	int error = 0;
	c.fact_count = call_facts(c.facts);
	for (uint32_t i = 0; i < c.fact_count; i++)
		if (b->event->fields[c.facts[i]].number == FIELD_OSRT_CALL_OBJECT)
			c.object = i;
	for (uint32_t i = 0; !error && i < b->batch->count; i++) {
		if (c.duration[i] < 0)
			w->impossible++;
		else if (b->flags[i] & RECORD_UNFINISHED)
			error = event_row(w, b, i);
		else
			error = call_row(w, b, &c, i);
	}
	return error;
}

int writing_batch(struct writing *w, const struct event_batch *batch)
{
	struct batch b = {.batch = batch, .event = schema_event(batch->kind)};
	struct writing_thread *thread;
	b.process = process_find(&w->contents.processes, batch->process);
	b.global_tid = writing_global(w, b.process ? b.process->facts->pid : 0, batch->tid);
	int error = b.event ? columns_decode(w, &b) : 0;
	if (error || !b.event || !batch->count)
		return error == -EBADMSG ? 0 : error;
	error = thread_find(w, b.global_tid, &thread);
	if (!error && (batch->kind == KIND_THREAD_START || batch->kind == KIND_THREAD_NAME))
		error = names_take(w, &b, thread);
	if (!error && batch->kind == KIND_OSRT_CALL) {
		b.flags = column_of(&b, FIELD_OSRT_CALL_FLAGS);
		b.chain = column_of(&b, FIELD_OSRT_CALL_CALLCHAIN);
		b.method = column_of(&b, FIELD_OSRT_CALL_CALLCHAIN_METHOD);
		return call_rows(w, &b);
	}
	for (uint32_t i = 0; !error && i < batch->count; i++)
		error = event_row(w, &b, i);
	return error;
}
