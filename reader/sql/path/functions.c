/* SPDX-License-Identifier: Apache-2.0 */
/* functions.c - calls of functions of libraries, cut where other ones are in them. */
#include "reader/sql/path/functions.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>

struct list { /* in the graph's `spill` */
	struct path_function *items;
	uint32_t count, capacity;
};

struct path_functions {
	struct list stretches;
};

struct reading {
	struct path_graph *graph;
	struct list calls;
};

static int item_add(struct path_graph *g, struct list *l, const struct path_function *item)
{
	const int code = path_room(g, &l->items, l->count, &l->capacity, sizeof(*l->items));
	if (!code)
		l->items[l->count++] = *item;
	return code;
}

static int call_row(void *user, sqlite3_stmt *in)
{
	struct reading *r = user;
	struct path_function call;
	if (sqlite3_column_type(in, 0) != SQLITE_INTEGER || !path_is_time(in, 1, &call.start) ||
		!path_is_time(in, 2, &call.end) || call.end <= call.start)
		return SQLITE_OK;
	call.track = path_graph_track(r->graph, sqlite3_column_int64(in, 0));
	if (call.track == PATH_NOWHERE)
		return SQLITE_OK;
	call.name = path_name_of_text(
		r->graph, PATH_FUNCTION, (const char *)sqlite3_column_text(in, 3));
	return call.name == PATH_NOWHERE ? SQLITE_NOMEM : item_add(r->graph, &r->calls, &call);
}

/* Order calls by thread and start; of those that begin together the longest comes first. */
static int call_order(const void *one, const void *two)
{
	const struct path_function *a = one, *b = two;
	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->end < b->end) - (a->end > b->end);
}

/* Add the stretch of the innermost open call from `from` on. */
static int stretch_add(struct path_graph *g, const struct list *open, int64_t from, int64_t end)
{
	struct path_function stretch = open->items[open->count - 1];
	stretch.start = from;
	stretch.end = end;
	return from < end ? item_add(g, &g->functions->stretches, &stretch) : SQLITE_OK;
}

/* Close the open calls that end before the next call, which is NULL at the end. *time: up to here,
 * stretches have been added. */
static int calls_close(
	struct path_graph *g, struct list *open, const struct path_function *next, int64_t *time)
{
	int code = SQLITE_OK;
	while (!code && open->count) {
		const struct path_function *inner = &open->items[open->count - 1];
		if (next && next->track == inner->track && next->start < inner->end)
			break;
		code = stretch_add(g, open, *time, inner->end);
		*time = inner->end > *time ? inner->end : *time;
		open->count--;
	}
	return code;
}

/* Cut sorted calls into stretches. */
static int calls_cut(struct path_graph *g, const struct list *calls)
{
	struct list open = {0};
	int64_t time = INT64_MIN;
	int code = SQLITE_OK;
	for (uint32_t i = 0; !code && i < calls->count; i++) {
		const struct path_function *call = &calls->items[i];
		code = calls_close(g, &open, call, &time);
		if (!code && open.count)
			code = stretch_add(g, &open, time, call->start);
		time = call->start;
		code = code ? code : item_add(g, &open, call);
	}
	return code ? code : calls_close(g, &open, NULL, &time);
}

int path_functions_read(struct path_graph *g)
{
	static const char calls[] =
		"SELECT globalTid, start, \"end\", name FROM temp.PATH_FUNCTION_CALLS";
	struct reading r = {.graph = g};
	if (g->functions)
		return SQLITE_OK;
	g->functions = calloc(1, sizeof(*g->functions));
	int code = g->functions ? path_rows(g->connection, calls, &r, call_row) : SQLITE_NOMEM;
	code = code ? code
		    : path_sort(g, &r.calls.items, r.calls.count, &r.calls.capacity,
			      sizeof(*r.calls.items), call_order);
	return code ? code : calls_cut(g, &r.calls);
}

void path_functions_free(struct path_graph *g)
{
	free(g->functions);
	g->functions = NULL;
}

const struct path_function *path_functions_after(const struct path_graph *g, uint32_t track,
	int64_t time, const struct path_function **ret_end)
{
	const struct list *l = &g->functions->stretches;
	uint32_t low = 0, high = l->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct path_function *at = &l->items[middle];
		if (at->track != track ? at->track < track : at->end <= time)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_end = l->items + l->count;
	return l->items + low;
}

#endif
