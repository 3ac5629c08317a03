/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows_table.c - printer of tables of texts for `trace details`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/ncu/pages/details.h"

int details_rows_add(struct details_rows *t, const char *text)
{
	if (array_room(&t->cells, t->count, &t->capacity, sizeof(*t->cells)))
		return -ENOMEM;
	t->cells[t->count] = strdup(text ? text : "");
	return t->cells[t->count++] ? 0 : -ENOMEM;
}

void details_rows_release(struct details_rows *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct details_rows){0};
}

#define COLUMNS_MAX 16u
#define FIRST_COLUMNS 110u /* greatest width of the first column on a terminal */

static void print_rule(const size_t *widths, size_t columns, int indent, FILE *out)
{
	fprintf(out, "%*s", indent, "");
	for (size_t i = 0; i < columns; i++) {
		if (i)
			fputc(' ', out);
		for (size_t n = 0; n < widths[i]; n++)
			fputc('-', out);
	}
	fputc('\n', out);
}

size_t details_line_take(const char *text, size_t length, size_t width, bool words)
{
	size_t blank = width;
	if (length <= width)
		return length;
	while (words && blank && text[--blank] != ' ')
		;
	if (words && blank)
		return blank;
	while (width > 1 && ((unsigned char)text[width] & 0xc0) == 0x80)
		width--;
	return width;
}

/* Print one row; a text longer than its column continues in the lines below. */
static void print_row(const struct details_rows *t, const char *const *cells, const size_t *widths,
	int indent, bool words, FILE *out)
{
	const char *at[COLUMNS_MAX];
	bool more = true;
	for (size_t i = 0; i < t->columns && i < COLUMNS_MAX; i++)
		at[i] = cells[i];
	while (more) {
		more = false;
		fprintf(out, "%*s", indent, "");
		for (size_t i = 0; i < t->columns && i < COLUMNS_MAX; i++) {
			size_t bytes = details_line_take(
				at[i], strnlen(at[i], widths[i] + 1), widths[i], words && i);
			fprintf(out, t->left >> i & 1 ? "%s%-*.*s" : "%s%*.*s", i ? " " : "",
				(int)widths[i], (int)bytes, at[i]);
			at[i] += bytes;
			more |= *at[i] != 0;
		}
		fputc('\n', out);
	}
}

/* Set the widths of the columns, so that the longest texts fit if they are not too long. */
static void set_widths(
	const struct details_rows *t, size_t columns, size_t most, size_t ret_widths[COLUMNS_MAX])
{
	for (size_t i = 0; i < columns; i++)
		ret_widths[i] = t->widths ? t->widths[i][0] : strlen(t->titles[i]);
	if (columns && ret_widths[columns - 1] < t->last_least)
		ret_widths[columns - 1] = most && t->last_least > most ? most : t->last_least;
	for (size_t i = 0; i < t->count; i++) {
		const size_t column = i % columns;
		size_t bytes = strlen(t->cells[i]), *width = &ret_widths[column];
		if (column + 1 == columns && most && bytes > most)
			bytes = most;
		if (column == 0 && bytes > FIRST_COLUMNS)
			bytes = FIRST_COLUMNS;
		if (t->widths && bytes > t->widths[column][1])
			bytes = t->widths[column][1];
		*width = bytes > *width ? bytes : *width;
	}
}

void details_rows_print(
	const struct details_rows *t, FILE *out, int indent, size_t most, bool words)
{
	size_t widths[COLUMNS_MAX] = {0};
	const size_t columns = t->columns < COLUMNS_MAX ? t->columns : COLUMNS_MAX;
	set_widths(t, columns, most, widths);
	if (t->lines != LINE_BELOW_TITLES)
		print_rule(widths, columns, indent, out);
	print_row(t, t->titles, widths, indent, words, out);
	print_rule(widths, columns, indent, out);
	for (size_t i = 0; i < t->count; i += columns)
		print_row(t, (const char *const *)t->cells + i, widths, indent, words, out);
	if (t->lines == LINES_ROUND_ALL)
		print_rule(widths, columns, indent, out);
}
