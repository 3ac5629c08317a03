/* What numbers mean: the ENUM tables of nsys, and ours. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/export/sqlite_writing.h"

#define ENUM_NUMBERS 64 /* of events.def: looked through for names */

static const struct {
	const char *name, *generations, *prefix, *rows;
} enums[] = {
#define ENUM_TABLE(name, generations, prefix, rows) {#name, generations, prefix, rows},
#include "reader/export/nsys_enums.def"
};
static const char ENUM_COLUMNS[] = "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT";

static int enum_put(struct writing *w, const char *table, const char *prefix, const char *rows)
{
	char name[160], label[120];
	int error = database_table(&w->database, table, ENUM_COLUMNS);
	while (!error && *rows) {
		char *at;
		int64_t id = strtoll(rows, &at, 10);
		int all = (int)strcspn(++at, "|"), suffix = (int)strcspn(at, "|=");
		snprintf(name, sizeof(name), "%s%.*s", prefix, suffix, at);
		const char *told = suffix < all ? at + suffix + 1 : at;
		snprintf(label, sizeof(label), "%.*s", (int)(at + all - told), told);
		error = database_row(&w->database, table, "itt", id, name, label);
		rows = at + all + (at[all] == '|');
	}
	return error;
}

/* Until 2022 there was but this one, and under another name. */
static int unwind_methods_put(struct writing *w)
{
	static const char *const names[] = {"Unknown", "FramePointer", "UnwindTable",
		"LR_FramePointer", "LR_UnwindTable", "KernelContext", "DWARF_EH", "DWARF_DF",
		"LBR"};
	int error = 0;
	for (int64_t i = 0; !error && i < 9; i++)
		error = database_row(&w->database, "UnwindMethodType", "it", i, names[i]);
	return error;
}

static int enums_put(struct writing *w)
{
	const enum nsys_generation g = w->database.generation;
	int error = unwind_methods_put(w);
	for (size_t i = 0; !error && i < sizeof(enums) / sizeof(enums[0]); i++)
		if (g != NSYS_2_9 &&
			nsys_mark_lets(enums[i].generations, strlen(enums[i].generations), g))
			error = enum_put(w, enums[i].name, enums[i].prefix, enums[i].rows);
	return error;
}

/* What the numbers of events.def mean in the LIBTRACE tables. */
static int own_enum_put(
	struct writing *w, const struct schema_event *e, const struct schema_field *f)
{
	char table[96];
	int error = 0;
	if (!schema_value_name(f, 0))
		return 0;
	snprintf(table, sizeof(table), "LIBTRACE_ENUM_%s_%s", e->name, f->column);
	for (char *c = table; *c; c++)
		*c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
	error = database_table(&w->database, table, ENUM_COLUMNS);
	for (int64_t n = 0; !error && n < ENUM_NUMBERS; n++) {
		const char *name = schema_value_name(f, n);
		if (f->kind == FIELD_KIND_METHOD && n > 15)
			break; /* the rest are marks */
		if (strcmp(name, "?"))
			error = database_row(&w->database, table, "itt", n, name, name);
	}
	return error;
}

int writing_enums(struct writing *w)
{
	const struct schema_event *e;
	int error = enums_put(w);
	for (uint32_t n = 0; (e = schema_event_at(n)); n++)
		for (uint32_t i = 0; !error && i < e->field_count; i++)
			error = own_enum_put(w, e, &e->fields[i]);
	return error;
}
