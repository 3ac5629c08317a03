/* Tables that are filled by pages: made before, joined to the schema behind. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
	else if (f->kind == FIELD_KIND_STRING && !strcmp(name, "domain"))
		strcpy(name, "domainNameId"); /* domainId is a number in NVTX_EVENTS */
	else if (f->kind == FIELD_KIND_CALLCHAIN ||
		(writing_is_text(f) && (length < 2 || strcmp(name + length - 2, "Id"))))
		strcat(name, "Id");
	snprintf(sql + used, bytes - used, ", \"%s\" INTEGER", name);
}

/* The table of LIBTRACE_KIND, or that of rows that the tables of nsys do not take. */
static void own_name(const struct schema_event *e, bool other, char *out, size_t bytes)
{
	if (other && e->number == KIND_OSRT_CALL)
		snprintf(out, bytes, "LIBTRACE_OSRT_UNFINISHED");
	else
		snprintf(out, bytes, "LIBTRACE_%s%s", e->name, other ? "_OTHER" : "");
	for (; *out; out++)
		*out = (char)toupper((unsigned char)*out);
}

int writing_table_begin(
	struct writing *w, struct page_table *t, const char *name, const char *columns)
{
	uint32_t root = 0, count = 0;
	int error = database_table(&w->database, name, columns);
	if (!columns)
		name = nsys_table_name(nsys_table_named(name), w->database.generation);
	if (!error)
		error = database_root(&w->database, name, &root, &count);
	if (!error)
		page_table_begin(
			t, &w->pages, root, count, columns ? NULL : w->database.shape.places);
	return error;
}

/* Time and thread, then all fields. */
static int whole_begin(
	struct writing *w, struct page_table *t, const struct schema_event *e, bool other)
{
	char name[64], sql[4096];
	column_name(e->fields[0].column, name, sizeof(name));
	snprintf(sql, sizeof(sql), "\"%s\" INTEGER NOT NULL, globalTid INTEGER", name);
	for (uint32_t i = 1; i < e->field_count; i++)
		column_add(sql, sizeof(sql), &e->fields[i]);
	own_name(e, other, name, sizeof(name));
	return writing_table_begin(w, t, name, sql);
}

/* The row that it belongs to, and fields that have no place there. */
static int facts_begin(struct writing *w, const struct schema_event *e)
{
	char name[64], sql[4096] = "id INTEGER NOT NULL PRIMARY KEY";
	const struct kind_rows *k = &w->kinds[e->number];
	if (!k->fact_count)
		return 0;
	for (uint32_t i = 0; i < k->fact_count; i++)
		column_add(sql, sizeof(sql), &e->fields[k->facts[i]]);
	own_name(e, false, name, sizeof(name));
	return writing_table_begin(w, &w->facts[e->number], name, sql);
}

static int kind_begin(struct writing *w, const struct schema_event *e)
{
	const struct kind_rows *k = &w->kinds[e->number];
	if (!k->count || k->whole)
		return whole_begin(w, &w->facts[e->number], e, false);
	int error = facts_begin(w, e);
	return error || !k->conditional ? error : whole_begin(w, &w->others[e->number], e, true);
}

/* Is this a table that is filled by pages? */
static bool is_paged(const struct writing *w, enum nsys_table table)
{
	if (table == NSYS_OSRT_CALLCHAINS || table == NSYS_CUDA_CALLCHAINS ||
		table == NSYS_OSRT_FILE_ACCESS_EVENTS || table == NSYS_OSRT_FILE_ACCESS_DESCRIPTORS)
		return true;
	for (uint32_t i = 0; i < MAPPINGS_MAX; i++)
		if (w->mappings[i].columns && w->mappings[i].table == table)
			return true;
	return false;
}

int writing_tables_begin(struct writing *w)
{
	const struct schema_event *e;
	int error = mapped_begin(w);
	for (uint32_t i = 0; !error && i < NSYS_TABLES; i++) {
		struct nsys_shape shape;
		nsys_table_shape(i, w->database.generation, &shape);
		if (is_paged(w, i) && shape.columns)
			error = writing_table_begin(
				w, &w->tables[i], nsys_table_name(i, NSYS_3_24), NULL);
	}
	for (uint32_t n = 0; !error && (e = schema_event_at(n)); n++)
		error = kind_begin(w, e);
	if (!error)
		error = chains_tables_begin(w);
	return error ? error : results_tables_begin(w);
}

static int table_end(struct page_table *t)
{
	return t->columns ? page_table_end(t) : 0;
}

int writing_tables_end(struct writing *w)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < NSYS_TABLES; i++)
		error = table_end(&w->tables[i]);
	for (uint32_t i = 0; !error && i < SCHEMA_KINDS; i++) {
		error = table_end(&w->facts[i]);
		if (!error)
			error = table_end(&w->others[i]);
	}
	if (!error)
		error = chains_tables_end(w);
	return error ? error : results_tables_end(w);
}

int writing_drop_if_empty(struct writing *w, const struct page_table *t, const char *name)
{
	char sql[96];
	if (!t->columns || t->rows)
		return 0;
	snprintf(sql, sizeof(sql), "DROP TABLE %s", name);
	return database_run(&w->database, sql);
}

int writing_tables_drop_empty(struct writing *w)
{
	char name[64];
	const struct schema_event *e;
	int error = 0;
	for (uint32_t i = 0; !error && i < NSYS_TABLES; i++)
		error = writing_drop_if_empty(
			w, &w->tables[i], nsys_table_name(i, w->database.generation));
	for (uint32_t n = 0; !error && (e = schema_event_at(n)); n++) {
		own_name(e, false, name, sizeof(name));
		error = writing_drop_if_empty(w, &w->facts[e->number], name);
		own_name(e, true, name, sizeof(name));
		if (!error)
			error = writing_drop_if_empty(w, &w->others[e->number], name);
	}
	if (!error)
		error = chains_drop_empty(w);
	if (!error)
		error = results_drop_empty(w);
	/* the indexes of the callchains' primary keys are made from their rows */
	if (!error && w->tables[NSYS_OSRT_CALLCHAINS].rows)
		error = database_run(&w->database, "REINDEX OSRT_CALLCHAINS");
	if (!error && w->tables[NSYS_CUDA_CALLCHAINS].rows)
		error = database_run(&w->database, "REINDEX CUDA_CALLCHAINS");
	return error;
}

void writing_tables_release(struct writing *w)
{
	chains_tables_release(w);
	for (uint32_t i = 0; i < NSYS_TABLES; i++)
		page_table_release(&w->tables[i]);
	for (uint32_t i = 0; i < SCHEMA_KINDS; i++) {
		page_table_release(&w->facts[i]);
		page_table_release(&w->others[i]);
	}
	results_tables_release(w);
}
