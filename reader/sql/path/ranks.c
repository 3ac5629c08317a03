/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - search for the operation of another rank, among the streams of its process. */
#include "reader/sql/path/ranks.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>

/* A track of a stream. */
struct rank_stream {
	int64_t process;
	uint32_t track;
};

struct path_rank_streams {
	uint32_t count;
	struct rank_stream list[]; /* sorted by process */
};

static int stream_order(const void *one, const void *two)
{
	const struct rank_stream *a = one, *b = two;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->track > b->track) - (a->track < b->track);
}

int path_ranks_read(struct path_graph *g)
{
	if (g->rank_streams || !g->rank_count)
		return SQLITE_OK;
	struct path_rank_streams *s = malloc(sizeof(*s) + g->track_count * sizeof(*s->list));
	if (!s)
		return SQLITE_NOMEM;
	s->count = 0;
	for (uint32_t i = 0; i < g->track_count; i++)
		if (g->tracks[i].is_stream)
			s->list[s->count++] = (struct rank_stream){g->tracks[i].process, i};
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), stream_order);
	g->rank_streams = s;
	return SQLITE_OK;
}

void path_ranks_free(struct path_graph *g)
{
	free(g->rank_streams);
	g->rank_streams = NULL;
}

/* Return the operation of a stream that begins at a time and has a correlation id; NULL = none. */
static const struct path_call *begun_at(
	const struct path_track *t, int64_t time, uint32_t correlation)
{
	uint32_t low = 0, high = t->outer;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (t->calls[middle].start < time)
			low = middle + 1;
		else
			high = middle;
	}
	const struct path_call *c = low < t->outer ? &t->calls[low] : NULL;
	return c && c->start == time && c->object == correlation ? c : NULL;
}

const struct path_call *path_rank_find(
	struct path_graph *g, const struct path_call *wait, struct path_wait *ret_wait)
{
	const struct path_rank *r = &g->ranks[wait->holder - 1];
	const struct path_rank_streams *s = g->rank_streams;
	const struct rank_stream key = {r->process, 0};
	uint32_t low = 0, high = s && r->how != HOW_UNKNOWN ? s->count : 0;
	const uint32_t end = high;
	*ret_wait = (struct path_wait){.track = PATH_NOWHERE, .how = HOW_UNKNOWN};
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (stream_order(&s->list[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < end && s->list[low].process == r->process; low++) {
		const struct path_call *c =
			begun_at(&g->tracks[s->list[low].track], r->time, r->correlation);
		if (!c)
			continue;
		*ret_wait = (struct path_wait){s->list[low].track, r->time, r->how};
		return c;
	}
	return NULL;
}

#endif
