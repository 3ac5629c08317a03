/* SPDX-License-Identifier: Apache-2.0 */
/*
 * critical_path.c - the virtual table critical_path.
 *
 * The tables are read into arrays once per query: 40 bytes for each span, and as much again while
 * the largest track is sorted. A walk visits each wait at most once, so it ends whatever the tables
 * contain.
 */
#define _GNU_SOURCE
#include "reader/sql/critical_path.h"

#ifdef HAVE_SQLITE

#include <sqlite3.h>
#include <stdlib.h>

#include "common/array.h"
#include "reader/base/map.h"
#include "reader/sql/virtual_table.h"

enum column { GOAL, NUMBER, TRACK, START, END, KIND, SPAN, WAIT };

enum segment_kind {
	KIND_SPAN,
	KIND_BETWEEN,
	KIND_WAKE,
	KIND_LAUNCH,
	KIND_QUEUE,
	KIND_BEGIN,
	KIND_BEFORE
};

static const char *const kind_names[] = {
	"span", "between", "wake", "launch", "queue", "begin", "before"};

#define NOWHERE UINT32_MAX /* index of a track that is not known */

struct span {
	int64_t id, start, end, other_time;
	uint32_t other;         /* index of a track, or NOWHERE */
	uint32_t followed : 31; /* number of the last walk that followed the wait */
	uint32_t is_work : 1;
};

struct track {
	int64_t id, start, parent_time;
	int64_t parent_id;           /* valid if has_parent */
	uint32_t first, count, room; /* its spans; room: number of its rows */
	bool has_parent, is_stream;
};

struct segment {
	int64_t goal, number, track, start, end, span;
	int64_t wait; /* id of the wait that led to the track; 0 = none */
	enum segment_kind kind;
};

struct graph {
	struct span *spans;
	struct track *tracks;
	uint32_t span_count, track_count, track_capacity;
	struct map index; /* track id -> 1 + index */
	uint32_t walks;   /* number of walks so far */
};

/* Where a walk is: at `time` on a track. */
struct position {
	uint32_t track;
	int64_t time;
};

struct path_cursor {
	sqlite3_vtab_cursor base;
	struct segment *segments;
	uint32_t count, capacity, at;
};

static void graph_release(struct graph *g)
{
	free(g->spans);
	free(g->tracks);
	map_release(&g->index);
}

static uint32_t track_find(const struct graph *g, int64_t id)
{
	return map_get(&g->index, (uint64_t)id, 0) - 1; /* not found: NOWHERE */
}

static int track_read(struct graph *g, sqlite3_stmt *in)
{
	const int64_t id = sqlite3_column_int64(in, 0);
	if (track_find(g, id) != NOWHERE)
		return SQLITE_OK;
	if (array_room(&g->tracks, g->track_count, &g->track_capacity, sizeof(*g->tracks)) ||
		map_put(&g->index, (uint64_t)id, 0, g->track_count + 1))
		return SQLITE_NOMEM;
	g->tracks[g->track_count++] = (struct track){.id = id,
		.start = sqlite3_column_int64(in, 1),
		.has_parent = sqlite3_column_type(in, 2) != SQLITE_NULL,
		.parent_id = sqlite3_column_int64(in, 2),
		.parent_time = sqlite3_column_int64(in, 3),
		.is_stream = sqlite3_column_int(in, 4)};
	return SQLITE_OK;
}

/* Count the spans of a track. */
static int count_read(struct graph *g, sqlite3_stmt *in)
{
	const uint32_t index = track_find(g, sqlite3_column_int64(in, 0));
	const int64_t count = sqlite3_column_int64(in, 1);
	if (index == NOWHERE)
		return SQLITE_OK;
	if (count > (int64_t)(ARRAY_MAX - g->span_count))
		return SQLITE_NOMEM;
	g->tracks[index].first = g->span_count;
	g->tracks[index].room = (uint32_t)count;
	g->span_count += (uint32_t)count;
	return SQLITE_OK;
}

static int span_read(struct graph *g, sqlite3_stmt *in)
{
	const uint32_t index = track_find(g, sqlite3_column_int64(in, 1));
	struct track *t = index == NOWHERE ? NULL : &g->tracks[index];
	if (!t || t->count >= t->room)
		return SQLITE_OK;
	g->spans[t->first + t->count++] = (struct span){.id = sqlite3_column_int64(in, 0),
		.start = sqlite3_column_int64(in, 2),
		.end = sqlite3_column_int64(in, 3),
		.is_work = sqlite3_column_int(in, 4) != 0,
		.other = sqlite3_column_type(in, 5) == SQLITE_NULL
			? NOWHERE
			: track_find(g, sqlite3_column_int64(in, 5)),
		.other_time = sqlite3_column_int64(in, 6)};
	return SQLITE_OK;
}

/* Order spans by their start; of those that begin together the longest comes first. */
static int span_order(const void *one, const void *two)
{
	const struct span *a = one, *b = two;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Sort the spans of a track, and cut each where an earlier one overlaps it; spans within another
 * vanish. */
static void track_sort(struct graph *g, struct track *t)
{
	struct span *spans = &g->spans[t->first];
	uint32_t sorted = 1, kept = 0;
	while (sorted < t->count && span_order(&spans[sorted - 1], &spans[sorted]) <= 0)
		sorted++;
	if (sorted < t->count)
		qsort(spans, t->count, sizeof(*spans), span_order);
	for (uint32_t i = 0; i < t->count; i++) {
		if (kept && spans[kept - 1].end > spans[i].start)
			spans[i].start = spans[kept - 1].end;
		if (spans[i].end > spans[i].start)
			spans[kept++] = spans[i];
	}
	t->count = kept;
}

/* Pass each row of a statement to a function. Returns a code of SQLite. */
static int rows_read(sqlite3 *connection, const char *text, struct graph *g,
	int (*row)(struct graph *g, sqlite3_stmt *in))
{
	sqlite3_stmt *in = NULL;
	int code = sqlite3_prepare_v2(connection, text, -1, &in, NULL);
	while (!code && (code = sqlite3_step(in)) == SQLITE_ROW)
		code = row(g, in);
	sqlite3_finalize(in);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int graph_read(struct graph *g, sqlite3 *connection)
{
	int code = rows_read(connection,
		"SELECT track, start, parent, parent_time, is_stream FROM temp.PATH_TRACKS", g,
		track_read);
	if (!code)
		code = rows_read(connection,
			"SELECT track, count(*) FROM temp.PATH_SPANS GROUP BY track", g,
			count_read);
	g->spans = code || !g->span_count ? NULL : malloc(g->span_count * sizeof(*g->spans));
	if (!code && g->span_count && !g->spans)
		return SQLITE_NOMEM;
	if (!code)
		code = rows_read(connection,
			"SELECT id, track, start, \"end\", is_work, other, other_time "
			"FROM temp.PATH_SPANS",
			g, span_read);
	for (uint32_t i = 0; !code && i < g->track_count; i++)
		track_sort(g, &g->tracks[i]);
	return code;
}

/* Return the last span of a track that begins before a time; NULL = none. */
static struct span *span_before(const struct graph *g, struct position p)
{
	const struct track *t = &g->tracks[p.track];
	uint32_t low = 0, high = t->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (g->spans[t->first + middle].start < p.time)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &g->spans[t->first + low - 1] : NULL;
}

/* Add the segment from `start` to the position, unless it is empty, and move there. */
static int segment_add(struct path_cursor *c, struct segment *goal, struct position *p,
	int64_t track, int64_t start, enum segment_kind kind, int64_t span)
{
	const int64_t from = start > goal->start ? start : goal->start;
	if (from >= p->time)
		return SQLITE_OK;
	if (array_room(&c->segments, c->count, &c->capacity, sizeof(*c->segments)))
		return SQLITE_NOMEM;
	c->segments[c->count++] = (struct segment){.goal = goal->goal,
		.number = goal->number++,
		.track = track,
		.start = from,
		.end = p->time,
		.kind = kind,
		.span = span,
		.wait = goal->wait};
	p->time = from;
	return SQLITE_OK;
}

/* Go through a span of a thread that the position is in: to what ended the wait, else to its
 * start. */
static int span_leave(const struct graph *g, struct path_cursor *c, struct segment *goal,
	struct position *p, struct span *s)
{
	const int64_t track = g->tracks[p->track].id;
	const bool follows = !s->is_work && s->other != NOWHERE && s->followed != g->walks &&
		s->other_time > s->start && s->other_time <= p->time;
	if (!follows)
		return segment_add(c, goal, p, track, s->start, KIND_SPAN, s->id);
	s->followed = g->walks;
	int code = segment_add(c, goal, p, track, s->other_time, KIND_WAKE, s->id);
	p->track = s->other;
	goal->wait = s->id;
	return code;
}

/* Go on from the start of an operation of a stream: to the operation before, or the launch. */
static int work_leave(const struct graph *g, struct path_cursor *c, struct segment *goal,
	struct position *p, const struct span *s)
{
	const int64_t track = g->tracks[p->track].id;
	const struct span *before = span_before(g, *p);
	if (s->other == NOWHERE || (before && before->end >= s->other_time))
		return segment_add(
			c, goal, p, track, before ? before->end : goal->start, KIND_QUEUE, s->id);
	int code = segment_add(c, goal, p, track, s->other_time, KIND_LAUNCH, s->id);
	p->track = s->other;
	return code;
}

/* Go from the start of a track to the one that started it. */
static int track_leave(const struct graph *g, struct path_cursor *c, struct segment *goal,
	struct position *p, int64_t *hops)
{
	const struct track *t = &g->tracks[p->track];
	const uint32_t parent = t->has_parent ? track_find(g, t->parent_id) : NOWHERE;
	if (parent == NOWHERE || parent == p->track || ++*hops > (int64_t)g->track_count)
		return segment_add(c, goal, p, t->id, goal->start, KIND_BEFORE, 0);
	int code = segment_add(c, goal, p, t->id, t->parent_time, KIND_BEGIN, 0);
	p->track = parent;
	goal->wait = 0;
	return code;
}

/* Walk one step back. Returns a code of SQLite; sets p->time to the goal's start at the end. */
static int step_back(const struct graph *g, struct path_cursor *c, struct segment *goal,
	struct position *p, int64_t *hops)
{
	const struct track *t = &g->tracks[p->track];
	struct span *s = span_before(g, *p);
	if (!t->is_stream && t->start >= p->time)
		return track_leave(g, c, goal, p, hops);
	if (s && s->end >= p->time) {
		if (!t->is_stream)
			return span_leave(g, c, goal, p, s);
		int code = segment_add(c, goal, p, t->id, s->start, KIND_SPAN, s->id);
		return code || p->time <= goal->start ? code : work_leave(g, c, goal, p, s);
	}
	if (t->is_stream && !s)
		return segment_add(c, goal, p, t->id, goal->start, KIND_BEFORE, 0);
	const bool ends_later = s && (t->is_stream || s->end > t->start);
	return segment_add(c, goal, p, t->id, ends_later ? s->end : t->start,
		t->is_stream ? KIND_QUEUE : KIND_BETWEEN, 0);
}

static int goal_walk(struct graph *g, struct path_cursor *c, int64_t id, int64_t track,
	int64_t start, int64_t end)
{
	struct segment goal = {.goal = id, .start = start};
	struct position p = {track_find(g, track), end};
	int64_t hops = 0, time = end;
	int code = SQLITE_OK;
	g->walks++;
	while (!code && p.track != NOWHERE && p.time > start) {
		code = step_back(g, c, &goal, &p, &hops);
		hops = p.time < time ? 0 : hops;
		time = p.time;
	}
	return code;
}

static int goals_walk(struct graph *g, struct path_cursor *c, sqlite3 *connection)
{
	sqlite3_stmt *in = NULL;
	int code = sqlite3_prepare_v2(connection,
		"SELECT goal, track, start, \"end\" FROM temp.PATH_GOALS ORDER BY goal", -1, &in,
		NULL);
	while (!code && (code = sqlite3_step(in)) == SQLITE_ROW)
		code = goal_walk(g, c, sqlite3_column_int64(in, 0), sqlite3_column_int64(in, 1),
			sqlite3_column_int64(in, 2), sqlite3_column_int64(in, 3));
	sqlite3_finalize(in);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* ---- module of virtual tables ---- */

static int path_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = 1e6;
	info->estimatedRows = 100000;
	return SQLITE_OK;
}

static int path_close(sqlite3_vtab_cursor *cursor)
{
	struct path_cursor *c = (struct path_cursor *)cursor;
	free(c->segments);
	free(c);
	return SQLITE_OK;
}

static int path_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int count,
	sqlite3_value **values)
{
	struct path_cursor *c = (struct path_cursor *)cursor;
	const struct virtual_table *t = (const struct virtual_table *)cursor->pVtab;
	struct graph g = {0};
	(void)number, (void)text, (void)count, (void)values;
	c->count = c->at = 0;
	int code = graph_read(&g, t->connection);
	code = code ? code : goals_walk(&g, c, t->connection);
	graph_release(&g);
	return code ? virtual_table_failed(cursor, code) : SQLITE_OK;
}

static int path_next(sqlite3_vtab_cursor *cursor)
{
	((struct path_cursor *)cursor)->at++;
	return SQLITE_OK;
}

static int path_eof(sqlite3_vtab_cursor *cursor)
{
	const struct path_cursor *c = (const struct path_cursor *)cursor;
	return c->at >= c->count;
}

static int path_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	const struct path_cursor *c = (const struct path_cursor *)cursor;
	const struct segment *s = &c->segments[c->at];
	const int64_t numbers[] = {[GOAL] = s->goal,
		[NUMBER] = s->number,
		[TRACK] = s->track,
		[START] = s->start,
		[END] = s->end,
		[KIND] = 0,
		[SPAN] = s->span,
		[WAIT] = s->wait};
	if (column == KIND)
		sqlite3_result_text(context, kind_names[s->kind], -1, SQLITE_STATIC);
	else if ((column != SPAN && column != WAIT) || numbers[column])
		sqlite3_result_int64(context, numbers[column]);
	return SQLITE_OK;
}

static int path_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
	*ret_rowid = ((const struct path_cursor *)cursor)->at;
	return SQLITE_OK;
}

int critical_path_add(struct sql *s)
{
	static const struct virtual_kind kind = {
		"CREATE TABLE x (goal, number, track, start, \"end\", kind, span, wait)",
		sizeof(struct path_cursor)};
	static const sqlite3_module module = {.xConnect = virtual_table_connect,
		.xBestIndex = path_best_index,
		.xDisconnect = virtual_table_disconnect,
		.xOpen = virtual_table_open,
		.xClose = path_close,
		.xFilter = path_filter,
		.xNext = path_next,
		.xEof = path_eof,
		.xColumn = path_column,
		.xRowid = path_rowid};
	return sqlite3_create_module_v2(
		       s->connection, "critical_path", &module, (void *)(uintptr_t)&kind, NULL)
		? -ENOMEM
		: 0;
}

#else

int critical_path_add(struct sql *s)
{
	(void)s;
	return 0;
}

#endif
