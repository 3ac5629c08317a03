/* SPDX-License-Identifier: Apache-2.0 */
/* log_lines.c - events from lines of a program's output that a regular expression finds. */
#include "reader/export/generic/log_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "common/array.h"
#include "reader/base/print.h"
#include "reader/base/regex.h"
#include "reader/export/generic/images.h"
#include "reader/export/sqlite/export_state.h"

#define OPTION "log_events="

struct log_pattern {
	int64_t vid;
	char *text;
};

/* Return the pattern that the report was recorded with; NULL = none. */
static const char *recorded_pattern(const Libtrace__Session *session)
{
	for (size_t i = 0; session && i < session->n_options; i++)
		if (!strncmp(session->options[i], OPTION, sizeof(OPTION) - 1))
			return session->options[i] + sizeof(OPTION) - 1;
	return NULL;
}

int log_pattern_keep(struct sqlite_export *x)
{
	struct log_patterns *p = &x->log;
	const char *text =
		x->job->log_events ? x->job->log_events : recorded_pattern(x->contents.session);
	struct log_pattern row = {.vid = x->threads.vid};
	if (!text || !*text)
		return 0;
	row.text = strdup(text);
	if (!row.text)
		return -ENOMEM;
	int error = array_room(&p->rows, p->count, &p->capacity, sizeof(*p->rows));
	if (error)
		free(row.text);
	else
		p->rows[p->count++] = row;
	return error;
}

bool log_lines_wanted(const struct sqlite_export *x)
{
	return x->log.count && x->own.facts[KIND_STREAM_WRITE].rows;
}

void log_patterns_release(struct log_patterns *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		free(p->rows[i].text);
	free(p->rows);
	*p = (struct log_patterns){0};
}

#ifdef HAVE_SQLITE
/* A line, as far as it was written. */
struct line {
	char text[REGEX_TEXT_MAX];
	size_t bytes;
	bool incomplete; /* its start is missing */
};

struct log_search {
	struct regex *regex;
	sqlite3_stmt *insert;
	struct line line;
	int64_t tid, ns; /* of the last write */
};

static const char *digits_skip(const char *at, const char *end)
{
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at;
}

/* Return true if a text is a number as JSON has them. */
static bool is_number(const char *at, const char *end)
{
	at += at < end && *at == '-';
	const char *digits = at;
	at = digits_skip(at, end);
	if (at == digits || (*digits == '0' && at > digits + 1) || end - digits > 40)
		return false;
	if (at < end && *at == '.') {
		digits = at + 1;
		at = digits_skip(digits, end);
		if (at == digits)
			return false;
	}
	if (at < end && (*at | 32) == 'e') {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		digits = at;
		at = digits_skip(digits, end);
		if (at == digits)
			return false;
	}
	return at == end;
}

/* Return true if an earlier group of the same name has a part in the match. */
static bool has_earlier(const struct regex *r, const struct regex_match *m, uint32_t group)
{
	uint32_t bytes, other_bytes;
	const char *name = regex_group_name(r, group, &bytes);
	for (uint32_t i = 0; i < group; i++) {
		const char *other = regex_group_name(r, i, &other_bytes);
		if (m->groups[i].begin <= m->groups[i].end && bytes == other_bytes &&
			!memcmp(name, other, bytes))
			return true;
	}
	return false;
}

/* Print the groups as a JSON object. */
static void fields_print(
	FILE *out, const struct regex *r, const struct regex_match *m, const char *text)
{
	uint32_t bytes, count = 0;
	fputc('{', out);
	for (uint32_t i = 0; i < regex_group_count(r); i++) {
		const struct regex_group g = m->groups[i];
		if (g.begin > g.end || has_earlier(r, m, i))
			continue;
		const char *name = regex_group_name(r, i, &bytes);
		if (count++)
			fputc(',', out);
		print_json(out, name, bytes);
		fputc(':', out);
		if (is_number(text + g.begin, text + g.end))
			fwrite(text + g.begin, 1, g.end - g.begin, out);
		else
			print_json(out, text + g.begin, g.end - g.begin);
	}
	fputc('}', out);
}

static void event_insert(struct log_search *s, const struct regex_match *m)
{
	char *data = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&data, &bytes);
	if (!out)
		return;
	fields_print(out, s->regex, m, s->line.text);
	if (!fclose(out)) {
		sqlite3_bind_int64(s->insert, 1, s->ns);
		sqlite3_bind_int64(s->insert, 2, s->tid);
		sqlite3_bind_text(s->insert, 3, m->label ? m->label : "log",
			m->label ? (int)m->label_bytes : -1, SQLITE_STATIC);
		sqlite3_bind_text(s->insert, 4, data, -1, SQLITE_STATIC);
		sqlite3_step(s->insert);
		sqlite3_reset(s->insert);
	}
	free(data);
}

/* Look at the line, and begin the next one. */
static void line_end(struct log_search *s)
{
	struct regex_match m;
	size_t bytes = s->line.bytes;
	if (bytes && s->line.text[bytes - 1] == '\r')
		bytes--;
	if (!s->line.incomplete && bytes && regex_search(s->regex, s->line.text, bytes, &m))
		event_insert(s, &m);
	s->line.bytes = 0;
	s->line.incomplete = false;
}

static void text_add(struct log_search *s, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] == '\n')
			line_end(s);
		else if (s->line.bytes < sizeof(s->line.text))
			s->line.text[s->line.bytes++] = text[i];
}

static void writes_read(struct log_search *s, sqlite3_stmt *rows)
{
	int64_t process = 0, stream = 0, image = 0, position = 0;
	while (sqlite3_step(rows) == SQLITE_ROW) {
		const int64_t tid = sqlite3_column_int64(rows, 0),
			      in = sqlite3_column_int64(rows, 1),
			      at = sqlite3_column_int64(rows, 2),
			      program = sqlite3_column_int64(rows, 6);
		const char *text = (const char *)sqlite3_column_text(rows, 5);
		const bool same =
			(tid & ~INT64_C(0xffffff)) == process && in == stream && program == image;
		if (!same) {
			line_end(s); /* the last line of a stream has no line end */
			s->line.incomplete = at != 0;
		} else if (at != position) {
			s->line.bytes = 0;
			s->line.incomplete = true;
		}
		process = tid & ~INT64_C(0xffffff);
		stream = in;
		image = program;
		position = (int64_t)((uint64_t)at + (uint64_t)sqlite3_column_int64(rows, 3));
		s->tid = tid;
		s->ns = sqlite3_column_int64(rows, 4);
		if (text)
			text_add(s, text, (size_t)sqlite3_column_bytes(rows, 5));
	}
	line_end(s);
}

void log_lines_write(struct sqlite_export *x)
{
	static const char
		insert[] = "INSERT INTO temp.generic VALUES (?1, ?2, 2, ?3, ?4)",
		select[] = "SELECT w.globalTid, w.stream, w.position, w.size, "
			   "w.timestamp, CASE WHEN NOT w.redirected THEN t.value END, " IMAGE_SQL
			   " FROM LIBTRACE_STREAM_WRITE AS w "
			   "JOIN StringIds AS t ON t.id = w.textId "
			   "WHERE w.globalTid & ?1 = ?2 "
			   "ORDER BY w.globalTid >> 24, w.stream, 7, w.position";
	for (uint32_t i = 0; log_lines_wanted(x) && i < x->log.count; i++) {
		const char *cause;
		sqlite3_stmt *rows = NULL;
		struct log_search *s = calloc(1, sizeof(*s));
		if (!s)
			return;
		s->regex = regex_compile(x->log.rows[i].text, &cause);
		if (s->regex &&
			!sqlite3_prepare_v2(x->database.connection, insert, -1, &s->insert, NULL) &&
			!sqlite3_prepare_v2(x->database.connection, select, -1, &rows, NULL)) {
			sqlite3_bind_int64(rows, 1, GLOBAL_VID_BITS);
			sqlite3_bind_int64(rows, 2, x->log.rows[i].vid);
			writes_read(s, rows);
		}
		sqlite3_finalize(rows);
		sqlite3_finalize(s->insert);
		regex_free(s->regex);
		free(s);
	}
}
#else
void log_lines_write(struct sqlite_export *x)
{
	(void)x;
}
#endif
