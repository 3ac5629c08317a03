/* SPDX-License-Identifier: Apache-2.0 */
/* bulk_table.c - buffer of rows that are inserted many at a time. */
#include "reader/export/sqlite/bulk_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

/* Return the name of the table in the file. */
static const char *stored_name(const struct bulk_table *t)
{
	return t->definition ? t->name
			     : nsys_table_name(nsys_table_named(t->name), t->database->generation);
}

#ifndef HAVE_SQLITE

static int insert(struct bulk_table *t)
{
	(void)t;
	return -ENOSYS;
}

static void statement_end(struct bulk_table *t)
{
	(void)t;
}

#else

/* Prepare the statement that inserts `rows` rows. */
static sqlite3_stmt *prepare(const struct bulk_table *t, uint32_t rows)
{
	sqlite3_stmt *s = NULL;
	sqlite3_str *sql = sqlite3_str_new(t->database->connection);
	sqlite3_str_appendf(sql, "INSERT INTO \"%w\" VALUES ", stored_name(t));
	for (uint32_t row = 0; row < rows; row++)
		for (uint32_t i = 0; i < t->columns; i++)
			sqlite3_str_appendall(sql, i ? ",?" : row ? "),(?" : "(?");
	sqlite3_str_appendall(sql, ")");
	char *text = sqlite3_str_finish(sql);
	if (text)
		sqlite3_prepare_v2(t->database->connection, text, -1, &s, NULL);
	sqlite3_free(text);
	return s;
}

static int bind(sqlite3_stmt *s, int parameter, const struct cell *cell, const char *texts)
{
	switch (cell->kind) {
	case CELL_INTEGER:
		return sqlite3_bind_int64(s, parameter, cell->integer);
	case CELL_REAL:
		return sqlite3_bind_double(s, parameter, cell->real);
	case CELL_TEXT:
		return sqlite3_bind_text(
			s, parameter, texts + cell->offset, (int)cell->bytes, SQLITE_STATIC);
	case CELL_NULL:
		break;
	}
	return sqlite3_bind_null(s, parameter);
}

/* Insert the buffered rows. The statement for a full buffer is kept with its values: only cells
 * that have changed since the last time are bound again. */
static int insert(struct bulk_table *t)
{
	const bool is_full = t->buffered == t->room;
	const uint32_t count = t->buffered * t->columns;
	sqlite3_stmt *s = is_full && t->statement ? t->statement : prepare(t, t->buffered);
	int code = s ? SQLITE_OK : SQLITE_ERROR;
	for (uint32_t i = 0; !code && i < count; i++)
		if (t->changed[i] || !is_full)
			code = bind(s, (int)i + 1, &t->cells[i], t->texts ? t->texts : "");
	if (is_full)
		memset(t->changed, 0, count);
	if (!code && sqlite3_step(s) != SQLITE_DONE)
		code = SQLITE_ERROR;
	int error = code ? database_failed(t->database) : 0;
	if (is_full)
		t->statement = s;
	if (is_full && s)
		sqlite3_reset(s);
	else
		sqlite3_finalize(s);
	return error;
}

static void statement_end(struct bulk_table *t)
{
	sqlite3_finalize(t->statement);
	t->statement = NULL;
}

#endif

static int flush(struct bulk_table *t)
{
	int error = t->buffered ? insert(t) : 0;
	t->buffered = 0;
	t->text_bytes = 0;
	return error;
}

static void buffer_free(struct bulk_table *t)
{
	statement_end(t);
	free(t->cells);
	free(t->changed);
	free(t->texts);
	t->cells = NULL;
	t->changed = NULL;
	t->texts = NULL;
	t->buffered = 0;
	t->text_bytes = t->text_room = 0;
}

static int no_memory(struct bulk_table *t)
{
	snprintf(t->database->cause, sizeof(t->database->cause), "%s", strerror(ENOMEM));
	return -ENOMEM;
}

int bulk_table_begin(
	struct bulk_table *t, struct database *d, const char *name, const char *definition)
{
	*t = (struct bulk_table){.name = strdup(name)};
	if (definition)
		t->definition = strdup(definition);
	if (!t->name || (definition && !t->definition)) {
		bulk_table_release(t);
		return -ENOMEM;
	}
	t->database = d;
	return 0;
}

/* Create the table and the buffer. */
static int create(struct bulk_table *t)
{
	int error = database_table(t->database, t->name, t->definition);
	if (!error)
		error = database_columns(t->database, stored_name(t), &t->columns);
	if (error)
		return error;
	for (uint32_t i = 0; i < t->columns && i < NSYS_COLUMNS; i++)
		t->places[i] = t->definition ? (uint8_t)i : t->database->shape.places[i];
	if (!t->columns || t->columns > NSYS_COLUMNS)
		return -EINVAL;
	t->room = BULK_VARIABLES / t->columns;
	t->room = t->room < BULK_ROWS ? t->room : BULK_ROWS;
	buffer_free(t);
	/* all cells are NULL, like the parameters of a new statement */
	t->cells = calloc((size_t)t->room * t->columns, sizeof(*t->cells));
	t->changed = calloc((size_t)t->room * t->columns, 1);
	return t->cells && t->changed ? 0 : no_memory(t);
}

/* Reserve room for a row. *ret_first: index of its first cell. */
static int row_begin(struct bulk_table *t, uint32_t *ret_first)
{
	int error = t->changed ? 0 : create(t);
	if (!error && (t->buffered == t->room || t->text_bytes > BULK_TEXT_BYTES))
		error = flush(t);
	*ret_first = t->buffered * t->columns;
	return error;
}

static inline void cell_set(struct bulk_table *t, uint32_t index, struct cell value)
{
	struct cell *cell = &t->cells[index];
	if (value.kind == CELL_NULL)
		value.integer = 0;
	if (value.kind == cell->kind && value.integer == cell->integer && value.kind != CELL_TEXT)
		return;
	*cell = value;
	t->changed[index] = 1;
}

int bulk_table_numbers(struct bulk_table *t, const int64_t *values, uint64_t nulls)
{
	uint32_t first;
	int error = row_begin(t, &first);
	if (error)
		return error;
	for (uint32_t i = 0; i < t->columns; i++) {
		const uint32_t place = t->places[i];
		cell_set(t, first + i,
			(struct cell){.kind = nulls >> place & 1 ? CELL_NULL : CELL_INTEGER,
				.integer = values[place]});
	}
	t->buffered++;
	t->rows++;
	return 0;
}

/* Append a copy of a text to the buffered texts; *cell then refers to the copy. */
static int text_keep(struct bulk_table *t, struct cell *cell)
{
	const char *text = cell->text;
	uint32_t bytes = cell->bytes < BULK_TEXT_MAX ? cell->bytes : BULK_TEXT_MAX;
	while (bytes && bytes < cell->bytes && (text[bytes] & 0xc0) == 0x80)
		bytes--; /* truncate between characters */
	if (t->text_bytes + bytes > t->text_room) {
		const size_t wanted = t->text_bytes + bytes,
			     room = wanted < BULK_TEXT_BYTES ? BULK_TEXT_BYTES : wanted;
		char *texts = realloc(t->texts, room);
		if (!texts)
			return no_memory(t);
		t->texts = texts;
		t->text_room = room;
	}
	if (bytes)
		memcpy(t->texts + t->text_bytes, text, bytes);
	cell->offset = t->text_bytes;
	cell->bytes = bytes;
	t->text_bytes += bytes;
	return 0;
}

int bulk_table_row(struct bulk_table *t, const struct cell *values)
{
	uint32_t first;
	int error = row_begin(t, &first);
	for (uint32_t i = 0; !error && i < t->columns; i++) {
		struct cell value = values[t->places[i]];
		if (value.kind == CELL_TEXT)
			error = text_keep(t, &value);
		if (!error)
			cell_set(t, first + i, value);
	}
	if (error)
		return error;
	t->buffered++;
	t->rows++;
	return 0;
}

int bulk_table_end(struct bulk_table *t)
{
	int error = flush(t);
	buffer_free(t);
	return error;
}

void bulk_table_release(struct bulk_table *t)
{
	buffer_free(t);
	free(t->name);
	free(t->definition);
	*t = (struct bulk_table){0};
}
