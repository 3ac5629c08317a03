/* SPDX-License-Identifier: Apache-2.0 */
/* log_lines.c - generic events from lines of a program's output. */
#include "reader/export/generic/log_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "common/array.h"
#include "reader/export/generic/images.h"
#include "reader/export/sqlite/export_state.h"
#include "reader/report/log_lines.h"

struct log_pattern {
	uint32_t merged;
	char *text;
};

/* Keep a pattern; NULL = there is none. */
static int pattern_keep(struct log_patterns *p, const char *text, uint32_t merged)
{
	if (!text || !*text)
		return 0;
	if (array_room(&p->rows, p->count, &p->capacity, sizeof(*p->rows)))
		return -ENOMEM;
	p->rows[p->count] = (struct log_pattern){merged, strdup(text)};
	return p->rows[p->count].text ? (p->count++, 0) : -ENOMEM;
}

int log_patterns_keep(struct sqlite_export *x)
{
	struct log_patterns *p = &x->log;
	p->first = p->count;
	if (x->job->log_events)
		return pattern_keep(p, x->job->log_events, 0);
	int error = x->contents.merged_count ? 0 : pattern_keep(p, log_pattern(&x->contents, 0), 0);
	for (uint32_t i = 1; !error && i <= x->contents.merged_count; i++)
		error = pattern_keep(p, log_pattern(&x->contents, i), i);
	return error;
}

uint32_t log_pattern_number(const struct sqlite_export *x, uint32_t merged)
{
	for (uint32_t i = x->log.first; i < x->log.count; i++)
		if (x->job->log_events || x->log.rows[i].merged == merged)
			return i + 1;
	return 0;
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
/* The events of a pattern. */
struct log_insert {
	struct log_search search;
	struct log_stream stream;
	sqlite3_stmt *statement;
	int64_t tid, ns; /* of the last write */
};

static void event_insert(void *user, const struct log_event *e)
{
	struct log_insert *l = user;
	sqlite3_bind_int64(l->statement, 1, l->ns);
	sqlite3_bind_int64(l->statement, 2, l->tid);
	sqlite3_bind_text(l->statement, 3, e->type, (int)e->type_bytes, SQLITE_STATIC);
	sqlite3_bind_text(l->statement, 4, e->fields, (int)e->fields_bytes, SQLITE_STATIC);
	sqlite3_step(l->statement);
	sqlite3_reset(l->statement);
}

static void writes_read(struct log_insert *l, sqlite3_stmt *rows)
{
	int64_t process = 0, stream = 0, image = 0;
	while (sqlite3_step(rows) == SQLITE_ROW) {
		const int64_t tid = sqlite3_column_int64(rows, 0),
			      in = sqlite3_column_int64(rows, 1),
			      program = sqlite3_column_int64(rows, 6);
		const char *text = (const char *)sqlite3_column_text(rows, 5);
		if ((tid & ~INT64_C(0xffffff)) != process || in != stream || program != image)
			log_stream_end(&l->search, &l->stream);
		process = tid & ~INT64_C(0xffffff);
		stream = in;
		image = program;
		l->tid = tid;
		l->ns = sqlite3_column_int64(rows, 4);
		log_write(&l->search, &l->stream, (uint64_t)sqlite3_column_int64(rows, 2),
			(uint64_t)sqlite3_column_int64(rows, 3), text,
			(size_t)sqlite3_column_bytes(rows, 5));
	}
	log_stream_end(&l->search, &l->stream);
}

void log_lines_write(struct sqlite_export *x)
{
	static const char
		insert[] = "INSERT INTO temp.generic VALUES (?1, ?2, 2, ?3, ?4)",
		select[] = "SELECT w.globalTid, w.stream, w.position, w.size, "
			   "w.timestamp, CASE WHEN NOT w.redirected THEN t.value END, " IMAGE_SQL
			   " FROM LIBTRACE_STREAM_WRITE AS w "
			   "JOIN StringIds AS t ON t.id = w.textId "
			   "WHERE EXISTS (SELECT 1 FROM temp.LIBTRACE_IMAGE AS i WHERE i.pid = "
			   "w.globalTid & ~0xffffff AND i.pattern = ?1) "
			   "ORDER BY w.globalTid >> 24, w.stream, 7, w.position";
	sqlite3 *c = x->database.connection;
	for (uint32_t i = 0; log_lines_wanted(x) && i < x->log.count; i++) {
		sqlite3_stmt *rows = NULL;
		struct log_insert *l = calloc(1, sizeof(*l));
		if (!l)
			return;
		l->search = (struct log_search){.found = event_insert, .user = l};
		log_search_begin(&l->search, x->log.rows[i].text);
		if (l->search.regex && !sqlite3_prepare_v2(c, insert, -1, &l->statement, NULL) &&
			!sqlite3_prepare_v2(c, select, -1, &rows, NULL)) {
			sqlite3_bind_int64(rows, 1, i + 1);
			writes_read(l, rows);
		}
		sqlite3_finalize(rows);
		sqlite3_finalize(l->statement);
		log_search_end(&l->search);
		free(l);
	}
}
#else
void log_lines_write(struct sqlite_export *x)
{
	(void)x;
}
#endif
