/* SPDX-License-Identifier: Apache-2.0 */
/* enums.c - tables of names for numbers, from nsys_enums.def and the schema. */
#include "reader/export/sqlite/enums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/file/schema.h"

#define ENUM_NUMBERS 64 /* only numbers of events.def below this may have names */

static const struct {
	const char *name, *generations, *prefix, *rows;
} enums[] = {
#define ENUM_TABLE(name, generations, prefix, rows) {#name, generations, prefix, rows},
#include "reader/sql/nsys_enums.def"
};
static const char ENUM_COLUMNS[] = "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT";

static int enum_put(struct database *d, const char *table, const char *prefix, const char *rows)
{
	char name[160], label[120];
	int error = database_table(d, table, ENUM_COLUMNS);
	while (!error && *rows) {
		char *at;
		int64_t id = strtoll(rows, &at, 10);
		int all = (int)strcspn(++at, "|"), suffix = (int)strcspn(at, "|=");
		snprintf(name, sizeof(name), "%s%.*s", prefix, suffix, at);
		const char *shown = suffix < all ? at + suffix + 1 : at;
		snprintf(label, sizeof(label), "%.*s", (int)(at + all - shown), shown);
		error = database_row(d, table, "itt", id, name, label);
		rows = at + all + (at[all] == '|');
	}
	return error;
}

/* Write UnwindMethodType, the only such table until 2022. */
static int unwind_methods_put(struct database *d)
{
	static const char *const names[] = {"Unknown", "FramePointer", "UnwindTable",
		"LR_FramePointer", "LR_UnwindTable", "KernelContext", "DWARF_EH", "DWARF_DF",
		"LBR"};
	int error = 0;
	for (int64_t i = 0; !error && i < 9; i++)
		error = database_row(d, "UnwindMethodType", "it", i, names[i]);
	return error;
}

static int enums_put(struct database *d)
{
	const enum nsys_generation g = d->generation;
	int error = unwind_methods_put(d);
	for (size_t i = 0; !error && i < sizeof(enums) / sizeof(enums[0]); i++)
		if (g != NSYS_2_9 &&
			nsys_mark_admits(enums[i].generations, strlen(enums[i].generations), g))
			error = enum_put(d, enums[i].name, enums[i].prefix, enums[i].rows);
	return error;
}

/* Write the names of the numbers of a field, if they have any. */
static int own_enum_put(
	struct database *d, const struct schema_event *e, const struct schema_field *f)
{
	char table[96];
	int error = 0;
	if (!schema_value_name(f, 0))
		return 0;
	snprintf(table, sizeof(table), "LIBTRACE_ENUM_%s_%s", e->name, f->column);
	for (char *c = table; *c; c++)
		*c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
	error = database_table(d, table, ENUM_COLUMNS);
	for (int64_t n = 0; !error && n < ENUM_NUMBERS; n++) {
		const char *name = schema_value_name(f, n);
		if (f->kind == FIELD_KIND_METHOD && n > 15)
			break; /* the higher bits are flags */
		if (strcmp(name, "?"))
			error = database_row(d, table, "itt", n, name, name);
	}
	return error;
}

int enum_tables_write(struct database *d)
{
	const struct schema_event *e;
	int error = enums_put(d);
	for (uint32_t n = 0; (e = schema_event_at(n)); n++)
		for (uint32_t i = 0; !error && i < e->field_count; i++)
			error = own_enum_put(d, e, &e->fields[i]);
	return error;
}
