/* SPDX-License-Identifier: Apache-2.0 */
/* shares.c - spans of known processor time, sorted by track and time. */
#include "reader/sql/path/shares.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>

#define NOISE 100 /* a rest below a hundredth of the gap is that of two clocks */

struct fact {
	int64_t start, end, cpu, delay;
	int64_t gap_ns;  /* time of long gaps between calls in it; -1 = not computed */
	int64_t call_ns; /* the same of long calls */
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
		sqlite3_column_int64(in, 4), -1, -1, track, sqlite3_column_int(in, 5) != 0};
	return SQLITE_OK;
}

static int fact_order(const void *one, const void *two)
{
	const struct fact *a = one, *b = two;
	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

/* The kernel counts the time without a CPU when that ends, so a thread that had none at a reading
 * has it in the next span, beyond the length of that: it belongs to the spans before. */
static void delays_move(struct path_facts *f)
{
	for (uint32_t i = f->count; i-- > 1;) {
		struct fact *at = &f->list[i], *before = at - 1;
		const int64_t ns = at->end - at->start;
		const int64_t room = at->cpu > 0 ? (at->cpu < ns ? ns - at->cpu : 0) : ns;
		if (at->is_exact || before->is_exact || before->track != at->track ||
			before->end != at->start || at->delay <= room ||
			before->delay > PATH_TIME_MAX || at->delay > PATH_TIME_MAX)
			continue;
		before->delay += at->delay - room;
		at->delay = room;
	}
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
	code = code ? code
		    : path_sort(g, &f->list, f->count, &f->capacity, sizeof(*f->list), fact_order);
	if (!code)
		delays_move(f);
	return code;
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

/* Return the index of the first outer call of a track that ends after a time. */
static uint32_t call_after(const struct path_track *t, int64_t time)
{
	uint32_t low = 0, high = t->outer;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (t->calls[middle].end <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Return the time of long gaps between calls from `start` to `end`. */
static int64_t gaps_of(const struct path_track *t, int64_t start, int64_t end)
{
	uint32_t low = call_after(t, start);
	int64_t from = start, ns = 0;
	for (; low < t->outer && t->calls[low].start < end; low++) {
		if (t->calls[low].start - from >= PATH_GAP_NS)
			ns += t->calls[low].start - from;
		from = t->calls[low].end;
	}
	return end - from >= PATH_GAP_NS ? ns + end - from : ns;
}

/* Return the time of calls from `start` to `end` that are so long that they may have waited. */
static int64_t calls_of(const struct path_track *t, int64_t start, int64_t end)
{
	int64_t ns = 0;
	for (uint32_t i = call_after(t, start); i < t->outer && t->calls[i].start < end; i++) {
		const struct path_call *c = &t->calls[i];
		if (c->end - c->start >= PATH_SHORT_NS)
			ns += (c->end < end ? c->end : end) - (c->start > start ? c->start : start);
	}
	return ns;
}

/* Add the share of `ns` of a long call in a fact. What the thread was blocked is divided among the
 * long calls by their time. Short calls and gaps are computing; the rest of the processor time, and
 * the time without a CPU, are divided among the long ones. */
static void call_share_add(
	struct path_graph *g, struct fact *f, int64_t ns, struct path_share *share)
{
	const double whole = (double)(f->end - f->start), cpu = (double)f->cpu,
		     delay = f->delay > 0 ? (double)f->delay : 0;
	if (f->is_exact) {
		share->running += (int64_t)((double)ns * cpu / whole);
		share->runnable += (int64_t)((double)ns * delay / whole);
		return;
	}
	const struct path_track *t = &g->tracks[f->track];
	if (f->gap_ns < 0)
		f->gap_ns = gaps_of(t, f->start, f->end);
	if (f->call_ns < 0)
		f->call_ns = calls_of(t, f->start, f->end);
	const double calls = (double)(f->call_ns > ns ? f->call_ns : ns);
	const double off = whole - cpu - delay, left = cpu - (whole - calls - (double)f->gap_ns);
	const double blocked = off < whole / NOISE ? 0 : off < calls ? off / calls : 1;
	const double rest = (double)ns * (1 - blocked), running = left > 0 ? left : 0;
	const int64_t waited =
		running + delay > 0 ? (int64_t)(rest * delay / (running + delay)) : 0;
	share->runnable += waited;
	share->running += (int64_t)rest - waited;
}

void path_call_share_find(struct path_graph *g, uint32_t track, int64_t start, int64_t end,
	struct path_share *ret_share)
{
	struct fact *f = fact_before(g->facts, track, end);
	*ret_share = (struct path_share){.start = start, .is_exact = f && f->is_exact};
	for (; f && f->end > start; f = fact_before(g->facts, track, f->start)) {
		const int64_t from = f->start > start ? f->start : start;
		const int64_t to = f->end < end ? f->end : end;
		call_share_add(g, f, to - from, ret_share);
	}
	const int64_t ns = end - start;
	if (ret_share->running < 0 || ret_share->running > ns)
		ret_share->running = ns;
	if (ret_share->runnable > ns - ret_share->running)
		ret_share->runnable = ns - ret_share->running;
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
