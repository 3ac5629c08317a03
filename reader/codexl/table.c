/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - parser for tables of CodeXL: performance counters and occupancy of kernels. */
#include "reader/codexl/table.h"

#include <stdio.h>

#include "reader/codexl/state.h"

/* Read a cell, up to the next separator. line->at is NULL after the last cell. NULL = out of
 * memory. */
static struct codexl_cell *cell_take(struct codexl_file *f, struct codexl_words *line)
{
	const char *end = memchr(line->at, f->state->separator, (size_t)(line->end - line->at));
	const struct codexl_words words = {line->at, end ? end : line->end};
	const struct codexl_word word = codexl_rest(&words);
	struct codexl_cell *cell = CODEXL_ADD(f->cells);
	line->at = end ? end + 1 : NULL;
	if (!cell)
		return NULL;
	*cell = (struct codexl_cell){.row = f->row_count,
		.blanks_before = (uint32_t)(word.at - words.at),
		.blanks_behind = (uint32_t)(words.end - word.at - (ptrdiff_t)word.bytes),
		.value = codexl_text(f, word)};
	return cell->value ? cell : NULL;
}

static int columns_take(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_state *s = f->state;
	while (line.at) {
		if (s->column_count == CODEXL_COLUMNS_MAX)
			return codexl_wrong(f, "more than %u columns", CODEXL_COLUMNS_MAX);
		struct codexl_cell *cell = cell_take(f, &line);
		if (!cell)
			return -ENOMEM;
		s->columns[s->column_count++] = cell->name = cell->value;
	}
	return 0;
}

static int row_take(struct codexl_file *f, struct codexl_words line)
{
	struct codexl_state *s = f->state;
	f->row_count++;
	for (uint32_t i = 0; line.at; i++) {
		if (i == s->column_count)
			return codexl_wrong(f, "more cells than the %u columns", s->column_count);
		struct codexl_cell *cell = cell_take(f, &line);
		if (!cell)
			return -ENOMEM;
		cell->name = s->columns[i];
	}
	return 0;
}

static int comment_take(struct codexl_file *f, struct codexl_words line)
{
	line.at++;
	if (f->state->column_count)
		return codexl_wrong(f, "header line after the start of the table");
	int error = codexl_header_line(f, line);
	const char *separator = codexl_file_header(f, "ListSeparator");
	if (!error && *separator)
		f->state->separator = *separator;
	return error;
}

/* Return true if the table has a column of this name. */
static bool has_column(const struct codexl_state *s, const char *name)
{
	for (uint32_t i = 0; i < s->column_count; i++)
		if (!strcmp(s->columns[i], name))
			return true;
	return false;
}

int codexl_table_line(struct codexl_file *f, struct codexl_words line)
{
	static const char *const wanted[] = {
		[CODEXL_COUNTERS] = "Method", [CODEXL_OCCUPANCY] = "Kernel Name"};
	struct codexl_state *s = f->state;
	if (line.at < line.end && *line.at == '#')
		return comment_take(f, line);
	if (!codexl_rest(&line).bytes)
		return 0;
	if (s->column_count)
		return row_take(f, line);
	int error = columns_take(f, line);
	if (!error && !has_column(s, wanted[f->format]))
		return codexl_wrong(
			f, "not a table of CodeXL: column %s is missing", wanted[f->format]);
	return error;
}

int codexl_table_end(struct codexl_file *f)
{
	return f->state->column_count ? 0 : codexl_wrong(f, "column names are missing");
}
