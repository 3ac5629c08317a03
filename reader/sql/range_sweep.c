/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_sweep.c - the virtual tables nested_ranges and range_launches.
 *
 * An inner statement sorts the rows of the view. A stack contains the open ranges. Ranges
 * that cross (start/end ranges may) leave ended ranges below open ones. Ended ranges are removed
 * whenever the stack has doubled, so its size stays proportional to the number of open ranges.
 */
#define _GNU_SOURCE
#include "reader/sql/range_sweep.h"

#ifdef HAVE_SQLITE

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/sql/virtual_table.h"

#define DEPTH_SHOWN 200u
#define COMPACT_LEAST 64u /* a stack of fewer ranges is not compacted */

enum ranges_column {
	ID,
	PARENT,
	LEVEL,
	CHILDREN,
	CHILD_NS,
	OPERATIONS,
	FIRST,
	LAST,
	STACK,
	VISITED,
	RANGES_SOURCE
};
enum launches_column { LAUNCH, THREAD, RANGE, PLACE, LAUNCHES_SOURCE };
enum input_column { IN_THREAD, IN_START, IN_END, IN_RANGE, IN_LAUNCH, IN_FIRST, IN_LAST };

struct sweep_kind {
	struct virtual_kind base;
	const char *name;
	int source; /* index of the hidden column */
	bool launches;
};

struct open_range {
	int64_t id, end, ns;
	uint32_t parent; /* 1 + index of the parent in the stack; 0 = none */
	uint32_t level;
	int64_t children, child_ns, operations, first, last;
	uint32_t moved; /* index of the range after the stack is compacted */
};

/* A row of the table. */
struct sweep_row {
	struct open_range range;
	int64_t parent_id, launch, place;
	char *stack;
};

struct sweep_cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *input;
	bool wants_stack;
	struct open_range *open;
	uint32_t open_count, open_capacity;
	uint32_t live;          /* open ranges after the last time the stack was compacted */
	struct sweep_row *rows; /* rows to return; the first `returned` of them are done */
	uint32_t row_count, row_capacity, returned;
	bool has_thread, ended; /* has_thread: `thread` is not NULL */
	int64_t thread;
	uint64_t visited;
	sqlite3_int64 rowid;
};

static const struct sweep_kind kinds[] = {
	{{"CREATE TABLE x (id, parent, level, children, child_ns, operations, first, last, "
	  "stack, visited, source HIDDEN)",
		 sizeof(struct sweep_cursor)},
		"nested_ranges", RANGES_SOURCE, false},
	{{"CREATE TABLE x (launch, thread, range, place, source HIDDEN)",
		 sizeof(struct sweep_cursor)},
		"range_launches", LAUNCHES_SOURCE, true},
};

static const struct sweep_kind *kind_of(const sqlite3_vtab *table)
{
	return (const struct sweep_kind *)((const struct virtual_table *)table)->kind;
}

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static int64_t between(int64_t start, int64_t end)
{
	int64_t ns;
	return __builtin_sub_overflow(end, start, &ns) ? INT64_MAX : ns;
}

static struct sweep_row *row_add(struct sweep_cursor *c)
{
	if (array_room(&c->rows, c->row_count, &c->row_capacity, sizeof(*c->rows)))
		return NULL;
	struct sweep_row *row = &c->rows[c->row_count++];
	*row = (struct sweep_row){0};
	return row;
}

/* Return the ids of a range and of its enclosing ranges, outermost first. Of a deep stack, only
 * the innermost DEPTH_SHOWN are included. Returns NULL when out of memory. */
static char *stack_text(const struct sweep_cursor *c, const struct open_range *r)
{
	char text[DEPTH_SHOWN * 21 + 1], number[24];
	size_t at = sizeof(text) - 1;
	text[at] = 0;
	for (uint32_t depth = 0; r && depth < DEPTH_SHOWN; depth++) {
		int length = snprintf(number, sizeof(number), ":%lld", (long long)r->id);
		at -= (size_t)length;
		memcpy(text + at, number, (size_t)length);
		r = r->parent ? &c->open[r->parent - 1] : NULL;
	}
	return strdup(text + at);
}

/* Return a range that has ended as a row. Its enclosing ranges are still on the stack. */
static int range_return(struct sweep_cursor *c, const struct open_range *r)
{
	const bool launches = kind_of(c->base.pVtab)->launches;
	struct sweep_row *row = launches ? NULL : row_add(c);
	if (!row)
		return launches ? SQLITE_OK : SQLITE_NOMEM;
	row->range = *r;
	row->parent_id = r->parent ? c->open[r->parent - 1].id : 0;
	row->stack = c->wants_stack ? stack_text(c, r) : NULL;
	return c->wants_stack && !row->stack ? SQLITE_NOMEM : SQLITE_OK;
}

/* Remove ended ranges from the top of the stack. */
static int ended_pop(struct sweep_cursor *c, int64_t now, bool all)
{
	int code = SQLITE_OK;
	while (!code && c->open_count && (all || c->open[c->open_count - 1].end < now))
		code = range_return(c, &c->open[--c->open_count]);
	return code;
}

/* Remove ended ranges from the whole stack; inner ranges are returned first. */
static int ended_remove(struct sweep_cursor *c, int64_t now)
{
	int code = SQLITE_OK;
	uint32_t kept = 0;
	for (uint32_t i = c->open_count; !code && i-- > 0;)
		if (c->open[i].end < now)
			code = range_return(c, &c->open[i]);
	for (uint32_t i = 0; i < c->open_count; i++)
		c->open[i].moved = c->open[i].end < now ? kept : kept++;
	for (uint32_t i = 0; i < c->open_count; i++)
		if (c->open[i].parent)
			c->open[i].parent = 1 + c->open[c->open[i].parent - 1].moved;
	for (uint32_t i = 0; i < c->open_count; i++)
		if (c->open[i].end >= now)
			c->open[c->open[i].moved] = c->open[i];
	c->open_count = kept;
	c->live = kept;
	return code;
}

static int range_open(struct sweep_cursor *c, int64_t id, int64_t start, int64_t end)
{
	if (array_room(&c->open, c->open_count, &c->open_capacity, sizeof(*c->open)))
		return SQLITE_NOMEM;
	uint32_t around = c->open_count;
	while (around && (c->open[around - 1].end < end || c->open[around - 1].end <= start)) {
		around--;
		c->visited++;
	}
	struct open_range *parent = around ? &c->open[around - 1] : NULL;
	c->open[c->open_count++] = (struct open_range){.id = id,
		.end = end,
		.ns = between(start, end),
		.parent = around,
		.level = parent ? parent->level + 1 : 0};
	c->visited++;
	if (parent) {
		parent->children++;
		parent->child_ns = add(parent->child_ns, between(start, end));
	}
	return SQLITE_OK;
}

/* Add a launch to its enclosing ranges, or return a row for each of them. */
static int launch_add(struct sweep_cursor *c, int64_t launch, int64_t end)
{
	const bool launches = kind_of(c->base.pVtab)->launches;
	int64_t first = sqlite3_column_int64(c->input, IN_FIRST);
	int64_t last = sqlite3_column_int64(c->input, IN_LAST);
	int64_t place = 0;
	for (uint32_t i = c->open_count; i-- > 0; c->visited++) {
		struct open_range *r = &c->open[i];
		if (r->end < end)
			continue;
		r->first = r->operations && r->first < first ? r->first : first;
		r->last = r->operations && r->last > last ? r->last : last;
		r->operations++;
		struct sweep_row *row = launches ? row_add(c) : NULL;
		if (launches && !row)
			return SQLITE_NOMEM;
		if (row)
			*row = (struct sweep_row){.range = *r, .launch = launch, .place = place};
		place++;
	}
	if (!launches || place)
		return SQLITE_OK; /* `place` is the number of ranges that enclose the launch */
	struct sweep_row *row = row_add(c);
	if (row)
		*row = (struct sweep_row){.launch = launch, .place = -1};
	return row ? SQLITE_OK : SQLITE_NOMEM;
}

/* Process the current row of the inner statement. The first row of another thread only closes the
 * ranges of the previous thread; a second call then processes the row. */
static int input_take(struct sweep_cursor *c, bool *ret_taken)
{
	sqlite3_stmt *in = c->input;
	bool has_thread = sqlite3_column_type(in, IN_THREAD) != SQLITE_NULL;
	int64_t thread = sqlite3_column_int64(in, IN_THREAD);
	int64_t start = sqlite3_column_int64(in, IN_START), end = sqlite3_column_int64(in, IN_END);
	bool next = thread != c->thread || has_thread != c->has_thread;
	*ret_taken = !next;
	int code = ended_pop(c, start, next);
	c->thread = thread;
	c->has_thread = has_thread;
	if (next || code)
		return code;
	if (c->open_count > COMPACT_LEAST && c->open_count / 2 > c->live)
		code = ended_remove(c, start);
	if (code)
		return code;
	if (sqlite3_column_type(in, IN_RANGE) == SQLITE_NULL)
		return launch_add(c, sqlite3_column_int64(in, IN_LAUNCH), end);
	return range_open(c, sqlite3_column_int64(in, IN_RANGE), start, end);
}

static void rows_release(struct sweep_cursor *c)
{
	for (uint32_t i = 0; i < c->row_count; i++)
		free(c->rows[i].stack);
	c->row_count = c->returned = 0;
}

/* Process input rows until there are rows to return, or to the end. */
static int sweep_on(struct sweep_cursor *c)
{
	int code = SQLITE_OK;
	rows_release(c);
	while (!code && !c->row_count && !c->ended) {
		int step = sqlite3_step(c->input);
		bool taken = step != SQLITE_ROW;
		c->ended = step == SQLITE_DONE;
		code = c->ended ? ended_pop(c, 0, true) : taken ? step : SQLITE_OK;
		while (!code && !taken)
			code = input_take(c, &taken);
	}
	return code ? virtual_table_failed(&c->base, code) : SQLITE_OK;
}

/* ---- module of virtual tables ---- */

/* Require the name of the view. idxNum is set if the column `stack` is read. */
static int sweep_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	const struct sweep_kind *kind = kind_of(table);
	info->estimatedCost = 1e6;
	info->estimatedRows = 1000000;
	info->idxNum = !kind->launches && info->colUsed >> STACK & 1;
	for (int i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].usable && info->aConstraint[i].iColumn == kind->source &&
			info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ) {
			info->aConstraintUsage[i].argvIndex = 1;
			info->aConstraintUsage[i].omit = 1;
			return SQLITE_OK;
		}
	return SQLITE_CONSTRAINT;
}

static int sweep_close(sqlite3_vtab_cursor *cursor)
{
	struct sweep_cursor *c = (struct sweep_cursor *)cursor;
	sqlite3_finalize(c->input);
	rows_release(c);
	free(c->rows);
	free(c->open);
	free(c);
	return SQLITE_OK;
}

static int sweep_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int count,
	sqlite3_value **values)
{
	struct sweep_cursor *c = (struct sweep_cursor *)cursor;
	const struct virtual_table *t = (const struct virtual_table *)cursor->pVtab;
	(void)text, (void)count;
	sqlite3_finalize(c->input);
	c->input = NULL;
	char *statement = sqlite3_mprintf(
		"SELECT thread, start, \"end\", range, launch, first, last FROM temp.\"%w\" "
		"ORDER BY thread, start, range IS NULL, \"end\" DESC, coalesce(range, launch)",
		sqlite3_value_text(values[0]));
	int code = !statement ? SQLITE_NOMEM
			      : sqlite3_prepare_v2(t->connection, statement, -1, &c->input, NULL);
	sqlite3_free(statement);
	c->wants_stack = number != 0;
	c->open_count = c->live = 0;
	c->has_thread = c->ended = false;
	c->visited = 0;
	c->thread = 0;
	c->rowid = 0;
	return code ? virtual_table_failed(&c->base, code) : sweep_on(c);
}

static int sweep_next(sqlite3_vtab_cursor *cursor)
{
	struct sweep_cursor *c = (struct sweep_cursor *)cursor;
	c->rowid++;
	return ++c->returned < c->row_count ? SQLITE_OK : sweep_on(c);
}

static int sweep_eof(sqlite3_vtab_cursor *cursor)
{
	const struct sweep_cursor *c = (const struct sweep_cursor *)cursor;
	return c->returned >= c->row_count;
}

static void launches_column(sqlite3_context *context, const struct sweep_cursor *c,
	const struct sweep_row *r, int column)
{
	if (column == LAUNCH)
		sqlite3_result_int64(context, r->launch);
	else if (column == THREAD && c->has_thread)
		sqlite3_result_int64(context, c->thread);
	else if (column == RANGE && r->place >= 0)
		sqlite3_result_int64(context, r->range.id);
	else if (column == PLACE)
		sqlite3_result_int64(context, r->place < 0 ? 0 : r->place);
}

static void ranges_column(sqlite3_context *context, const struct sweep_cursor *c,
	const struct sweep_row *r, int column)
{
	const struct open_range *o = &r->range;
	const int64_t numbers[] = {[ID] = o->id,
		[PARENT] = r->parent_id,
		[LEVEL] = o->level,
		[CHILDREN] = o->children,
		[CHILD_NS] = o->child_ns,
		[OPERATIONS] = o->operations,
		[FIRST] = o->first,
		[LAST] = o->last,
		[VISITED] = (int64_t)c->visited};
	bool is_null = (column == PARENT && !o->parent) ||
		((column == FIRST || column == LAST) && !o->operations);
	if (column == STACK && r->stack)
		sqlite3_result_text(context, r->stack, -1, SQLITE_TRANSIENT);
	else if (column < RANGES_SOURCE && column != STACK && !is_null)
		sqlite3_result_int64(context, numbers[column]);
}

static int sweep_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	const struct sweep_cursor *c = (const struct sweep_cursor *)cursor;
	if (kind_of(cursor->pVtab)->launches)
		launches_column(context, c, &c->rows[c->returned], column);
	else
		ranges_column(context, c, &c->rows[c->returned], column);
	return SQLITE_OK;
}

static int sweep_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
	*ret_rowid = ((const struct sweep_cursor *)cursor)->rowid;
	return SQLITE_OK;
}

int range_sweep_add(struct sql *s)
{
	static const sqlite3_module module = {.xConnect = virtual_table_connect,
		.xBestIndex = sweep_best_index,
		.xDisconnect = virtual_table_disconnect,
		.xOpen = virtual_table_open,
		.xClose = sweep_close,
		.xFilter = sweep_filter,
		.xNext = sweep_next,
		.xEof = sweep_eof,
		.xColumn = sweep_column,
		.xRowid = sweep_rowid};
	int code = 0;
	for (size_t i = 0; !code && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		code = sqlite3_create_module_v2(
			s->connection, kinds[i].name, &module, (void *)(uintptr_t)&kinds[i], NULL);
	return code ? -ENOMEM : 0;
}

#else

int range_sweep_add(struct sql *s)
{
	(void)s;
	return 0;
}

#endif
