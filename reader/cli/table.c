#define _GNU_SOURCE
#include "reader/cli/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "reader/print.h"

void table_init(struct table *t, const struct table_column *columns, size_t count)
{
	*t = (struct table){.columns = columns, .column_count = count};
}

void table_release(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct table){0};
}

static bool make_room(struct table *t)
{
	if (t->count < t->capacity)
		return true;
	size_t more = t->capacity ? t->capacity * 2 : 64;
	char **cells = realloc(t->cells, more * sizeof(*cells));
	if (!cells)
		return false;
	t->cells = cells;
	t->capacity = more;
	return true;
}

void table_cell(struct table *t, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	if (t->broken || !make_room(t) || vasprintf(&text, format, arguments) < 0)
		t->broken = true;
	else
		t->cells[t->count++] = text;
	va_end(arguments);
}

/* Puts commas between the thousands of "1234567.8". */
static void group(const char *number, char *out, size_t bytes)
{
	size_t whole = strcspn(number, "."), at = 0, sign = number[0] == '-';
	for (size_t i = 0; number[i] && at + 2 < bytes; i++) {
		if (i > sign && i < whole && (whole - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = number[i];
	}
	out[at] = 0;
}

/* Text as it is shown: numbers grouped, controls of texts visible. The caller frees. */
static char *shown(const struct table *t, size_t cell)
{
	char *text = NULL, number[128];
	size_t bytes;
	if (!t->columns[cell % t->column_count].is_text) {
		group(t->cells[cell], number, sizeof(number));
		return strdup(number);
	}
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	print_text(out, t->cells[cell], strlen(t->cells[cell]));
	fclose(out);
	return text;
}

static size_t width_of(const char *text)
{
	size_t width = 0;
	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

#define DOTS 3u

/* Leaves `most` characters of it, three of them dots. */
static void shorten(char *text, uint32_t most, bool keep_end)
{
	size_t width = width_of(text), kept = most - DOTS;
	if (!most || width <= most)
		return;
	size_t skip = keep_end ? width - kept : kept;
	char *at = text;
	for (size_t n = 0; *at && (n < skip || ((unsigned char)*at & 0xc0) == 0x80); at++)
		n += ((unsigned char)at[1] & 0xc0) != 0x80;
	if (keep_end) {
		memmove(text + DOTS, at, strlen(at) + 1);
		memset(text, '.', DOTS);
	} else {
		memset(at, '.', DOTS);
		at[DOTS] = 0;
	}
}

static void spaces(FILE *out, size_t count)
{
	fprintf(out, "%*s", (int)count, "");
}

static void print_heading(const struct table *t, const size_t *widths, FILE *out)
{
	for (size_t i = 0; i < t->column_count; i++) {
		size_t pad = widths[i] - width_of(t->columns[i].title);
		spaces(out, (i ? 2 : 1) + pad / 2);
		fputs(t->columns[i].title, out);
		spaces(out, pad - pad / 2);
	}
	fputc('\n', out);
	for (size_t i = 0; i < t->column_count; i++) {
		spaces(out, i ? 2 : 1);
		for (size_t n = 0; n < widths[i]; n++)
			fputc('-', out);
	}
	fputc('\n', out);
}

static int print_aligned(const struct table *t, FILE *out)
{
	char **texts = calloc(t->count + 1, sizeof(*texts));
	size_t *widths = calloc(t->column_count, sizeof(*widths));
	bool complete = texts && widths;
	for (size_t i = 0; complete && i < t->column_count; i++)
		widths[i] = width_of(t->columns[i].title);
	for (size_t i = 0; complete && i < t->count; i++) {
		const struct table_column *column = &t->columns[i % t->column_count];
		texts[i] = shown(t, i);
		complete = texts[i] != NULL;
		if (complete && column->is_text)
			shorten(texts[i], column->most, column->keep_end);
		size_t width = complete ? width_of(texts[i]) : 0,
		       *most = &widths[i % t->column_count];
		*most = width > *most ? width : *most;
	}
	if (complete)
		print_heading(t, widths, out);
	for (size_t i = 0; complete && i < t->count; i++) {
		size_t column = i % t->column_count, pad = widths[column] - width_of(texts[i]);
		bool is_text = t->columns[column].is_text;
		spaces(out, (column ? 2 : 1) + (is_text ? 0 : pad));
		fputs(texts[i], out);
		spaces(out, is_text ? pad : 0);
		if (column + 1 == t->column_count)
			fputc('\n', out);
	}
	for (size_t i = 0; texts && i < t->count; i++)
		free(texts[i]);
	free(texts);
	free(widths);
	return complete ? 0 : -ENOMEM;
}

static void print_separated(const char *text, char separator, FILE *out)
{
	bool quote = separator == ',' ? strpbrk(text, ",\"\n\r") != NULL : false;
	if (quote)
		fputc('"', out);
	for (; *text; text++) {
		if (quote && *text == '"')
			fputc('"', out);
		fputc(separator == '\t' && (*text == '\t' || *text == '\n' || *text == '\r')
				? ' '
				: *text,
			out);
	}
	if (quote)
		fputc('"', out);
}

static void print_lines(const struct table *t, char separator, FILE *out)
{
	for (size_t i = 0; i < t->column_count; i++) {
		print_separated(t->columns[i].title, separator, out);
		fputc(i + 1 < t->column_count ? separator : '\n', out);
	}
	for (size_t i = 0; i < t->count; i++) {
		print_separated(t->cells[i], separator, out);
		fputc((i + 1) % t->column_count ? separator : '\n', out);
	}
}

static void print_objects(const struct table *t, FILE *out)
{
	fputs("[", out);
	for (size_t i = 0; i < t->count; i++) {
		const struct table_column *column = &t->columns[i % t->column_count];
		fputs(i % t->column_count ? ", " : i ? ",\n {" : "\n {", out);
		print_json_string(out, column->title);
		fputs(": ", out);
		if (column->is_text)
			print_json_string(out, t->cells[i]);
		else
			fputs(*t->cells[i] ? t->cells[i] : "null", out);
		if ((i + 1) % t->column_count == 0)
			fputc('}', out);
	}
	fputs(t->count ? "\n]\n" : "]\n", out);
}

int table_print(const struct table *t, enum table_format format, FILE *out)
{
	if (t->broken)
		return -ENOMEM;
	switch (format) {
	case TABLE_ALIGNED:
		return print_aligned(t, out);
	case TABLE_CSV:
		print_lines(t, ',', out);
		break;
	case TABLE_TSV:
		print_lines(t, '\t', out);
		break;
	case TABLE_JSON:
		print_objects(t, out);
		break;
	}
	return 0;
}
