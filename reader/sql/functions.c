/* SPDX-License-Identifier: Apache-2.0 */
/* functions.c - SQL functions for reports: aggregates, window functions, and functions of a row. */
#define _GNU_SOURCE
#include "reader/sql/functions.h"

#ifdef HAVE_SQLITE

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/schema/fnv.h"
#include "reader/base/map.h"
#include "reader/base/pool.h"
#include "reader/stats/durations.h"
#include "reader/report/osrt_class.h"
#include "reader/sql/occupancy_function.h"
#include "reader/sql/sums.h"
#include "reader/symbols/python.h"

#define VALUES_HELD (1u << 17) /* values of a median kept in memory: 1 MiB */
#define SIGN (1ull << 63)

/* ---- median ---- */

struct median {
	struct durations durations;
	uint64_t *held; /* at most VALUES_HELD values; the flipped sign bit keeps their order */
	uint32_t held_count, held_capacity;
	FILE *rest;
};

/* Return the state of an aggregate, zero at first. It is allocated here, because SQLite's memory is
 * not aligned for all types. Returns NULL when out of memory. */
static void *state_of(sqlite3_context *context, size_t bytes)
{
	void **state = sqlite3_aggregate_context(context, sizeof(*state));
	if (state && !*state)
		*state = calloc(1, bytes);
	if (!state || !*state)
		sqlite3_result_error_nomem(context);
	return state ? *state : NULL;
}

/* Return the state of an aggregate; NULL if it has had no row. */
static void *state_known(sqlite3_context *context)
{
	void **state = sqlite3_aggregate_context(context, 0);
	return state ? *state : NULL;
}

static bool is_number(sqlite3_value *v)
{
	int type = sqlite3_value_type(v);
	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static int median_spill(struct median *m)
{
	if (!m->rest)
		m->rest = tmpfile();
	size_t count = m->held_count;
	m->held_count = 0;
	return m->rest && fwrite(m->held, sizeof(*m->held), count, m->rest) == count ? 0 : -EIO;
}

static void median_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	struct median *m = is_number(values[0]) ? state_of(context, sizeof(*m)) : NULL;
	if (!m)
		return;
	if (!m->durations.count)
		durations_init(&m->durations);
	uint64_t value = (uint64_t)sqlite3_value_int64(values[0]) ^ SIGN;
	if (m->held_count == VALUES_HELD && median_spill(m)) {
		sqlite3_result_error(context,
			"not enough space for temporary files; set TMPDIR to another folder", -1);
		return;
	}
	int error = array_room(&m->held, m->held_count, &m->held_capacity, sizeof(*m->held));
	if (!error)
		m->held[m->held_count++] = value;
	if (error || durations_add(&m->durations, value))
		sqlite3_result_error_nomem(context);
}

/* Add all values to `durations` again, for its next pass. */
static int median_again(struct median *m)
{
	uint64_t buffer[512];
	size_t count;
	for (uint32_t i = 0; i < m->held_count; i++)
		durations_again(&m->durations, m->held[i]);
	if (!m->rest)
		return 0;
	rewind(m->rest);
	while ((count = fread(buffer, sizeof(*buffer), 512, m->rest)))
		for (size_t i = 0; i < count; i++)
			durations_again(&m->durations, buffer[i]);
	return ferror(m->rest) ? -EIO : 0;
}

static void median_final(sqlite3_context *context)
{
	struct median *m = state_known(context);
	int more = 1;
	if (!m)
		return;
	while (more == 1 && (more = durations_pass_end(&m->durations)) == 1)
		if (median_again(m))
			more = -EIO;
	const uint64_t *middle = m->durations.middle;
	if (more == -ENOMEM)
		sqlite3_result_error_nomem(context);
	else if (more)
		sqlite3_result_error(context, "cannot read a temporary file of a median", -1);
	else
		sqlite3_result_double(context,
			(double)(((long double)(int64_t)(middle[0] ^ SIGN) +
					 (int64_t)(middle[1] ^ SIGN)) /
				2));
	durations_release(&m->durations);
	if (m->rest)
		fclose(m->rest);
	free(m->held);
	free(m);
}

/* ---- standard deviation: one pass, by Welford's method ---- */

struct deviation {
	uint64_t count;
	long double mean, squares;
};

static void deviation_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	struct deviation *d = is_number(values[0]) ? state_of(context, sizeof(*d)) : NULL;
	if (!d)
		return;
	long double value = sqlite3_value_type(values[0]) == SQLITE_INTEGER
		? (long double)sqlite3_value_int64(values[0])
		: (long double)sqlite3_value_double(values[0]);
	long double before = value - d->mean;
	d->mean += before / (long double)++d->count;
	d->squares += before * (value - d->mean);
}

static void deviation_final(sqlite3_context *context)
{
	struct deviation *d = state_known(context);
	if (d)
		sqlite3_result_double(context,
			d->count > 1 ? (double)sqrtl(d->squares / (long double)(d->count - 1))
				     : 0.0);
	free(d);
}

/* ---- texts as numbers: sorting rows by a number takes less time and room than by a text ---- */

struct texts {
	struct pool pool;
	struct map numbers; /* address of a text in the pool -> its number */
	struct map learned; /* kind and id of a name in the database -> number of its text */
	const char **rows;
	uint32_t count, capacity;
};

static void texts_release(void *texts)
{
	struct texts *t = texts;
	pool_release(&t->pool);
	map_release(&t->numbers);
	map_release(&t->learned);
	free(t->rows);
	free(t);
}

/* Return the number of a text, a new one for a new text; 0 if memory is short. */
static uint32_t number_of_text(struct texts *t, sqlite3_value *value)
{
	const char *text = (const char *)sqlite3_value_text(value);
	const char *kept =
		text ? pool_text(&t->pool, text, (size_t)sqlite3_value_bytes(value)) : NULL;
	uint32_t number = kept ? map_get(&t->numbers, (uint64_t)(uintptr_t)kept, 0) : 0;
	if (kept && !number && !array_room(&t->rows, t->count, &t->capacity, sizeof(*t->rows)) &&
		!map_put(&t->numbers, (uint64_t)(uintptr_t)kept, 0, t->count + 1)) {
		t->rows[t->count] = kept;
		number = ++t->count;
	}
	return number;
}

/* text_number(text): a number that only equal texts have; NULL for NULL. */
static void text_number(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	uint32_t number = number_of_text(sqlite3_user_data(context), values[0]);
	if (number)
		sqlite3_result_int64(context, number);
	else
		sqlite3_result_error_nomem(context);
}

/* learned_number(kind, id): what learn_number() returned for this pair, or NULL. */
static void learned_number(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	const struct texts *t = sqlite3_user_data(context);
	if (sqlite3_value_type(values[1]) != SQLITE_INTEGER)
		return;
	uint32_t number = map_get(&t->learned, (uint64_t)sqlite3_value_int64(values[0]),
		(uint64_t)sqlite3_value_int64(values[1]));
	if (number)
		sqlite3_result_int64(context, number);
}

/*
 * learn_number(kind, id, text): text_number(text), also kept for learned_number(). A report that
 * asks coalesce(learned_number(kind, id), learn_number(kind, id, (SELECT ...))) looks up the text
 * of an id once, not for each row.
 */
static void learn_number(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	struct texts *t = sqlite3_user_data(context);
	if (sqlite3_value_type(values[2]) == SQLITE_NULL)
		return;
	uint32_t number = number_of_text(t, values[2]);
	if (number && sqlite3_value_type(values[1]) == SQLITE_INTEGER &&
		map_put(&t->learned, (uint64_t)sqlite3_value_int64(values[0]),
			(uint64_t)sqlite3_value_int64(values[1]), number))
		number = 0;
	if (number)
		sqlite3_result_int64(context, number);
	else
		sqlite3_result_error_nomem(context);
}

/* number_text(number): the text of a number that text_number() returned; NULL for others. */
static void number_text(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	const struct texts *t = sqlite3_user_data(context);
	const sqlite3_int64 number = sqlite3_value_int64(values[0]);
	if (number > 0 && number <= t->count)
		sqlite3_result_text(context, t->rows[number - 1], -1, SQLITE_STATIC);
}

/* The functions share a table, which lives as long as the connection. */
static int texts_functions_add(struct sql *s)
{
	static const struct {
		const char *name;
		int arguments;
		void (*call)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{"number_text", 1, number_text},
		{"learned_number", 2, learned_number},
		{"learn_number", 3, learn_number},
	};
	const int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
	struct texts *t = calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	int code =
		sqlite3_create_function_v2(s->connection, "text_number", 1, flags, t, text_number,
			NULL, NULL, texts_release); /* calls texts_release() if it fails, too */
	for (size_t i = 0; !code && i < sizeof(functions) / sizeof(functions[0]); i++)
		code = sqlite3_create_function(s->connection, functions[i].name,
			functions[i].arguments, flags, t, functions[i].call, NULL, NULL);
	return code;
}

/* ---- nesting of ranges ---- */

struct range_frame {
	int64_t end;
	bool crosses; /* ends after the range that was innermost when it began */
};

struct range_stack {
	struct range_frame *frames;
	uint32_t count, capacity;
};

static void range_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	struct range_stack *s = sqlite3_aggregate_context(context, sizeof(*s));
	int64_t start = sqlite3_value_int64(values[1]), end = sqlite3_value_int64(values[2]);
	while (s && s->count && s->frames[s->count - 1].end <= start)
		s->count--;
	if (!s || array_room(&s->frames, s->count, &s->capacity, sizeof(*s->frames))) {
		sqlite3_result_error_nomem(context);
		return;
	}
	s->frames[s->count] =
		(struct range_frame){end, s->count && s->frames[s->count - 1].end < end};
	s->count++;
}

/* Do nothing: rows never leave the frame. */
static void range_inverse(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)context, (void)count, (void)values;
}

static void range_crosses_value(sqlite3_context *context)
{
	const struct range_stack *s = sqlite3_aggregate_context(context, 0);
	if (s && s->count)
		sqlite3_result_int64(context, s->frames[s->count - 1].crosses);
}

static void range_release(sqlite3_context *context)
{
	struct range_stack *s = sqlite3_aggregate_context(context, 0);
	if (s)
		free(s->frames);
}

/* ---- rows of a track ---- */

#define TRACK_ROWS 64u /* an event that finds no free row shares the last one */

struct track_rows {
	int64_t ends[TRACK_ROWS]; /* end of the last event of each row */
	uint32_t count, last;
};

static void track_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	struct track_rows *l = sqlite3_aggregate_context(context, sizeof(*l));
	int64_t start = sqlite3_value_int64(values[0]), end = sqlite3_value_int64(values[1]);
	if (!l) {
		sqlite3_result_error_nomem(context);
		return;
	}
	uint32_t row = 0;
	while (row < l->count && l->ends[row] > start)
		row++;
	row = row < TRACK_ROWS ? row : TRACK_ROWS - 1;
	l->count = row < l->count ? l->count : row + 1;
	l->ends[row] = end > start || start == INT64_MAX ? end : start + 1;
	l->last = row;
}

static void track_value(sqlite3_context *context)
{
	const struct track_rows *l = sqlite3_aggregate_context(context, 0);
	if (l)
		sqlite3_result_int64(context, l->last);
}

static void track_final(sqlite3_context *context)
{
	(void)context;
}

/* ---- functions of a row ---- */

/* name_hash(text): the hash of a kernel's name. */
static void name_hash(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *text = (const char *)sqlite3_value_text(values[0]);
	(void)count;
	if (text)
		sqlite3_result_int64(context, (int64_t)fnv_text(text));
}

static void api_name(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	const char *text = (const char *)sqlite3_value_text(values[0]);
	int bytes = sqlite3_value_bytes(values[0]);
	if (!text)
		return;
	bool version = bytes > 6 && text[bytes - 6] == '_' && text[bytes - 5] == 'v';
	for (int i = bytes - 4; version && i < bytes; i++)
		version = isdigit((unsigned char)text[i]);
	sqlite3_result_text(context, text, version ? bytes - 6 : bytes, SQLITE_TRANSIENT);
}

static void python_place_value(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	const char *symbol = (const char *)sqlite3_value_text(values[0]),
		   *module = (const char *)sqlite3_value_text(values[1]);
	size_t bytes;
	const char *place = symbol && module ? python_place(symbol, module, &bytes) : NULL;
	if (place)
		sqlite3_result_text(context, place, (int)bytes, SQLITE_TRANSIENT);
}

/* Replace each number in a text by '#', as profile.py of trace_tools does for `trace diff`. */
static void numbers_merged(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	const char *text = (const char *)sqlite3_value_text(values[0]);
	int bytes = sqlite3_value_bytes(values[0]), kept = 0;
	char *merged = text ? sqlite3_malloc(bytes + 1) : NULL;
	if (text && !merged)
		sqlite3_result_error_nomem(context);
	if (!merged)
		return;
	for (int i = 0; i < bytes; i++)
		if (!isdigit((unsigned char)text[i]))
			merged[kept++] = text[i];
		else if (!kept || merged[kept - 1] != '#' || !isdigit((unsigned char)text[i - 1]))
			merged[kept++] = '#';
	sqlite3_result_text(context, merged, kept, sqlite3_free);
}

static void argument(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	const struct sql *s = sqlite3_user_data(context);
	const char *name = (const char *)sqlite3_value_text(values[0]);
	size_t length = name ? strlen(name) : 0;
	for (const char *at = s->arguments; at && name; at = strchr(at, ':')) {
		at += *at == ':';
		size_t bytes = strcspn(at, ":");
		if (strncmp(at, name, length) || bytes < length)
			continue;
		if (bytes == length)
			sqlite3_result_int64(context, 1);
		else if (at[length] == '=')
			sqlite3_result_text(context, at + length + 1, (int)(bytes - length - 1),
				SQLITE_TRANSIENT);
	}
}

static const struct {
	const char *name, *rows;
} enums[] = {
#define ENUM_TABLE(name, generations, prefix, rows) {#name, rows},
#include "reader/sql/nsys_enums.def"
};

static void enum_label(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	const char *table = (const char *)sqlite3_value_text(values[0]);
	int64_t id = sqlite3_value_int64(values[1]);
	for (size_t i = 0; table && i < sizeof(enums) / sizeof(enums[0]); i++) {
		if (strcmp(enums[i].name, table))
			continue;
		for (const char *row = enums[i].rows; *row; row += *row == '|') {
			char *text;
			bool same = strtoll(row, &text, 10) == id;
			size_t all = strcspn(++text, "|"), suffix = strcspn(text, "|=");
			row = text + all;
			if (suffix < all)
				text += suffix + 1;
			if (same)
				sqlite3_result_text(
					context, text, (int)(row - text), SQLITE_TRANSIENT);
		}
	}
}

/* Return true for CUDA calls that return when the GPU is done. */
static void api_waits(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	const char *name = (const char *)sqlite3_value_text(values[0]);
	const bool copies =
		name && strstr(name, "Memcpy") && !strstr(name, "Async") && !strstr(name, "Graph");
	sqlite3_result_int(context, copies || (name && strstr(name, "Synchronize")));
}

static void osrt_class_value(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	const char *name = (const char *)sqlite3_value_text(values[0]);
	sqlite3_result_text(context, osrt_class(name ? name : ""), -1, SQLITE_STATIC);
}

static void osrt_arguments_value(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	const char *name = (const char *)sqlite3_value_text(values[0]);
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	if (out)
		osrt_arguments(out, name ? name : "", sqlite3_value_int64(values[1]));
	if (!out || fclose(out))
		sqlite3_result_error_nomem(context);
	else if (bytes)
		sqlite3_result_text(context, text, (int)bytes, SQLITE_TRANSIENT);
	free(text);
}

/* Return the name of an errno ("EAGAIN" for 11), NULL for 0, or the number if it has no name. */
static void errno_name(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	int64_t number = sqlite3_value_int64(values[0]);
	const char *name = number == (int)number ? strerrorname_np((int)number) : NULL;
	if (name && number)
		sqlite3_result_text(context, name, -1, SQLITE_STATIC);
	else if (number)
		sqlite3_result_int64(context, number);
}

/* Report an error: a column that a figure depends on is not in the database. */
static void missing_column(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct sql *s = sqlite3_user_data(context);
	(void)count;
	char *text = sqlite3_mprintf(
		"the table %s has no column %s, which is needed for a correct figure",
		sqlite3_value_text(values[0]), sqlite3_value_text(values[1]));
	s->lacks_column = true;
	sqlite3_result_error(context, text ? text : "out of memory", -1);
	sqlite3_free(text);
}

int functions_add(struct sql *s)
{
	static const struct {
		const char *name;
		int arguments;
		void (*step)(sqlite3_context *, int, sqlite3_value **);
		void (*value)(sqlite3_context *); /* for a window function */
		void (*final)(sqlite3_context *); /* for an aggregate */
		void (*call)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{"median", 1, median_step, NULL, median_final, NULL},
		{"stddev", 1, deviation_step, NULL, deviation_final, NULL},
		{"range_crosses", 3, range_step, range_crosses_value, range_release, NULL},
		{"track_row", 2, track_step, track_value, track_final, NULL},
		{"api_name", 1, NULL, NULL, NULL, api_name},
		{"name_hash", 1, NULL, NULL, NULL, name_hash},
		{"numbers_merged", 1, NULL, NULL, NULL, numbers_merged},
		{"argument", 1, NULL, NULL, NULL, argument},
		{"enum_label", 2, NULL, NULL, NULL, enum_label},
		{"errno_name", 1, NULL, NULL, NULL, errno_name},
		{"osrt_arguments", 2, NULL, NULL, NULL, osrt_arguments_value},
		{"python_place", 2, NULL, NULL, NULL, python_place_value},
		{"api_waits", 1, NULL, NULL, NULL, api_waits},
		{"osrt_class", 1, NULL, NULL, NULL, osrt_class_value},
	};
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
	/* not deterministic: SQLite calls deterministic functions with constant arguments before
	 * it reads a row */
	int code = sqlite3_create_function(s->connection, "missing_column", 2,
		SQLITE_UTF8 | SQLITE_DIRECTONLY, s, missing_column, NULL, NULL);
	for (size_t i = 0; !code && i < sizeof(functions) / sizeof(functions[0]); i++)
		code = functions[i].value
			? sqlite3_create_window_function(s->connection, functions[i].name,
				  functions[i].arguments, flags, s, functions[i].step,
				  functions[i].final, functions[i].value, range_inverse, NULL)
			: sqlite3_create_function(s->connection, functions[i].name,
				  functions[i].arguments, flags, s, functions[i].call,
				  functions[i].step, functions[i].final);
	return code || sums_add(s) || texts_functions_add(s) || occupancy_function_add(s) ? -ENOMEM
											  : 0;
}

#else

int functions_add(struct sql *s)
{
	(void)s;
	return 0;
}

#endif
