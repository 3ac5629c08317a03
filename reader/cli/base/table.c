/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - rows of statistics, and the formats they are printed in.
 */
#define _GNU_SOURCE
#include "reader/cli/base/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/base/print.h"
#include "reader/cli/base/table_fold.h"

void table_init(struct table *t, const struct table_column *columns, size_t count)
{
	*t = (struct table){.columns = columns, .column_count = count};
}

static void cells_release(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i]);
	t->count = 0;
}

void table_release(struct table *t)
{
	cells_release(t);
	free(t->cells);
	free(t->widths);
	*t = (struct table){0};
}

void table_cell(struct table *t, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	if (t->broken || array_room(&t->cells, t->count, &t->capacity, sizeof(*t->cells)) ||
		vasprintf(&text, format, arguments) < 0)
		t->broken = true;
	else
		t->cells[t->count++] = text;
	va_end(arguments);
}

void table_text(struct table *t, const char *text)
{
	char *copy = strdup(text);
	if (!copy || t->broken ||
		array_room(&t->cells, t->count, &t->capacity, sizeof(*t->cells))) {
		free(copy);
		t->broken = true;
	} else {
		t->cells[t->count++] = copy;
	}
}

void table_null(struct table *t)
{
	if (t->broken || array_room(&t->cells, t->count, &t->capacity, sizeof(*t->cells)))
		t->broken = true;
	else
		t->cells[t->count++] = NULL;
}

static const struct {
	const char *title;    /* "(us)" */
	const char *names[3]; /* the first is the name that nsys prints */
	long double ns;
	int decimals;
} times[] = {
	{"(ns)", {"nsec", "nanoseconds", "ns"}, 1, 0},
	{"(us)", {"usec", "microseconds", "us"}, 1e3L, 3},
	{"(ms)", {"msec", "milliseconds", "ms"}, 1e6L, 4},
	{"(sec)", {"seconds", "seconds", "s"}, 1e9L, 4},
};

bool table_time_named(const char *name, enum table_time *ret_time)
{
	for (size_t i = 0; *name && i < sizeof(times) / sizeof(times[0]); i++)
		for (size_t n = 0; n < 3; n++)
			if (!strncmp(times[i].names[n], name, strlen(name))) {
				*ret_time = (enum table_time)i;
				return true;
			}
	return false;
}

enum table_format table_format_named(const char *name)
{
	if (!name || !strcmp(name, "table") || !strcmp(name, "column"))
		return TABLE_ALIGNED;
	return !strcmp(name, "csv") ? TABLE_CSV : !strcmp(name, "tsv") ? TABLE_TSV : TABLE_JSON;
}

static bool is_time(const struct table *t, size_t column)
{
	const char *title = t->columns[column].title;
	size_t length = t->time != TABLE_NS ? strlen(title) : 0;
	return length > 4 && !strcmp(title + length - 4, "(ns)");
}

/* Return a column's title with the unit that is printed. */
static const char *title_of(const struct table *t, size_t column, char *room, size_t bytes)
{
	const char *title = t->columns[column].title;
	if (!is_time(t, column))
		return title;
	snprintf(room, bytes, "%.*s%s", (int)strlen(title) - 4, title, times[t->time].title);
	return room;
}

#define TITLE_BYTES 128

/* Return the text of a cell in the unit that is printed; "" if it has no value. */
static const char *text_of(const struct table *t, size_t cell, char *room, size_t bytes)
{
	const char *text = t->cells[cell];
	if (!text || !*text || !is_time(t, cell % t->column_count))
		return text ? text : "";
	snprintf(room, bytes, "%.*Lf", times[t->time].decimals,
		strtold(text, NULL) / times[t->time].ns);
	return room;
}

bool table_is_id(const struct table_column *column)
{
	static const char *const ends[] = {"ID", "Id", "Pid", "Tid", "Descriptor"};
	const size_t length = strlen(column->title);
	bool is_id = false;
	for (size_t i = 0; !column->is_text && i < sizeof(ends) / sizeof(*ends); i++)
		is_id |= length >= strlen(ends[i]) &&
			!strcmp(column->title + length - strlen(ends[i]), ends[i]);
	return is_id;
}

/* Insert commas between the thousands of "1234567.8". */
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

/* Return the text of a cell as it is printed: digits grouped, control characters visible. The
 * caller frees it. */
static char *shown(const struct table *t, size_t cell)
{
	char *text = NULL, number[160], room[TITLE_BYTES];
	const char *plain = text_of(t, cell, room, sizeof(room));
	size_t bytes;
	const struct table_column *column = &t->columns[cell % t->column_count];
	if (!column->is_text && !table_is_id(column) && strlen(plain) < TITLE_BYTES) {
		group(plain, number, sizeof(number));
		return strdup(number);
	}
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	print_text(out, plain, strlen(plain));
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

/* Shorten a text to `most` characters, three of them dots. */
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
	char room[TITLE_BYTES];
	for (size_t i = 0; i < t->column_count; i++) {
		const char *title = title_of(t, i, room, sizeof(room));
		size_t pad = widths[i] - width_of(title);
		spaces(out, (i ? 2 : 1) + pad / 2);
		fputs(title, out);
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

/* Format all cells; increase `widths` where a text is wider. */
static bool cells_shown(const struct table *t, char **texts, size_t *widths)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct table_column *column = &t->columns[i % t->column_count];
		size_t *most = &widths[i % t->column_count];
		texts[i] = shown(t, i);
		if (!texts[i])
			return false;
		if (column->is_text)
			shorten(texts[i], column->most, column->keep_end);
		size_t width = width_of(texts[i]);
		*most = width > *most ? width : *most;
	}
	return true;
}

static bool widths_begin(struct table *t)
{
	char room[TITLE_BYTES];
	t->widths = calloc(t->column_count, sizeof(*t->widths));
	for (size_t i = 0; t->widths && i < t->column_count; i++)
		t->widths[i] = width_of(title_of(t, i, room, sizeof(room)));
	return t->widths;
}

static size_t row_width(const struct table *t)
{
	size_t width = 1;
	for (size_t i = 0; i < t->column_count; i++)
		width += t->widths[i] + (i ? 2 : 0);
	return width;
}

struct titles {
	const struct table *t;
	char room[TITLE_BYTES];
};

static const char *titles_get(void *user, size_t column)
{
	struct titles *titles = user;
	return title_of(titles->t, column, titles->room, sizeof(titles->room));
}

static void print_row(const struct table *t, char *const *texts, FILE *out)
{
	struct titles titles = {.t = t};
	if (t->folded) {
		table_row_folded(out, t->columns, t->column_count, texts, t->widths);
		return;
	}
	if (t->listed) {
		table_row_listed(out, t->column_count, texts, t->width, titles_get, &titles);
		fputc('\n', out);
		return;
	}
	for (size_t i = 0; i < t->column_count; i++) {
		size_t pad = t->widths[i] - width_of(texts[i]);
		bool is_text = t->columns[i].is_text;
		spaces(out, (i ? 2 : 1) + (is_text ? 0 : pad));
		fputs(texts[i], out);
		spaces(out, is_text ? pad : 0);
	}
	fputc('\n', out);
}

/* Fit the held rows to the terminal. Text columns keep the widths `before` of the rows printed
 * earlier; NULL = no row was printed yet. */
static void widths_fit(struct table *t, const size_t *before)
{
	if (!t->width || t->listed || row_width(t) <= t->width)
		return;
	for (size_t i = 0; before && i < t->column_count; i++)
		if (t->columns[i].is_text && t->widths[i])
			t->widths[i] = before[i] ? before[i] : 1;
	t->folded = table_narrow(t->columns, t->column_count, t->widths, t->width);
	t->listed = !t->folded;
}

static int print_aligned(struct table *t, FILE *out)
{
	char **texts = calloc(t->count + 1, sizeof(*texts));
	size_t *before = calloc(t->column_count + 1, sizeof(*before));
	bool heading = !t->widths;
	bool complete = texts && before && (t->widths || widths_begin(t));
	if (complete)
		memcpy(before, t->widths, t->column_count * sizeof(*before));
	complete = complete && cells_shown(t, texts, t->widths);
	if (complete)
		widths_fit(t, heading ? NULL : before);
	if (complete && heading && !t->listed)
		print_heading(t, t->widths, out);
	for (size_t i = 0; complete && i < t->count; i += t->column_count)
		print_row(t, texts + i, out);
	for (size_t i = 0; texts && i < t->count; i++)
		free(texts[i]);
	free(before);
	free(texts);
	return complete ? 0 : -ENOMEM;
}

static void print_separated(const char *text, char separator, FILE *out)
{
	const bool is_csv = separator == ',';
	size_t plain = strcspn(text, is_csv ? ",\"\n\r" : "\t\n\r");
	if (!text[plain]) {
		fwrite(text, 1, plain, out);
		return;
	}
	if (is_csv)
		fputc('"', out);
	for (size_t bytes; *text; text += bytes + (text[bytes] != 0)) {
		bytes = strcspn(text, is_csv ? "\"" : "\t\n\r");
		fwrite(text, 1, bytes, out);
		if (text[bytes])
			fputs(is_csv ? "\"\"" : " ", out);
	}
	if (is_csv)
		fputc('"', out);
}

static void print_lines(const struct table *t, char separator, FILE *out)
{
	char room[TITLE_BYTES];
	for (size_t i = 0; !t->begun && i < t->column_count; i++) {
		print_separated(title_of(t, i, room, sizeof(room)), separator, out);
		fputc(i + 1 < t->column_count ? separator : '\n', out);
	}
	for (size_t i = 0; i < t->count; i++) {
		print_separated(text_of(t, i, room, sizeof(room)), separator, out);
		fputc((i + 1) % t->column_count ? separator : '\n', out);
	}
}

/* Return whether the text is a JSON number. Databases may hold texts in columns of numbers. */
static bool is_json_number(const char *text)
{
	size_t digits = strspn(text + (*text == '-'), "0123456789");
	const char *at = text + (*text == '-');
	if (!digits || (digits > 1 && *at == '0'))
		return false;
	at += digits;
	if (*at == '.' && !(digits = strspn(at + 1, "0123456789")))
		return false;
	at += *at == '.' ? digits + 1 : 0;
	if (*at == 'e' || *at == 'E') {
		at += 1 + (at[1] == '+' || at[1] == '-');
		digits = strspn(at, "0123456789");
		at += digits;
	}
	return digits && !*at;
}

static void print_objects(const struct table *t, FILE *out)
{
	char room[TITLE_BYTES], title[TITLE_BYTES];
	for (size_t i = 0; i < t->count; i++) {
		size_t column = i % t->column_count;
		const char *text = text_of(t, i, room, sizeof(room));
		bool is_text = t->columns[column].is_text;
		fputs(column ? ", " : i || t->begun ? ",\n {" : "[\n {", out);
		print_json_string(out, title_of(t, column, title, sizeof(title)));
		fputs(": ", out);
		if (!t->cells[i] || (!is_text && !*text))
			fputs("null", out);
		else if (!is_text && is_json_number(text))
			fputs(text, out);
		else
			print_json_string(out, text);
		if (column + 1 == t->column_count)
			fputc('}', out);
	}
}

/* Print and release the rows that are held. */
static int rows_print(struct table *t, enum table_format format, FILE *out)
{
	int error = 0;
	if (format == TABLE_ALIGNED)
		error = print_aligned(t, out);
	else if (format == TABLE_JSON)
		print_objects(t, out);
	else
		print_lines(t, format == TABLE_CSV ? ',' : '\t', out);
	t->begun |= format != TABLE_JSON || t->count;
	cells_release(t);
	return error;
}

int table_flow(struct table *t, enum table_format format, FILE *out)
{
	if (t->broken)
		return -ENOMEM;
	return t->count < TABLE_ROWS_HELD * t->column_count ? 0 : rows_print(t, format, out);
}

int table_print(struct table *t, enum table_format format, FILE *out)
{
	int error = t->broken ? -ENOMEM : t->begun && !t->count ? 0 : rows_print(t, format, out);
	if (!error && format == TABLE_JSON)
		fputs(t->begun ? "\n]\n" : "[]\n", out);
	return error;
}
