/* SPDX-License-Identifier: Apache-2.0 */
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
#include "reader/stats/durations.h"

#define VALUES_HELD (1u << 17) /* of a median: 1 MiB */
#define SIGN (1ull << 63)
#define DEPTH_SHOWN 200u

/* ---- median ---- */

struct median {
	struct durations durations;
	uint64_t held[VALUES_HELD]; /* values, their order kept by flipping the sign bit */
	uint32_t held_count;
	FILE *rest;
};

/* State of an aggregate, zero at first: SQLite's own room is not aligned for everything. NULL = no
 * memory. */
static void *state_of(sqlite3_context *context, size_t bytes)
{
	void **state = sqlite3_aggregate_context(context, sizeof(*state));
	if (state && !*state)
		*state = calloc(1, bytes);
	if (!state || !*state)
		sqlite3_result_error_nomem(context);
	return state ? *state : NULL;
}

/* NULL = it never had a row. */
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
		sqlite3_result_error(context, "no room for temporary files", -1);
		return;
	}
	m->held[m->held_count++] = value;
	if (durations_add(&m->durations, value))
		sqlite3_result_error_nomem(context);
}

/* All values once more. */
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
	if (more)
		sqlite3_result_error(context, "no memory for a median", -1);
	else
		sqlite3_result_double(context,
			(double)(((long double)(int64_t)(middle[0] ^ SIGN) +
					 (int64_t)(middle[1] ^ SIGN)) /
				2));
	durations_release(&m->durations);
	if (m->rest)
		fclose(m->rest);
	free(m);
}

/* ---- standard deviation: one pass, as Welford has it ---- */

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

/* ---- how ranges lie in each other ---- */

struct range_frame {
	int64_t id, end;
	uint32_t around; /* 1 + place of the range that holds this one; 0 = none */
	uint32_t level;
	bool crosses; /* ends behind one that was open when it began */
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
	uint32_t around = s->count;
	while (around && s->frames[around - 1].end < end)
		around--;
	s->frames[s->count] = (struct range_frame){sqlite3_value_int64(values[0]), end, around,
		around ? s->frames[around - 1].level + 1 : 0, around != s->count};
	s->count++;
}

/* Rows never leave the frame. */
static void range_inverse(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)context, (void)count, (void)values;
}

static const struct range_frame *range_top(sqlite3_context *context, const struct range_stack **ret)
{
	const struct range_stack *s = sqlite3_aggregate_context(context, 0);
	*ret = s;
	return s && s->count ? &s->frames[s->count - 1] : NULL;
}

static void range_parent_value(sqlite3_context *context)
{
	const struct range_stack *s;
	const struct range_frame *top = range_top(context, &s);
	if (top && top->around)
		sqlite3_result_int64(context, s->frames[top->around - 1].id);
}

static void range_level_value(sqlite3_context *context)
{
	const struct range_stack *s;
	const struct range_frame *top = range_top(context, &s);
	if (top)
		sqlite3_result_int64(context, top->level);
}

static void range_crosses_value(sqlite3_context *context)
{
	const struct range_stack *s;
	const struct range_frame *top = range_top(context, &s);
	if (top)
		sqlite3_result_int64(context, top->crosses);
}

/* The outermost first; a deep one begins with what fits. */
static void range_stack_value(sqlite3_context *context)
{
	const struct range_stack *s;
	const struct range_frame *f = range_top(context, &s);
	char text[DEPTH_SHOWN * 21], number[24];
	size_t at = sizeof(text);
	for (uint32_t depth = 0; f && depth < DEPTH_SHOWN; depth++) {
		int length = snprintf(number, sizeof(number), ":%lld", (long long)f->id);
		at -= (size_t)length;
		memcpy(text + at, number, (size_t)length);
		f = f->around ? &s->frames[f->around - 1] : NULL;
	}
	sqlite3_result_text(context, text + at, (int)(sizeof(text) - at), SQLITE_TRANSIENT);
}

static void range_release(sqlite3_context *context)
{
	struct range_stack *s = sqlite3_aggregate_context(context, 0);
	if (s)
		free(s->frames);
}

/* ---- rows of a lane ---- */

#define LANE_ROWS 64u /* what finds no free row shares the last one */

struct lane_rows {
	int64_t ends[LANE_ROWS]; /* when the last of a row ends */
	uint32_t count, last;
};

static void lane_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	struct lane_rows *l = sqlite3_aggregate_context(context, sizeof(*l));
	int64_t start = sqlite3_value_int64(values[0]), end = sqlite3_value_int64(values[1]);
	if (!l) {
		sqlite3_result_error_nomem(context);
		return;
	}
	uint32_t row = 0;
	while (row < l->count && l->ends[row] > start)
		row++;
	row = row < LANE_ROWS ? row : LANE_ROWS - 1;
	l->count = row < l->count ? l->count : row + 1;
	l->ends[row] = end > start || start == INT64_MAX ? end : start + 1;
	l->last = row;
}

static void lane_value(sqlite3_context *context)
{
	const struct lane_rows *l = sqlite3_aggregate_context(context, 0);
	if (l)
		sqlite3_result_int64(context, l->last);
}

static void lane_final(sqlite3_context *context)
{
	(void)context;
}

/* ---- functions of a row ---- */

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

int functions_add(struct sql *s)
{
	static const struct {
		const char *name;
		int arguments;
		void (*step)(sqlite3_context *, int, sqlite3_value **);
		void (*value)(sqlite3_context *); /* of a window function */
		void (*final)(sqlite3_context *); /* of an aggregate */
		void (*call)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{"median", 1, median_step, NULL, median_final, NULL},
		{"stddev", 1, deviation_step, NULL, deviation_final, NULL},
		{"range_parent", 3, range_step, range_parent_value, range_release, NULL},
		{"range_level", 3, range_step, range_level_value, range_release, NULL},
		{"range_crosses", 3, range_step, range_crosses_value, range_release, NULL},
		{"range_stack", 3, range_step, range_stack_value, range_release, NULL},
		{"lane_row", 2, lane_step, lane_value, lane_final, NULL},
		{"api_name", 1, NULL, NULL, NULL, api_name},
		{"argument", 1, NULL, NULL, NULL, argument},
		{"enum_label", 2, NULL, NULL, NULL, enum_label},
	};
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
	int code = 0;
	for (size_t i = 0; !code && i < sizeof(functions) / sizeof(functions[0]); i++)
		code = functions[i].value
			? sqlite3_create_window_function(s->connection, functions[i].name,
				  functions[i].arguments, flags, s, functions[i].step,
				  functions[i].final, functions[i].value, range_inverse, NULL)
			: sqlite3_create_function(s->connection, functions[i].name,
				  functions[i].arguments, flags, s, functions[i].call,
				  functions[i].step, functions[i].final);
	return code ? -ENOMEM : 0;
}

#else

int functions_add(struct sql *s)
{
	(void)s;
	return 0;
}

#endif
