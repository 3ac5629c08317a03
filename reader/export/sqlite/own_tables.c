/* SPDX-License-Identifier: Apache-2.0 */
/* own_tables.c - tables of libtrace, and events as their rows. */
#include "reader/export/sqlite/own_tables.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/spool.h"
#include "reader/export/sqlite/export_state.h"

/* ---- definitions ---- */

void own_column_name(const char *column, char *out, size_t bytes)
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

/* Append the definition of a column. Names of text ids end in Id, as in nsys; function names are
 * nameId. */
static void column_add(char *sql, size_t bytes, const struct schema_field *f)
{
	char name[48];
	size_t used = strlen(sql), length;
	own_column_name(f->column, name, sizeof(name));
	length = strlen(name);
	if (f->kind == FIELD_KIND_FUNCTION)
		strcpy(name, "nameId");
	else if (f->kind == FIELD_KIND_STRING && !strcmp(name, "domain"))
		strcpy(name, "domainNameId"); /* domainId is a number in NVTX_EVENTS */
	else if (f->kind == FIELD_KIND_CALLCHAIN || f->kind == FIELD_KIND_CODE ||
		(field_is_text(f) && (length < 2 || strcmp(name + length - 2, "Id"))))
		strcat(name, "Id");
	/* A column of numbers of several types must not convert them. */
	snprintf(sql + used, bytes - used, ", \"%s\"%s", name,
		f->kind == FIELD_KIND_PAYLOAD ? "" : " INTEGER");
}

void own_table_name(const struct schema_event *e, bool other, char *out, size_t bytes)
{
	if (other && e->number == KIND_OSRT_CALL)
		snprintf(out, bytes, "LIBTRACE_OSRT_UNFINISHED");
	else
		snprintf(out, bytes, "LIBTRACE_%s%s", e->name, other ? "_OTHER" : "");
	for (; *out; out++)
		*out = (char)toupper((unsigned char)*out);
}

/* Open a table with time and thread, then all fields. */
static int whole_begin(
	struct sqlite_export *x, struct bulk_table *t, const struct schema_event *e, bool other)
{
	char name[64], sql[4096];
	own_column_name(e->fields[0].column, name, sizeof(name));
	snprintf(sql, sizeof(sql), "\"%s\" INTEGER NOT NULL, globalTid INTEGER", name);
	for (uint32_t i = 1; i < e->field_count; i++)
		column_add(sql, sizeof(sql), &e->fields[i]);
	own_table_name(e, other, name, sizeof(name));
	return bulk_table_begin(t, &x->database, name, sql);
}

/* Open a table with the row id in the table of nsys, then the fields that have no column there. */
static int facts_begin(struct sqlite_export *x, const struct schema_event *e)
{
	char name[64], sql[4096] = "id INTEGER NOT NULL PRIMARY KEY";
	const struct kind_rows *k = &x->nsys.kinds[e->number];
	if (!k->fact_count)
		return 0;
	for (uint32_t i = 0; i < k->fact_count; i++)
		column_add(sql, sizeof(sql), &e->fields[k->facts[i]]);
	own_table_name(e, false, name, sizeof(name));
	return bulk_table_begin(&x->own.facts[e->number], &x->database, name, sql);
}

static int kind_begin(struct sqlite_export *x, const struct schema_event *e)
{
	const struct kind_rows *k = &x->nsys.kinds[e->number];
	if (!k->count || k->whole)
		return whole_begin(x, &x->own.facts[e->number], e, false);
	int error = facts_begin(x, e);
	return error || !k->conditional ? error
					: whole_begin(x, &x->own.others[e->number], e, true);
}

int own_tables_begin(struct sqlite_export *x)
{
	const struct schema_event *e;
	int error = 0;
	for (uint32_t n = 0; !error && (e = schema_event_at(n)); n++)
		error = kind_begin(x, e);
	return error;
}

int own_tables_end(struct own_tables *t)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < SCHEMA_KINDS; i++) {
		error = bulk_table_end(&t->facts[i]);
		if (!error)
			error = bulk_table_end(&t->others[i]);
	}
	return error;
}

void own_tables_release(struct own_tables *t)
{
	for (uint32_t i = 0; i < SCHEMA_KINDS; i++) {
		bulk_table_release(&t->facts[i]);
		bulk_table_release(&t->others[i]);
	}
}

/* ---- rows ---- */

/* Look up the text id of bytes, written as hex digits. */
static int bytes_text(struct sqlite_export *x, uint32_t string, uint32_t *ret_id)
{
	static const char digits[] = "0123456789abcdef";
	struct string_ref ref = string_table_get(&x->contents.strings, string);
	char *text = malloc((size_t)ref.bytes * 2 + 1);
	if (!text)
		return -ENOMEM;
	for (uint32_t i = 0; i < ref.bytes; i++) {
		text[2 * i] = digits[(unsigned char)ref.text[i] >> 4];
		text[2 * i + 1] = digits[ref.text[i] & 15];
	}
	text[(size_t)ref.bytes * 2] = 0;
	int error = text_id(&x->texts, text, ret_id);
	free(text);
	return error;
}

/* Return true if the call has no such word, or, for their number, no prototype. */
static bool word_is_absent(const struct decoded_batch *b, uint32_t field, uint32_t row)
{
	uint32_t prototype = (uint32_t)schema_column(b->event, FIELD_KIND_PROTOTYPE);
	if (b->event->fields[field].kind == FIELD_KIND_WORD_COUNT)
		return !b->columns[prototype][row];
	return (uint64_t)b->columns[prototype + 1][row] < field - prototype - 1;
}

/* Look up the text id of the place of a return address. */
static int code_text(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row,
	uint64_t address, uint32_t *ret_id)
{
	char text[PLACE_BYTES];
	if (!b->process)
		return 0;
	symbols_place(x->job->no_symbols ? NULL : &x->symbols, b->process, address,
		(uint64_t)b->columns[0][row], text);
	return text_id(&x->texts, text, ret_id);
}

/* Convert a value to that of its column. */
static int value_convert(struct sqlite_export *x, const struct decoded_batch *b, uint32_t field,
	uint32_t row, int64_t *ret_value, bool *ret_null)
{
	const struct schema_field *f = &b->event->fields[field];
	int64_t value = b->columns[field][row];
	uint32_t id = 0;
	int error = 0;
	*ret_null = decoded_is_unknown(b, row, field);
	if (*ret_null) {
		*ret_value = 0;
		return 0;
	}
	if (f->kind == FIELD_KIND_WORD || f->kind == FIELD_KIND_WORD_COUNT)
		*ret_null = word_is_absent(b, field, row);
	if (b->event->number == KIND_OSRT_CALL && f->number == FIELD_OSRT_CALL_OBJECT) {
		value = value >> 47 == 1 ? value - (INT64_C(1) << 48) : value;
	} else if (f->kind == FIELD_KIND_FLAGS) {
		value &= ~(
			int64_t)RECORD_TEXT_NAMED; /* redundant: textId contains this information */
	} else if (f->kind == FIELD_KIND_TIME) {
		value = export_time(x, (uint64_t)value);
	} else if (schema_is_moment(f)) {
		*ret_null = !value;
		value = export_time(x, (uint64_t)value);
	} else if (f->kind == FIELD_KIND_BYTES && value) {
		error = bytes_text(x, (uint32_t)value, &id);
		value = id;
	} else if (f->kind == FIELD_KIND_FUNCTION || (field_is_text(f) && value)) {
		error = text_id_of_string(&x->texts, (uint32_t)value, &id);
		value = id;
	} else if (field_is_text(f)) {
		*ret_null = true;
	} else if (f->kind == FIELD_KIND_CODE) {
		*ret_null = !value;
		error = value ? code_text(x, b, row, (uint64_t)value, &id) : 0;
		value = id;
	} else if (f->kind == FIELD_KIND_CALLCHAIN) {
		error = chain_id_of_row(x, b, row, NSYS_OSRT_CALLCHAINS, &id);
		value = id;
	}
	*ret_value = value;
	return error;
}

/* Return true if the value is the bits of a double, as which those of a float are stored: the
 * column before it has the type. */
static bool value_is_real(
	const struct decoded_batch *b, uint32_t field, uint32_t row, int64_t *value)
{
	const int64_t type =
		b->event->fields[field].kind == FIELD_KIND_PAYLOAD ? b->columns[field - 1][row] : 0;
	if (type == PAYLOAD_FLOAT) {
		const uint32_t bits = (uint32_t)*value;
		float single;
		memcpy(&single, &bits, sizeof(single));
		const double real = (double)single;
		memcpy(value, &real, sizeof(real));
	}
	return type == PAYLOAD_DOUBLE || type == PAYLOAD_FLOAT;
}

/* Add a row of numbers; those whose bit in `reals` is set are the bits of a double. */
static int row_add(
	struct bulk_table *t, const int64_t *values, uint32_t count, uint64_t nulls, uint64_t reals)
{
	struct cell cells[SCHEMA_FIELDS + 1];
	if (!reals)
		return bulk_table_numbers(t, values, nulls);
	for (uint32_t i = 0; i < count; i++) {
		cells[i].kind = nulls >> i & 1 ? CELL_NULL
			: reals >> i & 1       ? CELL_REAL
					       : CELL_INTEGER;
		memcpy(&cells[i].integer, &values[i], sizeof(values[i]));
	}
	return bulk_table_row(t, cells);
}

int own_row_whole(
	struct sqlite_export *x, struct bulk_table *t, const struct decoded_batch *b, uint32_t row)
{
	int64_t values[SCHEMA_FIELDS + 1];
	uint64_t nulls = 0, reals = 0;
	for (uint32_t i = 0; i < b->event->field_count; i++) {
		bool null = false;
		uint32_t place = i ? i + 1 : 0;
		int error = value_convert(x, b, i, row, &values[place], &null);
		if (error)
			return error;
		nulls |= (uint64_t)null << place;
		reals |= (uint64_t)value_is_real(b, i, row, &values[place]) << place;
	}
	values[1] = b->global_tid;
	return row_add(t, values, b->event->field_count + 1, nulls, reals);
}

int own_row_facts(
	struct sqlite_export *x, const struct decoded_batch *b, uint32_t row, uint64_t rowid)
{
	int64_t values[SCHEMA_FIELDS + 1] = {(int64_t)rowid}, any = 0;
	uint64_t nulls = 0, reals = 0;
	const struct kind_rows *k = &x->nsys.kinds[b->event->number];
	for (uint32_t i = 0; i < k->fact_count; i++) {
		bool null = false;
		int error = value_convert(x, b, k->facts[i], row, &values[i + 1], &null);
		if (error)
			return error;
		nulls |= (uint64_t)null << (i + 1);
		reals |= (uint64_t)value_is_real(b, k->facts[i], row, &values[i + 1]) << (i + 1);
		any |= null ? 0 : values[i + 1];
	}
	return any
		? row_add(&x->own.facts[b->event->number], values, k->fact_count + 1, nulls, reals)
		: 0;
}
