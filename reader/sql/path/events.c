/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - waits of streams, and records of events. The order of the correlation ids of a process
 * is that of its calls: a wait is for the last record of its event before it, and that for the last
 * operation before the record in its stream.
 *
 * The default stream of a context (flag 3: null) waits for what was launched before in its blocking
 * streams (flag 1), and they for what was launched before in the default stream.
 */
#include "reader/sql/path/events.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>

#include "common/array.h"

struct mark {
	int64_t process, context, stream, event;
	uint32_t correlation;
};

struct marks {
	struct mark *list;
	uint32_t count, capacity;
};

/* How a stream is ordered: it waits for no other, or for the default stream of its context, or is
 * that stream. */
enum order { ORDER_NONE, ORDER_BLOCKING, ORDER_DEFAULT };

struct ordered_stream {
	int64_t process, context, stream;
	enum order order;
};

/* A track of a stream. */
struct stream_track {
	int64_t process, context, stream;
	enum order order;
	uint32_t track;
};

struct path_events {
	struct ordered_stream *streams; /* sorted; NULL = no default stream with operations */
	struct stream_track *tracks;    /* sorted by process, context, order, stream, track */
	uint32_t stream_count, stream_capacity, track_count;
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

static int stream_row(void *user, sqlite3_stmt *in)
{
	struct path_events *e = user;
	if (array_room(&e->streams, e->stream_count, &e->stream_capacity, sizeof(*e->streams)))
		return SQLITE_NOMEM;
	e->streams[e->stream_count++] = (struct ordered_stream){sqlite3_column_int64(in, 0),
		sqlite3_column_int64(in, 1), sqlite3_column_int64(in, 2),
		sqlite3_column_int(in, 3) ? ORDER_DEFAULT : ORDER_BLOCKING};
	return SQLITE_OK;
}

static int stream_order(const void *one, const void *two)
{
	const struct ordered_stream *a = one, *b = two;
	int order = number_order(a->process, b->process);
	order = order ? order : number_order(a->context, b->context);
	return order ? order : number_order(a->stream, b->stream);
}

static enum order order_of(
	const struct path_events *e, int64_t process, int64_t context, int64_t stream)
{
	const struct ordered_stream key = {process, context, stream, ORDER_NONE},
				    *found = e->stream_count
		? bsearch(&key, e->streams, e->stream_count, sizeof(key), stream_order)
		: NULL;
	return found ? found->order : ORDER_NONE;
}

static int track_order(const void *one, const void *two)
{
	const struct stream_track *a = one, *b = two;
	int order = number_order(a->process, b->process);
	order = order ? order : number_order(a->context, b->context);
	order = order ? order : number_order(a->order, b->order);
	order = order ? order : number_order(a->stream, b->stream);
	return order ? order : number_order(a->track, b->track);
}

/* Return the index of the first element of a sorted list that is not before the key. */
static uint32_t sorted_find(const void *list, uint32_t count, size_t bytes, const void *key,
	int (*order)(const void *one, const void *two))
{
	uint32_t low = 0, high = count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (order((const char *)list + middle * bytes, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t track_find(const struct path_events *e, const struct stream_track *key)
{
	return sorted_find(e->tracks, e->track_count, sizeof(*e->tracks), key, track_order);
}

/* Collect the tracks of streams. */
static int tracks_collect(struct path_graph *g)
{
	struct path_events *e = g->events;
	if (e->stream_count)
		qsort(e->streams, e->stream_count, sizeof(*e->streams), stream_order);
	e->tracks = malloc((g->track_count + 1) * sizeof(*e->tracks));
	if (!e->tracks)
		return SQLITE_NOMEM;
	for (uint32_t i = 0; i < g->track_count; i++) {
		const struct path_track *t = &g->tracks[i];
		if (t->is_stream)
			e->tracks[e->track_count++] = (struct stream_track){t->process, t->context,
				t->stream, order_of(e, t->process, t->context, t->stream), i};
	}
	qsort(e->tracks, e->track_count, sizeof(*e->tracks), track_order);
	return SQLITE_OK;
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
	static const char streams[] =
		"SELECT DISTINCT hwId << 32 | vmId << 24 | processId, coalesce(contextId, 0), "
		"streamId, flag = 3 FROM temp.TARGET_INFO_CUDA_STREAM WHERE flag IN (1, 3)";
	if (g->events)
		return SQLITE_OK;
	g->events = calloc(1, sizeof(*g->events));
	if (!g->events)
		return SQLITE_NOMEM;
	int code = marks_read(g, &g->events->waits, waits, wait_order);
	code = code ? code : marks_read(g, &g->events->records, records, record_order);
	code = code ? code : path_rows(g->connection, streams, g->events, stream_row);
	return code ? code : tracks_collect(g);
}

void path_events_free(struct path_graph *g)
{
	if (g->events) {
		free(g->events->streams);
		free(g->events->tracks);
	}
	free(g->events);
	g->events = NULL;
}

static uint32_t mark_find(const struct marks *m, const struct mark *key,
	int (*order)(const void *one, const void *two))
{
	return sorted_find(m->list, m->count, sizeof(*m->list), key, order);
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
	const struct path_events *e = g->events;
	const struct stream_track key = {r->process, r->context, r->stream,
		order_of(e, r->process, r->context, r->stream), 0};
	for (uint32_t i = track_find(e, &key); i < e->track_count; i++) {
		const struct stream_track *lane = &e->tracks[i];
		if (lane->process != r->process || lane->context != r->context ||
			lane->stream != r->stream)
			break;
		const struct path_call *c =
			launched_before(&g->tracks[lane->track], r->correlation);
		if (c && (!found || c->end > found->end)) {
			found = c;
			*ret_track = lane->track;
		}
	}
	return found;
}

/* Find the operation of the next event that an operation waits for, from the `*at`-th wait on,
 * which is moved behind it; NULL = there is no further one. */
static const struct path_call *event_next(const struct path_graph *g, const struct path_track *t,
	const struct path_call *c, uint32_t *at, uint32_t *ret_track)
{
	const struct marks *waits = &g->events->waits;
	while (*at < waits->count) {
		const struct mark *wait = &waits->list[*at];
		if (wait->process != t->process || wait->context != t->context ||
			wait->stream != t->stream || wait->correlation >= c->object)
			break;
		++*at;
		const struct path_call *work = waited_for(g, wait, ret_track);
		if (work && work->end <= c->start)
			return work;
	}
	return NULL;
}

/* Find the next operation that an operation waits for since one of both is in the default stream.
 * What was launched before the one before it in its stream, that one has waited for. */
static const struct path_call *ordered_next(
	const struct path_graph *g, struct path_event_search *search, uint32_t *ret_track)
{
	while (search->ordered < search->ordered_end) {
		const uint32_t track = g->events->tracks[search->ordered++].track;
		const struct path_call *work =
			launched_before(&g->tracks[track], search->call->object);
		if (work && work->object > search->after && work->end <= search->call->start) {
			*ret_track = track;
			return work;
		}
	}
	return NULL;
}

struct path_event_search path_event_begin(const struct path_graph *g, uint32_t track,
	const struct path_call *c, const struct path_call *before)
{
	const struct path_track *t = &g->tracks[track];
	const struct mark key = {.process = t->process,
		.context = t->context,
		.stream = t->stream,
		.correlation = before ? before->object : 0};
	const struct path_events *e = g->events;
	const enum order order = order_of(e, t->process, t->context, t->stream);
	/* the default stream and those that wait for it wait for each other */
	const enum order others = order == ORDER_BLOCKING ? ORDER_DEFAULT : ORDER_BLOCKING;
	const struct stream_track first = {t->process, t->context, INT64_MIN, others, 0},
				  last = {t->process, t->context, INT64_MAX, others, PATH_NOWHERE};
	const bool has_others = t->is_stream && order != ORDER_NONE;
	return (struct path_event_search){.track = track,
		.call = c,
		.wait = mark_find(&e->waits, &key, wait_order),
		.ordered = has_others ? track_find(e, &first) : 0,
		.ordered_end = has_others ? track_find(e, &last) : 0,
		.after = key.correlation};
}

const struct path_call *path_event_next(
	const struct path_graph *g, struct path_event_search *s, uint32_t *ret_track)
{
	const struct path_track *t = &g->tracks[s->track];
	const struct path_call *found = event_next(g, t, s->call, &s->wait, ret_track);
	return found ? found : ordered_next(g, s, ret_track);
}

const struct path_call *path_event_find(const struct path_graph *g, uint32_t track,
	const struct path_call *c, const struct path_call *before, uint32_t *ret_track)
{
	struct path_event_search s = path_event_begin(g, track, c, before);
	const struct path_call *work, *found = NULL;
	uint32_t other = PATH_NOWHERE;
	while ((work = path_event_next(g, &s, &other)))
		if (!found || work->end > found->end) {
			found = work;
			*ret_track = other;
		}
	return found;
}

#endif
