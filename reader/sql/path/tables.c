/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.c - the virtual tables of the critical path. They share one graph per connection, which
 * lives until it is read anew or the connection is closed.
 */
#define _GNU_SOURCE
#include "reader/sql/path/tables.h"

#ifdef HAVE_SQLITE

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/sql/path/descriptors.h"
#include "reader/sql/path/events.h"
#include "reader/sql/path/functions.h"
#include "reader/sql/path/shares.h"
#include "reader/sql/path/sums.h"
#include "reader/sql/path/things.h"
#include "reader/sql/virtual_table.h"

enum table { THREADS, STREAMS, CALLS, ORDERS, SEGMENTS, SUMS, TABLES };

struct goal {
	int64_t number, start, end;
	uint32_t track;
};

struct shared;

/* The user data of a module. */
struct path_table {
	struct virtual_kind base;
	enum table table;
	struct shared *shared;
};

struct shared {
	struct path_graph graph;
	struct path_table tables[TABLES];
	uint32_t cursors; /* that are open: the graph is not read anew below another one */
};

struct path_cursor {
	sqlite3_vtab_cursor base;
	struct goal *goals;
	uint32_t goal_count, goal_capacity, goal;
	struct path_walk walk;
	struct path_segment segment;
	struct path_about about; /* of the segment */
	struct path_parts parts; /* of the segment */
	uint32_t part;
	struct path_sums sums;
	uint32_t track, index; /* where a table of tracks or calls is; the row of a sum */
	struct path_wait wait;
	struct path_event_search search; /* of the operation that the table of orders is at */
	bool ended;
};

static const char *const names[TABLES] = {"traced_threads", "traced_streams", "traced_calls",
	"traced_orders", "critical_path", "critical_path_sums"};

static const char *const declarations[TABLES] = {"CREATE TABLE x (track, start, \"end\")",
	"CREATE TABLE x (track, start, process, device, context, stream)",
	"CREATE TABLE x (number, source, track, start, \"end\", name, role, object, pipe, value, "
	"chain, other, other_time, how, unknown)",
	"CREATE TABLE x (number, track, other, other_time)",
	"CREATE TABLE x (goal, number, track, start, \"end\", kind, span, wait, how, source, name, "
	"chain, is_timeout, sample, ns, file, object, object_chain, other, function, program, "
	"parts)",
	"CREATE TABLE x (track, kind, how, source, name, chain, is_timeout, wait_track, "
	"wait_source, wait_name, wait_chain, sample, segment, ns, count, longest, file, object, "
	"object_chain, other, function, program, wait_file, wait_object, wait_object_chain, "
	"wait_other, wait_function)"};

static const char *const kinds[] = {
	"span", "between", "wake", "launch", "queue", "begin", "runnable", "off", "before"};
static const char *const hows[] = {NULL, "exact", "likely", "unknown"};
static const struct path_table *table_of(const sqlite3_vtab *table)
{
	return (const struct path_table *)((const struct virtual_table *)table)->kind;
}

static struct path_graph *graph_of(const sqlite3_vtab_cursor *c)
{
	return &table_of(c->pVtab)->shared->graph;
}

/* ---- rows ---- */

static int goal_row(void *user, sqlite3_stmt *in)
{
	struct path_cursor *c = user;
	if (array_room(&c->goals, c->goal_count, &c->goal_capacity, sizeof(*c->goals)))
		return SQLITE_NOMEM;
	c->goals[c->goal_count++] = (struct goal){sqlite3_column_int64(in, 0),
		sqlite3_column_int64(in, 2), sqlite3_column_int64(in, 3),
		path_graph_track(graph_of(&c->base), sqlite3_column_int64(in, 1))};
	return SQLITE_OK;
}

static void goal_begin(struct path_cursor *c)
{
	const struct goal *goal = &c->goals[c->goal];
	path_walk_begin(&c->walk, graph_of(&c->base), goal->track, goal->start, goal->end);
}

/* Go to the next segment of the goals, and its first part. */
static int segment_next(struct path_cursor *c)
{
	int code = SQLITE_DONE;
	while (c->goal < c->goal_count &&
		(code = path_walk_next(&c->walk, &c->segment)) == SQLITE_DONE)
		if (++c->goal < c->goal_count)
			goal_begin(c);
	c->ended = code != SQLITE_ROW;
	c->part = 0;
	if (code != SQLITE_ROW)
		return code == SQLITE_DONE ? SQLITE_OK : code;
	code = path_about_find(graph_of(&c->base), &c->parts, &c->segment, &c->about);
	return code ? code : path_parts_find(&c->parts, graph_of(&c->base), &c->segment);
}

/* Read what waits need, unless that has been done. */
static int waits_ready(struct path_graph *g)
{
	int code = path_graph_threads_read(g);
	code = code ? code : path_waits_read(g);
	code = code ? code : path_events_read(g);
	code = code ? code : path_functions_read(g);
	code = code ? code : path_ranks_read(g);
	code = code ? code : path_things_read(g);
	return code ? code : path_facts_read(g);
}

static int goals_begin(struct path_cursor *c)
{
	int code = waits_ready(graph_of(&c->base));
	if (!code)
		code = path_rows(graph_of(&c->base)->connection,
			"SELECT goal, track, start, \"end\" FROM temp.PATH_GOALS ORDER BY goal", c,
			goal_row);
	code = code ? code : path_parts_init(&c->parts, graph_of(&c->base));
	if (!code && c->goal_count)
		goal_begin(c);
	return code ? code : segment_next(c);
}

static int sums_make(struct path_cursor *c)
{
	struct path_graph *g = graph_of(&c->base);
	int code = goals_begin(c);
	while (!code && !c->ended) {
		code = path_sums_add(&c->sums, g, &c->segment, &c->about, &c->parts);
		code = code ? code : segment_next(c);
	}
	c->ended = code || !c->sums.count;
	return code;
}

/* Stop at the track that a table of tracks, or of calls, shows next. */
static int track_find(struct path_cursor *c)
{
	struct path_graph *g = graph_of(&c->base);
	const enum table table = table_of(c->base.pVtab)->table;
	for (; c->track < g->track_count; c->track++, c->index = 0) {
		const struct path_track *t = &g->tracks[c->track];
		if (table == CALLS ? c->index < t->count : t->is_stream == (table == STREAMS))
			break;
	}
	c->ended = c->track >= g->track_count;
	if (c->ended || table != CALLS)
		return SQLITE_OK;
	const struct path_track *t = &g->tracks[c->track];
	const struct path_call *call = &t->calls[c->index];
	spill_use(&g->spill, PATH_STEP_PAGES);
	const struct path_launch *l = t->is_stream ? path_launch_of(g, c->track, call) : NULL;
	if (!t->is_stream)
		return path_wait_find(g, c->track, call, &c->wait);
	uint32_t lane = c->track;
	const struct path_call *before = path_stream_before(g, c->track, call->start, &lane);
	const int64_t launched = l ? path_launch_time(l, call) : INT64_MIN;
	c->wait = l ? (struct path_wait){l->track, launched, HOW_NONE}
		    : (struct path_wait){.track = PATH_NOWHERE};
	if (before && lane != c->track && before->end >= launched)
		c->wait = (struct path_wait){lane, before->end, HOW_LIKELY};
	const struct path_rank *rank = path_rank_of(g, t, call);
	if (rank && !rank->meeting && path_waits_for_rank(g, call))
		c->wait.how = HOW_UNKNOWN; /* the replay needs all ranks */
	return SQLITE_OK;
}

/* Begin the search for what the operation at `index` of the track waited for. */
static void order_begin(struct path_cursor *c)
{
	const struct path_graph *g = graph_of(&c->base);
	const struct path_track *t = &g->tracks[c->track];
	const struct path_call *call = c->index < t->count ? &t->calls[c->index] : NULL;
	uint32_t lane = c->track;
	if (t->is_stream && call)
		c->search = path_event_begin(
			g, c->track, call, path_stream_before(g, c->track, call->start, &lane));
}

/* Stop at the next operation that an operation waited for. */
static void order_find(struct path_cursor *c, bool begins)
{
	struct path_graph *g = graph_of(&c->base);
	for (; c->track < g->track_count; c->track++, c->index = 0, begins = true) {
		const struct path_track *t = &g->tracks[c->track];
		for (; t->is_stream && c->index < t->count; c->index++, begins = true) {
			spill_use(&g->spill, PATH_STEP_PAGES);
			if (begins)
				order_begin(c);
			begins = false;
			const struct path_call *work =
				path_event_next(g, &c->search, &c->wait.track);
			c->wait.time = work ? work->end : 0;
			if (work)
				return;
		}
	}
	c->ended = true;
}

/* Keep the message of an error. Returns `code`. */
static int path_failed(sqlite3_vtab_cursor *cursor, int code)
{
	const int error = graph_of(cursor)->spill_error;
	char *message = NULL;
	virtual_table_failed(cursor, code);
	if (code == SQLITE_FULL && error)
		message = sqlite3_mprintf(
			"cannot keep calls in a file: %s; set TMPDIR to use another folder",
			strerror(-error));
	else if (code == SQLITE_MISMATCH)
		message = sqlite3_mprintf("invalid argument memory: expected a number of MiB");
	if (message) {
		sqlite3_free(cursor->pVtab->zErrMsg);
		cursor->pVtab->zErrMsg = message;
	}
	return code;
}

static int path_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int count,
	sqlite3_value **values)
{
	struct path_cursor *c = (struct path_cursor *)cursor;
	const struct virtual_table *t = (const struct virtual_table *)cursor->pVtab;
	const struct path_table *p = table_of(cursor->pVtab);
	struct path_graph *g = graph_of(cursor);
	int code = SQLITE_OK;
	(void)number, (void)text, (void)count, (void)values;
	c->goal_count = c->goal = c->track = c->index = 0;
	path_parts_release(&c->parts);
	path_sums_release(&c->sums);
	if (!g->connection || (p->table == THREADS && p->shared->cursors == 1)) {
		path_waits_free(g);
		path_facts_free(g);
		path_events_free(g);
		path_functions_free(g);
		path_things_free(g);
		path_holds_free(g);
		code = path_graph_read(g, t->connection);
	}
	if (!code && (p->table == CALLS || p->table == ORDERS))
		code = waits_ready(g);
	c->ended = false;
	if (!code && p->table == ORDERS)
		order_find(c, true);
	else if (!code)
		code = p->table == SEGMENTS ? goals_begin(c)
			: p->table == SUMS  ? sums_make(c)
					    : track_find(c);
	return code ? path_failed(cursor, code) : SQLITE_OK;
}

static int path_next(sqlite3_vtab_cursor *cursor)
{
	struct path_cursor *c = (struct path_cursor *)cursor;
	int code = SQLITE_OK;
	switch (table_of(cursor->pVtab)->table) {
	case SEGMENTS:
		code = ++c->part < c->parts.count ? SQLITE_OK : segment_next(c);
		break;
	case SUMS:
		c->ended = ++c->index >= c->sums.count;
		break;
	case CALLS:
		c->index++;
		code = track_find(c);
		break;
	case ORDERS:
		order_find(c, false);
		break;
	default:
		c->track++;
		code = track_find(c);
	}
	return code ? path_failed(cursor, code) : SQLITE_OK;
}

/* ---- columns ---- */

static void result_text(sqlite3_context *out, const char *text)
{
	if (text)
		sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

static void result_track(sqlite3_context *out, const struct path_graph *g, uint32_t track)
{
	if (track != PATH_NOWHERE)
		sqlite3_result_int64(out, g->tracks[track].id);
}

static void result_name(
	sqlite3_context *out, const struct path_graph *g, uint32_t name, bool is_source)
{
	if (name == PATH_NOWHERE)
		return;
	if (is_source)
		sqlite3_result_int(out, g->names[name].source);
	else
		result_text(out, g->names[name].text);
}

static void result_number(
	sqlite3_context *out, const struct path_graph *g, const struct path_call *c)
{
	if (c)
		sqlite3_result_int64(out, path_number(g, c));
}

static void track_column(sqlite3_context *out, const struct path_track *t, int column)
{
	switch (column) {
	case 0:
		sqlite3_result_int64(out, t->id);
		break;
	case 1:
		sqlite3_result_int64(out, t->start);
		break;
	case 2:
		sqlite3_result_int64(out, t->is_stream ? t->process : t->end);
		break;
	default:
		sqlite3_result_int64(out,
			column == 3           ? t->device
				: column == 4 ? t->context
					      : t->stream);
	}
}

/* The object of a call, as far as others can have the same: that of calls of descriptors is their
 * pipe, that of calls which wait for a stream its track, that of kernels of NCCL their meeting. */
static void object_result(sqlite3_context *out, struct path_cursor *cursor)
{
	struct path_graph *g = graph_of(&cursor->base);
	const struct path_call *c = &g->tracks[cursor->track].calls[cursor->index];
	const struct path_name *name = path_name_of(g, c);
	const struct path_rank *rank = path_rank_of(g, &g->tracks[cursor->track], c);
	uint32_t stream = PATH_NOWHERE;
	if (rank && rank->meeting)
		sqlite3_result_int64(out, rank->meeting);
	if (name->source == PATH_CUDA && name->role == ROLE_DEVICE &&
		!path_synced_stream(g, cursor->track, c, &stream))
		result_track(out, g, stream);
	const bool is_descriptor = path_has_descriptor(name);
	if (is_descriptor && name->role == ROLE_NONE && c->object != UINT32_MAX)
		sqlite3_result_int64(out, c->object);
	if (!is_descriptor && name->source == PATH_OSRT && c->object)
		sqlite3_result_int64(out, g->objects[c->object].value);
}

/* Return how long a wait lasted that nobody is known to have ended. */
static int64_t unknown_of(struct path_graph *g, uint32_t track, const struct path_call *c)
{
	struct path_share share;
	if (g->tracks[track].is_stream)
		return c->end - c->start;
	path_call_share_find(g, track, c->start, c->end, &share);
	return c->end - c->start - share.running - share.runnable;
}

static void call_column(struct path_cursor *c, sqlite3_context *out, int column)
{
	enum { NUMBER, SOURCE, TRACK, START, END, NAME, ROLE, OBJECT, PIPE, VALUE, CHAIN, OTHER };
	struct path_graph *g = graph_of(&c->base);
	const struct path_call *call = &g->tracks[c->track].calls[c->index];
	const struct path_name *name = path_name_of(g, call);
	const bool moves = name->role == ROLE_READ || name->role == ROLE_WRITE;
	const int64_t pipe = column == PIPE && moves ? path_pipe_of(g, c->track, call) : 0;
	const bool has_other = c->wait.track != PATH_NOWHERE;
	switch (column) {
	case NUMBER:
		sqlite3_result_int64(out, path_number(g, call));
		break;
	case SOURCE:
	case NAME:
		result_name(out, g, call->name, column == SOURCE);
		break;
	case TRACK:
		result_track(out, g, c->track);
		break;
	case START:
		sqlite3_result_int64(out, call->start);
		break;
	case END:
		sqlite3_result_int64(out, call->end);
		break;
	case ROLE:
		result_text(out, path_role_text(name->role));
		break;
	case OBJECT:
		object_result(out, c);
		break;
	case PIPE:
		if (pipe)
			sqlite3_result_int64(out, pipe);
		break;
	case VALUE:
		if (call->value != PATH_NO_VALUE)
			sqlite3_result_int(out, call->value);
		break;
	case CHAIN:
		if (call->chain)
			sqlite3_result_int64(out, call->chain);
		break;
	case OTHER:
		result_track(out, g, c->wait.track);
		break;
	case OTHER + 1:
		if (has_other)
			sqlite3_result_int64(out, c->wait.time);
		break;
	case OTHER + 2:
		result_text(out, hows[c->wait.how]);
		break;
	default:
		if (c->wait.how == HOW_UNKNOWN)
			sqlite3_result_int64(out, unknown_of(g, c->track, call));
	}
}

static void order_column(const struct path_cursor *c, sqlite3_context *out, int column)
{
	enum { NUMBER, TRACK, OTHER };
	const struct path_graph *g = graph_of(&c->base);
	if (column == NUMBER)
		result_number(out, g, &g->tracks[c->track].calls[c->index]);
	else if (column == TRACK || column == OTHER)
		result_track(out, g, column == TRACK ? c->track : c->wait.track);
	else
		sqlite3_result_int64(out, c->wait.time);
}

/* Columns of what a call uses. */
enum thing_column {
	FILE_NAME,
	OBJECT_ADDRESS,
	OBJECT_CHAIN,
	OTHER_TRACK,
	FUNCTION_NAME,
	THING_COLUMNS
};

static int thing_result(
	struct path_graph *g, sqlite3_context *out, const struct path_thing *t, int column)
{
	uint32_t chain = 0;
	int code = SQLITE_OK;
	switch (column) {
	case FILE_NAME:
		result_name(out, g, t->file, false);
		break;
	case OBJECT_ADDRESS:
		if (t->object)
			sqlite3_result_int64(out, g->objects[t->object].value);
		break;
	case OBJECT_CHAIN:
		code = t->object ? path_object_chain(g, t->object, &chain) : SQLITE_OK;
		if (chain)
			sqlite3_result_int64(out, chain);
		break;
	case OTHER_TRACK:
		result_track(out, g, t->other);
		break;
	default:
		result_name(out, g, t->function, false);
	}
	return code;
}

static int segment_column(struct path_cursor *c, sqlite3_context *out, int column)
{
	enum {
		GOAL,
		NUMBER,
		TRACK,
		START,
		END,
		KIND,
		SPAN,
		WAIT,
		HOW,
		SOURCE,
		NAME,
		CHAIN,
		TIMEOUT,
		SAMPLE,
		SEGMENT_NS,
		THING,
		PROGRAM = THING + THING_COLUMNS,
		PARTS
	};
	struct path_graph *g = graph_of(&c->base);
	const struct path_segment *s = &c->segment;
	const struct path_part *part = &c->parts.list[c->part];
	switch (column) {
	case GOAL:
		sqlite3_result_int64(out, c->goals[c->goal].number);
		break;
	case NUMBER:
		sqlite3_result_int64(out, s->number);
		break;
	case TRACK:
		result_track(out, g, s->track);
		break;
	case START:
		sqlite3_result_int64(out, s->start);
		break;
	case END:
		sqlite3_result_int64(out, s->end);
		break;
	case KIND:
		result_text(out, kinds[s->kind]);
		break;
	case SPAN:
	case WAIT:
		result_number(out, g, column == SPAN ? s->span : s->wait);
		break;
	case HOW:
		result_text(out, hows[s->how]);
		break;
	case SOURCE:
	case NAME:
		result_name(out, g, part->name, column == SOURCE);
		break;
	case CHAIN:
		if (s->span && s->span->chain)
			sqlite3_result_int64(out, s->span->chain);
		break;
	case TIMEOUT:
		sqlite3_result_int(out, s->span && path_timed_out(g, s->span));
		break;
	case SAMPLE:
		if (part->sample)
			sqlite3_result_int64(out, part->sample);
		break;
	case SEGMENT_NS:
		sqlite3_result_double(out, part->ns);
		break;
	case PROGRAM:
		result_name(out, g, c->about.program, false);
		break;
	case PARTS:
		sqlite3_result_int64(out, c->parts.count);
		break;
	default:
		return thing_result(g, out, &c->about.span, column - THING);
	}
	return SQLITE_OK;
}

static int sum_column(const struct path_cursor *c, sqlite3_context *out, int column)
{
	enum {
		TRACK,
		KIND,
		HOW,
		SOURCE,
		NAME,
		CHAIN,
		TIMEOUT,
		WAIT_TRACK,
		WAIT_SOURCE,
		WAIT_NAME,
		WAIT_CHAIN,
		SAMPLE,
		SEGMENT,
		NS,
		COUNT,
		LONGEST,
		THING,
		PROGRAM = THING + THING_COLUMNS,
		WAIT_THING
	};
	struct path_graph *g = graph_of(&c->base);
	const struct path_sum *s = &c->sums.list[c->index];
	const uint32_t chain = column == CHAIN ? s->chain : s->wait_chain;
	switch (column) {
	case TRACK:
	case WAIT_TRACK:
		result_track(out, g, column == TRACK ? s->track : s->wait_track);
		break;
	case KIND:
		result_text(out, kinds[s->kind]);
		break;
	case HOW:
		result_text(out, hows[s->how]);
		break;
	case SOURCE:
	case NAME:
		result_name(out, g, s->name, column == SOURCE);
		break;
	case WAIT_SOURCE:
	case WAIT_NAME:
		result_name(out, g, s->wait_name, column == WAIT_SOURCE);
		break;
	case CHAIN:
	case WAIT_CHAIN:
		if (chain)
			sqlite3_result_int64(out, chain);
		break;
	case TIMEOUT:
		sqlite3_result_int(out, s->is_timeout);
		break;
	case SAMPLE:
	case SEGMENT:
		if (s->sample)
			sqlite3_result_int64(out, column == SAMPLE ? s->sample : s->segment);
		break;
	case NS:
		sqlite3_result_double(out, s->ns);
		break;
	case COUNT:
	case LONGEST:
		sqlite3_result_int64(out, column == COUNT ? s->count : s->longest);
		break;
	case PROGRAM:
		result_name(out, g, s->about.program, false);
		break;
	default:
		return column < PROGRAM ? thing_result(g, out, &s->about.span, column - THING)
					: thing_result(g, out, &s->about.wait, column - WAIT_THING);
	}
	return SQLITE_OK;
}

static int path_column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int column)
{
	struct path_cursor *c = (struct path_cursor *)cursor;
	const struct path_graph *g = graph_of(cursor);
	switch (table_of(cursor->pVtab)->table) {
	case CALLS:
		call_column(c, out, column);
		break;
	case ORDERS:
		order_column(c, out, column);
		break;
	case SEGMENTS:
		return segment_column(c, out, column);
	case SUMS:
		return sum_column(c, out, column);
	default:
		track_column(out, &g->tracks[c->track], column);
	}
	return SQLITE_OK;
}

/* ---- modules ---- */

static int path_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = 1e6;
	info->estimatedRows = 100000;
	return SQLITE_OK;
}

static int path_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
	int code = virtual_table_open(table, ret_cursor);
	table_of(table)->shared->cursors += !code;
	return code;
}

static int path_close(sqlite3_vtab_cursor *cursor)
{
	struct path_cursor *c = (struct path_cursor *)cursor;
	struct shared *shared = table_of(cursor->pVtab)->shared;
	if (!--shared->cursors)
		path_holds_rest(&shared->graph);
	path_parts_release(&c->parts);
	path_sums_release(&c->sums);
	free(c->goals);
	free(c);
	return SQLITE_OK;
}

static int path_eof(sqlite3_vtab_cursor *cursor)
{
	return ((const struct path_cursor *)cursor)->ended;
}

static int path_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
	const struct path_cursor *c = (const struct path_cursor *)cursor;
	*ret_rowid = (sqlite3_int64)((uint64_t)c->track << 32 | c->index);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = virtual_table_connect,
	.xDisconnect = virtual_table_disconnect,
	.xBestIndex = path_best_index,
	.xOpen = path_open,
	.xClose = path_close,
	.xFilter = path_filter,
	.xNext = path_next,
	.xEof = path_eof,
	.xColumn = path_column,
	.xRowid = path_rowid,
};

/* Free what the tables share. `table` is the user data of one of them. */
static void shared_destroy(void *table)
{
	struct shared *s = ((const struct path_table *)table)->shared;
	path_waits_free(&s->graph);
	path_facts_free(&s->graph);
	path_events_free(&s->graph);
	path_functions_free(&s->graph);
	path_things_free(&s->graph);
	path_holds_free(&s->graph);
	path_graph_release(&s->graph);
	free(s);
}

/* Return whether a call has much to do when what it waited for has happened: the start and the end
 * of MPI in a process. */
static bool works_after_wait(const char *name)
{
	return !strcmp(name, "MPI_Init") || !strcmp(name, "MPI_Init_thread") ||
		!strcmp(name, "MPI_Finalize");
}

/* SQL: path_cause(kind, track, name, is_timeout, thing), the cause of a segment in words. `thing`:
 * what follows the name of a call, or NULL. */
static void path_cause(sqlite3_context *out, int count, sqlite3_value **v)
{
	static const struct {
		const char *kind, *cause;
		const char *with_name; /* comes before the name of the call, operation or function,
					* if there is one; NULL = it does not matter */
	} causes[] = {{"between", "computing", "computing in "},
		{"runnable", "runnable, no CPU", "runnable, no CPU, in "},
		{"off", "off the CPU, in no recorded call", "off the CPU in "},
		{"before", "before the first event", NULL}, {"wake", "", "waking up from "},
		{"launch", "", "launch of "}, {"queue", "between operations of a stream", NULL}};
	const char *kind = (const char *)sqlite3_value_text(v[0]);
	const char *name = (const char *)sqlite3_value_text(v[2]);
	const int64_t track = sqlite3_value_int64(v[1]);
	const char *before = "", *after = sqlite3_value_int(v[3]) ? " (timeout)" : "";
	const char *thing = (const char *)sqlite3_value_text(v[4]);
	(void)count;
	if (kind && !strcmp(kind, "begin")) {
		const bool is_first = (track >> 24 & 0xffffff) == (track & 0xffffff);
		result_text(out, is_first ? "start of process" : "start of thread");
		return;
	}
	if (kind && name && !strcmp(kind, "wake") && (track < 0 || works_after_wait(name)))
		kind = "span";
	for (size_t i = 0; kind && i < sizeof(causes) / sizeof(causes[0]); i++) {
		if (strcmp(kind, causes[i].kind))
			continue;
		name = causes[i].with_name ? name : NULL;
		before = name ? causes[i].with_name : causes[i].cause;
		name = name ? name : "";
		after = "";
	}
	if (name)
		sqlite3_result_text(out,
			sqlite3_mprintf(
				"%s%s%s%s", before, name, *name && thing ? thing : "", after),
			-1, sqlite3_free);
}

int path_tables_add(struct sql *s)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	int code = shared ? SQLITE_OK : SQLITE_NOMEM;
	/* the last module owns what they share; they all end with the connection */
	for (int i = 0; !code && i < TABLES; i++) {
		shared->tables[i] = (struct path_table){
			{declarations[i], sizeof(struct path_cursor)}, i, shared};
		code = sqlite3_create_module_v2(s->connection, names[i], &module,
			&shared->tables[i], i == TABLES - 1 ? shared_destroy : NULL);
	}
	if (!code)
		code = sqlite3_create_function(s->connection, "path_cause", 5,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL, path_cause,
			NULL, NULL);
	return code ? -ENOMEM : 0;
}

#else

int path_tables_add(struct sql *s)
{
	(void)s;
	return 0;
}

#endif
