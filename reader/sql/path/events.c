/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - waits of streams, and records of events. The order of the correlation ids of a process
 * is that of its calls: a wait is for the last record of its event before it, and that for the last
 * operation before the record in its stream.
 */
#include "reader/sql/path/events.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>

struct mark {
	int64_t process, context, stream, event;
	uint32_t correlation;
};

struct marks {
	struct mark *list;
	uint32_t count, capacity;
};

struct path_events {
	struct marks waits;   /* sorted by process, context, stream, correlation id */
	struct marks records; /* sorted by process, event, correlation id */
};

struct reading {
	struct path_graph *graph;
	struct marks *marks;
};

static int mark_row(void *user, sqlite3_stmt *in)
{
	const struct reading *r = user;
	struct marks *m = r->marks;
	int code = path_room(r->graph, &m->list, m->count, &m->capacity, sizeof(*m->list));
	if (code)
		return code;
	m->list[m->count++] = (struct mark){sqlite3_column_int64(in, 0),
		sqlite3_column_int64(in, 1), sqlite3_column_int64(in, 2),
		sqlite3_column_int64(in, 3), (uint32_t)sqlite3_column_int64(in, 4)};
	return SQLITE_OK;
}

static int number_order(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int wait_order(const void *one, const void *two)
{
	const struct mark *a = one, *b = two;
	int order = number_order(a->process, b->process);
	order = order ? order : number_order(a->context, b->context);
	order = order ? order : number_order(a->stream, b->stream);
	return order ? order : number_order(a->correlation, b->correlation);
}

static int record_order(const void *one, const void *two)
{
	const struct mark *a = one, *b = two;
	int order = number_order(a->process, b->process);
	order = order ? order : number_order(a->event, b->event);
	return order ? order : number_order(a->correlation, b->correlation);
}

static int marks_read(struct path_graph *g, struct marks *m, const char *text,
	int (*order)(const void *one, const void *two))
{
	struct reading r = {g, m};
	int code = path_rows(g->connection, text, &r, mark_row);
	return code ? code
		    : path_sort(g, &m->list, m->count, &m->capacity, sizeof(*m->list), order);
}

int path_events_read(struct path_graph *g)
{
	static const char waits[] =
		"SELECT globalPid >> 24, coalesce(contextId, 0), coalesce(streamId, 0), eventId, "
		"correlationId FROM temp.CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE syncType = 2 "
		"AND correlationId <> 0";
	static const char records[] =
		"SELECT globalPid >> 24, coalesce(contextId, 0), coalesce(streamId, 0), eventId, "
		"correlationId FROM temp.CUPTI_ACTIVITY_KIND_CUDA_EVENT WHERE correlationId <> 0";
	if (g->events)
		return SQLITE_OK;
	g->events = calloc(1, sizeof(*g->events));
	if (!g->events)
		return SQLITE_NOMEM;
	int code = marks_read(g, &g->events->waits, waits, wait_order);
	return code ? code : marks_read(g, &g->events->records, records, record_order);
}

void path_events_free(struct path_graph *g)
{
	free(g->events);
	g->events = NULL;
}

/* Return the index of the first mark that is not before another one. */
static uint32_t mark_find(const struct marks *m, const struct mark *key,
	int (*order)(const void *one, const void *two))
{
	uint32_t low = 0, high = m->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (order(&m->list[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Return the last operation of a stream that was launched before a correlation id; NULL = none. */
static const struct path_call *launched_before(const struct path_track *t, uint32_t correlation)
{
	uint32_t low = 0, high = t->outer;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (t->calls[middle].object < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &t->calls[low - 1] : NULL;
}

/* Return the operation that a wait was for, of the lanes of a stream the last one; NULL = not
 * known. */
static const struct path_call *waited_for(
	const struct path_graph *g, const struct mark *wait, uint32_t *ret_track)
{
	const struct marks *records = &g->events->records;
	const uint32_t next = mark_find(records, wait, record_order);
	const struct mark *r = next ? &records->list[next - 1] : NULL;
	if (!r || r->process != wait->process || r->event != wait->event)
		return NULL;
	const struct path_call *found = NULL;
	for (uint32_t i = 0; i < g->track_count; i++) {
		const struct path_track *t = &g->tracks[i];
		const bool is_lane = t->is_stream && t->process == r->process &&
			t->context == r->context && t->stream == r->stream;
		const struct path_call *c = is_lane ? launched_before(t, r->correlation) : NULL;
		if (c && (!found || c->end > found->end)) {
			found = c;
			*ret_track = i;
		}
	}
	return found;
}

const struct path_call *path_event_find(const struct path_graph *g, uint32_t track,
	const struct path_call *c, const struct path_call *before, uint32_t *ret_track)
{
	const struct path_track *t = &g->tracks[track];
	const struct marks *waits = &g->events->waits;
	const struct mark key = {.process = t->process,
		.context = t->context,
		.stream = t->stream,
		.correlation = before ? before->object : 0};
	const struct path_call *found = NULL;
	for (uint32_t i = mark_find(waits, &key, wait_order); i < waits->count; i++) {
		const struct mark *wait = &waits->list[i];
		uint32_t other = PATH_NOWHERE;
		if (wait->process != t->process || wait->context != t->context ||
			wait->stream != t->stream || wait->correlation >= c->object)
			break;
		const struct path_call *work = waited_for(g, wait, &other);
		if (work && work->end <= c->start && (!found || work->end > found->end)) {
			found = work;
			*ret_track = other;
		}
	}
	return found;
}

#endif
