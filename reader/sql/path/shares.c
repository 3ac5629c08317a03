/* SPDX-License-Identifier: Apache-2.0 */
/* shares.c - spans of known processor time, sorted by track and time. */
#include "reader/sql/path/shares.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>

#define NOISE 100 /* a rest below a hundredth of the gap is that of two clocks */

struct fact {
	int64_t start, end, cpu, delay;
	int64_t gap_ns; /* time of long gaps between calls in it; -1 = not computed */
	uint32_t track;
	bool is_exact;
};

struct path_facts {
	struct fact *list;
	uint32_t count, capacity;
};

static int fact_row(void *user, sqlite3_stmt *in)
{
	struct path_graph *g = user;
	struct path_facts *f = g->facts;
	const uint32_t track = path_graph_track(g, sqlite3_column_int64(in, 0));
	const int64_t start = sqlite3_column_int64(in, 1), end = sqlite3_column_int64(in, 2);
	if (track == PATH_NOWHERE || start >= end || start < -PATH_TIME_MAX || end > PATH_TIME_MAX)
		return SQLITE_OK;
	int code = path_room(g, &f->list, f->count, &f->capacity, sizeof(*f->list));
	if (code)
		return code;
	f->list[f->count++] = (struct fact){start, end, sqlite3_column_int64(in, 3),
		sqlite3_column_int64(in, 4), -1, track, sqlite3_column_int(in, 5) != 0};
	return SQLITE_OK;
}

static int fact_order(const void *one, const void *two)
{
	const struct fact *a = one, *b = two;
	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

int path_facts_read(struct path_graph *g)
{
	static const char facts[] =
		"SELECT globalTid, start, \"end\", cpu, delay, is_exact FROM temp.PATH_FACTS";
	if (g->facts)
		return SQLITE_OK;
	g->facts = calloc(1, sizeof(*g->facts));
	int code = g->facts ? path_rows(g->connection, facts, g, fact_row) : SQLITE_NOMEM;
	struct path_facts *f = g->facts;
	return code ? code
		    : path_sort(g, &f->list, f->count, &f->capacity, sizeof(*f->list), fact_order);
}

void path_facts_free(struct path_graph *g)
{
	free(g->facts);
	g->facts = NULL;
}

/* Return the last fact of a track that begins before a time; NULL = none. */
static struct fact *fact_before(const struct path_facts *f, uint32_t track, int64_t time)
{
	uint32_t low = 0, high = f->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct fact *at = &f->list[middle];
		if (at->track != track ? at->track < track : at->start < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low && f->list[low - 1].track == track ? &f->list[low - 1] : NULL;
}

/* Return the time of long gaps between calls from `start` to `end`. */
static int64_t gaps_of(const struct path_track *t, int64_t start, int64_t end)
{
	uint32_t low = 0, high = t->outer;
	int64_t from = start, ns = 0;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (t->calls[middle].end <= start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < t->outer && t->calls[low].start < end; low++) {
		if (t->calls[low].start - from >= PATH_GAP_NS)
			ns += t->calls[low].start - from;
		from = t->calls[low].end;
	}
	return end - from >= PATH_GAP_NS ? ns + end - from : ns;
}

void path_share_find(struct path_graph *g, uint32_t track, int64_t start, int64_t end,
	struct path_share *ret_share)
{
	struct fact *f = fact_before(g->facts, track, end);
	*ret_share = (struct path_share){.start = start, .running = end - start};
	if (f && f->end < end)
		ret_share->start = f->end > start ? f->end : start;
	if (f && f->end >= end)
		ret_share->start = f->start > start ? f->start : start;
	const int64_t ns = end - ret_share->start;
	ret_share->running = ns;
	if (!f || f->end < end || (!f->is_exact && ns < PATH_GAP_NS))
		return;
	if (f->gap_ns < 0)
		f->gap_ns = f->is_exact ? f->end - f->start
					: gaps_of(&g->tracks[track], f->start, f->end);
	const double whole = (double)(f->gap_ns > ns ? f->gap_ns : ns);
	const double running = (double)f->cpu / whole, runnable = (double)f->delay / whole;
	ret_share->is_exact = f->is_exact;
	if (running >= 1)
		return;
	ret_share->running = (int64_t)(running > 0 ? running * (double)ns : 0);
	const int64_t rest = ns - ret_share->running;
	const int64_t waited = (int64_t)(runnable * (double)ns);
	ret_share->runnable = waited < 0 ? 0 : waited < rest ? waited : rest;
	if (rest - ret_share->runnable < ns / NOISE)
		ret_share->running = ns - ret_share->runnable;
}

#endif
