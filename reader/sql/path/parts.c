/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - parts of a segment: a group for each function that the thread was in. */
#include "reader/sql/path/parts.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>

#include "common/array.h"
#include "reader/sql/path/functions.h"

struct path_group {
	uint32_t name;
	int64_t ns;    /* of the time between two calls */
	double weight; /* of its samples */
};

struct reading {
	struct path_parts *parts;
	struct path_graph *graph;
};

static int sample_row(void *user, sqlite3_stmt *in)
{
	const struct reading *r = user;
	struct path_parts *p = r->parts;
	const uint32_t track = path_graph_track(r->graph, sqlite3_column_int64(in, 0));
	if (track == PATH_NOWHERE)
		return SQLITE_OK;
	int code = path_room(
		r->graph, &p->samples, p->sample_count, &p->sample_capacity, sizeof(*p->samples));
	if (code)
		return code;
	p->samples[p->sample_count++] = (struct path_sample){sqlite3_column_int64(in, 1),
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

int path_parts_init(struct path_parts *p, struct path_graph *g)
{
	static const char samples[] =
		"SELECT c.globalTid, c.start, c.id, coalesce(l.cpuTime, 1) FROM "
		"temp.COMPOSITE_EVENTS AS c LEFT JOIN temp.LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id "
		"WHERE coalesce(l.cpuTime, 1) > 0";
	struct reading r = {p, g};
	*p = (struct path_parts){0};
	int code = path_rows(g->connection, samples, &r, sample_row);
	return code ? code
		    : path_sort(g, &p->samples, p->sample_count, &p->sample_capacity,
			      sizeof(*p->samples), sample_order);
}

const struct path_sample *path_samples_after(const struct path_parts *p, uint32_t track,
	int64_t time, const struct path_sample **ret_end)
{
	uint32_t low = 0, high = p->sample_count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct path_sample *at = &p->samples[middle];
		if (at->track != track ? at->track < track : at->time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_end = p->samples + p->sample_count;
	return p->samples + low;
}

static int part_add(struct path_parts *p, struct path_part part)
{
	if (array_room(&p->list, p->count, &p->capacity, sizeof(*p->list)))
		return SQLITE_NOMEM;
	p->list[p->count++] = part;
	return SQLITE_OK;
}

/* Add a group. Returns its index; PATH_NOWHERE = out of memory. */
static uint32_t group_add(struct path_parts *p, uint32_t name)
{
	if (array_room(&p->groups, p->group_count, &p->group_capacity, sizeof(*p->groups)))
		return PATH_NOWHERE;
	p->groups[p->group_count] = (struct path_group){.name = name};
	return p->group_count++;
}

/* Return the index of the group of a function, which is added if it is new; PATH_NOWHERE = out of
 * memory. */
static uint32_t group_of(struct path_parts *p, uint32_t name)
{
	const uint32_t known = map_get(&p->group_of, name, 0);
	if (known)
		return known - 1;
	return map_put(&p->group_of, name, 0, p->group_count + 1) ? PATH_NOWHERE
								  : group_add(p, name);
}

static int64_t time_in(const struct path_function *f, const struct path_segment *s)
{
	const int64_t start = f->start > s->gap_start ? f->start : s->gap_start;
	return (f->end < s->gap_end ? f->end : s->gap_end) - start;
}

/* Find how long the thread was in which function. */
static int groups_find(
	struct path_parts *p, const struct path_graph *g, const struct path_segment *s)
{
	const struct path_function *end, *f = path_functions_after(g, s->track, s->gap_start, &end);
	if (p->group_of.count)
		map_release(&p->group_of);
	p->group_count = 0;
	if (group_add(p, PATH_NOWHERE))
		return SQLITE_NOMEM;
	p->groups[0].ns = s->gap_end - s->gap_start;
	for (; f < end && f->track == s->track && f->start < s->gap_end; f++) {
		const uint32_t group = group_of(p, f->name);
		if (group == PATH_NOWHERE)
			return SQLITE_NOMEM;
		p->groups[group].ns += time_in(f, s);
		p->groups[0].ns -= time_in(f, s);
	}
	return SQLITE_OK;
}

/* Add a part for each sample in the segment; `ns` is its weight. */
static int samples_find(
	struct path_parts *p, const struct path_graph *g, const struct path_segment *s)
{
	const struct path_sample *last, *at = path_samples_after(p, s->track, s->gap_start, &last);
	const struct path_function *end, *f = path_functions_after(g, s->track, s->gap_start, &end);
	int code = SQLITE_OK;
	for (; !code && at < last && at->track == s->track && at->time <= s->gap_end; at++) {
		while (f < end && f->track == s->track && f->end < at->time)
			f++;
		const bool is_in = f < end && f->track == s->track && f->start < at->time;
		const uint32_t group = is_in ? group_of(p, f->name) : 0;
		if (!p->groups[group].ns)
			continue;
		p->groups[group].weight += at->weight;
		code = part_add(
			p, (struct path_part){p->groups[group].name, group, at->id, at->weight});
	}
	return code;
}

static int part_order(const void *one, const void *two)
{
	const struct path_part *a = one, *b = two;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->sample > b->sample) - (a->sample < b->sample);
}

/* Divide the time between two calls. */
static int gap_divide(
	struct path_parts *p, const struct path_graph *g, const struct path_segment *s)
{
	int code = groups_find(p, g, s);
	if (!code && s->kind == KIND_BETWEEN && p->sample_count)
		code = samples_find(p, g, s);
	const double scale = (double)(s->end - s->start) / (double)(s->gap_end - s->gap_start);
	for (uint32_t i = 0; !code && i < p->count; i++) {
		const struct path_group *of = &p->groups[p->list[i].group];
		p->list[i].ns *= scale * (double)of->ns / of->weight;
	}
	for (uint32_t i = 0; !code && i < p->group_count; i++) {
		const struct path_group *group = &p->groups[i];
		if (group->ns && !(group->weight > 0))
			code = part_add(p,
				(struct path_part){group->name, i, 0, scale * (double)group->ns});
	}
	if (p->count > 1)
		qsort(p->list, p->count, sizeof(*p->list), part_order);
	return code;
}

int path_parts_find(
	struct path_parts *p, const struct path_graph *g, const struct path_segment *segment)
{
	const bool is_gap = !segment->span &&
		(segment->kind == KIND_BETWEEN || segment->kind == KIND_RUNNABLE ||
			segment->kind == KIND_OFF);
	const struct path_rank *rank = segment->span && segment->kind == KIND_WAKE
		? path_rank_of(g, &g->tracks[segment->track], segment->span)
		: NULL;
	p->count = 0;
	if (is_gap)
		return gap_divide(p, g, segment);
	return part_add(p,
		(struct path_part){rank         ? rank->cause
				: segment->span ? segment->span->name
						: PATH_NOWHERE,
			0, 0, (double)(segment->end - segment->start)});
}

void path_parts_release(struct path_parts *p)
{
	free(p->list);
	free(p->groups);
	map_release(&p->group_of);
	*p = (struct path_parts){0};
}

#endif
