/* SPDX-License-Identifier: Apache-2.0 */
/* sums.c - sums of segments, found by a hash of their columns. */
#include "reader/sql/path/sums.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>

#include "common/array.h"

struct reading {
	struct path_sums *sums;
	struct path_graph *graph;
};

static int sample_row(void *user, sqlite3_stmt *in)
{
	const struct reading *r = user;
	struct path_sums *s = r->sums;
	const uint32_t track = path_graph_track(r->graph, sqlite3_column_int64(in, 0));
	if (track == PATH_NOWHERE)
		return SQLITE_OK;
	int code = path_room(
		r->graph, &s->samples, s->sample_count, &s->sample_capacity, sizeof(*s->samples));
	if (code)
		return code;
	s->samples[s->sample_count++] = (struct path_sample){sqlite3_column_int64(in, 1),
		sqlite3_column_int64(in, 2), sqlite3_column_double(in, 3), track};
	return SQLITE_OK;
}

static int sample_order(const void *one, const void *two)
{
	const struct path_sample *a = one, *b = two;
	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

int path_sums_init(struct path_sums *s, struct path_graph *g)
{
	static const char samples[] =
		"SELECT c.globalTid, c.start, c.id, coalesce(l.cpuTime, 1) FROM "
		"temp.COMPOSITE_EVENTS AS c LEFT JOIN temp.LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id "
		"WHERE coalesce(l.cpuTime, 1) > 0";
	struct reading r = {s, g};
	*s = (struct path_sums){0};
	int code = path_rows(g->connection, samples, &r, sample_row);
	return code ? code
		    : path_sort(g, &s->samples, s->sample_count, &s->sample_capacity,
			      sizeof(*s->samples), sample_order);
}

/* Return the first sample of a track after a time. */
static const struct path_sample *sample_after(
	const struct path_sums *s, uint32_t track, int64_t time)
{
	uint32_t low = 0, high = s->sample_count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct path_sample *at = &s->samples[middle];
		if (at->track != track ? at->track < track : at->time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return s->samples + low;
}

static int sum_append(struct path_sums *s, const struct path_sum *sum)
{
	if (array_room(&s->list, s->count, &s->capacity, sizeof(*s->list)))
		return SQLITE_NOMEM;
	s->list[s->count++] = *sum;
	return SQLITE_OK;
}

/* Add a row for each sample in a segment. Sets *ret_any if there is one. */
static int samples_add(
	struct path_sums *s, const struct path_segment *p, struct path_sum sum, bool *ret_any)
{
	const struct path_sample *end = s->samples + s->sample_count, *first, *at;
	double weight = 0;
	int code = SQLITE_OK;
	first = s->sample_count ? sample_after(s, p->track, p->gap_start) : end;
	for (at = first; at < end && at->track == p->track && at->time <= p->gap_end; at++)
		weight += at->weight;
	*ret_any = at > first;
	sum.segment = ++s->segments;
	for (const struct path_sample *one = first; !code && one < at; one++) {
		sum.sample = one->id;
		sum.ns = (double)(p->end - p->start) * (one->weight / weight);
		sum.longest = (int64_t)sum.ns;
		code = sum_append(s, &sum);
	}
	return code;
}

/* Return the number of a pair; 0 = out of memory. */
static uint32_t pair_number(struct map *m, uint64_t a, uint64_t b)
{
	const uint32_t number = map_get(m, a, b);
	return number ? number : map_put(m, a, b, m->count + 1) ? 0 : m->count;
}

static uint64_t both(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

int path_sums_add(struct path_sums *s, const struct path_graph *g, const struct path_segment *p)
{
	struct path_sum sum = {.track = p->track,
		.kind = p->kind,
		.how = p->how,
		.name = p->span ? p->span->name : PATH_NOWHERE,
		.chain = p->span ? p->span->chain : 0,
		.is_timeout = p->span && path_timed_out(g, p->span),
		.wait_track = p->wait ? p->wait_track : PATH_NOWHERE,
		.wait_name = p->wait ? p->wait->name : PATH_NOWHERE,
		.wait_chain = p->wait ? p->wait->chain : 0};
	const int64_t ns = p->end - p->start;
	bool any = false;
	int code = p->kind == KIND_BETWEEN ? samples_add(s, p, sum, &any) : SQLITE_OK;
	if (code || any)
		return code;
	/* one map numbers both pairs: equal numbers are equal pairs, whatever the columns */
	const uint32_t own = pair_number(&s->pairs, both(sum.track, sum.name), sum.chain),
		       wait = pair_number(
			       &s->pairs, both(sum.wait_track, sum.wait_name), sum.wait_chain);
	const uint64_t rest = (uint64_t)sum.kind << 8 | (uint64_t)sum.how << 1 | sum.is_timeout;
	const uint32_t index = own && wait ? map_get(&s->index, both(own, wait), rest) : 0;
	if (!own || !wait || (!index && map_put(&s->index, both(own, wait), rest, s->count + 1)))
		return SQLITE_NOMEM;
	if (!index)
		code = sum_append(s, &sum);
	if (code)
		return code;
	struct path_sum *to = &s->list[index ? index - 1 : s->count - 1];
	to->ns += (double)ns;
	to->count++;
	to->longest = ns > to->longest ? ns : to->longest;
	return SQLITE_OK;
}

void path_sums_release(struct path_sums *s)
{
	free(s->list);
	map_release(&s->index);
	map_release(&s->pairs);
	*s = (struct path_sums){0};
}

#endif
