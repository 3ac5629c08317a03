/* SPDX-License-Identifier: Apache-2.0 */
/* nsys.c - lookup of nsys's tables, and parser for their column definitions. */
#include "reader/export/sqlite/nsys.h"

#include <string.h>

static const struct {
	const char *name, *generations, *columns;
} tables[] = {
#define TABLE(name, generations, columns) {#name, generations, columns},
#include "reader/export/sqlite/nsys_tables.def"
};

static const struct {
	enum nsys_table table;
	const char *name;
} old_names[] = {
#define OLD_NAME(table, name) {NSYS_##table, name},
#include "reader/export/sqlite/nsys_tables.def"
};

static const char *const generation_names[NSYS_GENERATIONS] = {
	[NSYS_3_24] = "3.24", [NSYS_3_4] = "3.4", [NSYS_2_9] = "2.9"};

bool nsys_generation_named(const char *name, enum nsys_generation *ret_generation)
{
	for (uint32_t i = 0; i < NSYS_GENERATIONS; i++)
		if (!strcmp(name, generation_names[i])) {
			*ret_generation = i;
			return true;
		}
	return false;
}

const char *nsys_table_name(enum nsys_table table, enum nsys_generation generation)
{
	for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]); i++)
		if (generation == NSYS_2_9 && old_names[i].table == table)
			return old_names[i].name;
	return tables[table].name;
}

enum nsys_table nsys_table_named(const char *name)
{
	uint32_t i = 0;
	while (i < NSYS_TABLES && strcmp(tables[i].name, name))
		i++;
	return i;
}

/* Later generations have smaller numbers. */
bool nsys_mark_admits(const char *mark, size_t bytes, enum nsys_generation generation)
{
	for (uint32_t i = 0; bytes && i < NSYS_GENERATIONS; i++)
		if (!strncmp(generation_names[i], mark + 1, bytes - 1) &&
			!generation_names[i][bytes - 1])
			return *mark == '+' ? generation <= i : generation >= i;
	return true;
}

/* A column of a table definition. */
struct column_text {
	const char *at;
	size_t bytes; /* length without the mark */
	const char *mark;
	size_t mark_bytes;
};

/* Parse the next column at *from and advance it. Returns false after the last column, at the end of
 * the definition or at the primary key. */
static bool column_next(const char **from, struct column_text *ret_column)
{
	const char *at = *from;
	if (!*at || !strncmp(at, "PRIMARY KEY (", 13))
		return false;
	size_t all = strcspn(at, ","), bytes = strcspn(at, "+-,");
	ret_column->at = at;
	ret_column->mark = at + bytes;
	ret_column->mark_bytes = all - bytes;
	while (bytes && at[bytes - 1] == ' ')
		bytes--;
	ret_column->bytes = bytes;
	*from = at + all + (at[all] ? 2 : 0);
	return true;
}

/* Append a part to the definition. */
static void sql_add(struct nsys_shape *s, const char *text, size_t bytes)
{
	size_t used = strlen(s->sql);
	if (used + bytes + 3 > sizeof(s->sql))
		return;
	if (used) {
		memcpy(s->sql + used, ", ", 2);
		used += 2;
	}
	memcpy(s->sql + used, text, bytes);
	s->sql[used + bytes] = 0;
}

/* Return the length of a column without " NOT NULL" at its end. */
static size_t bytes_nullable(const struct column_text *c)
{
	static const char mark[] = " NOT NULL";
	const size_t bytes = sizeof(mark) - 1;
	return c->bytes > bytes && !memcmp(c->at + c->bytes - bytes, mark, bytes) ? c->bytes - bytes
										  : c->bytes;
}

void nsys_table_shape(enum nsys_table table, enum nsys_generation generation, uint64_t nullable,
	struct nsys_shape *ret_shape)
{
	struct column_text c;
	const char *at = tables[table].columns, *mark = tables[table].generations;
	ret_shape->columns = 0;
	*ret_shape->sql = 0;
	if (!nsys_mark_admits(mark, strlen(mark), generation))
		return;
	for (uint8_t i = 0; i < NSYS_COLUMNS && column_next(&at, &c); i++) {
		if (!nsys_mark_admits(c.mark, c.mark_bytes, generation))
			continue;
		ret_shape->places[ret_shape->columns++] = i;
		sql_add(ret_shape, c.at, nullable >> i & 1 ? bytes_nullable(&c) : c.bytes);
	}
	if (*at)
		sql_add(ret_shape, at, strlen(at));
}

uint32_t nsys_columns(enum nsys_table table)
{
	struct column_text c;
	uint32_t count = 0;
	for (const char *at = tables[table].columns; column_next(&at, &c);)
		count++;
	return count;
}

int nsys_column(enum nsys_table table, const char *name)
{
	struct column_text c;
	const char *at = tables[table].columns;
	size_t bytes = strlen(name);
	for (int i = 0; column_next(&at, &c); i++)
		if (!strncmp(c.at, name, bytes) && c.at[bytes] == ' ')
			return i;
	return -1;
}
