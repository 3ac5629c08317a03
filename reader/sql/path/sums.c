/* SPDX-License-Identifier: Apache-2.0 */
/* sums.c - sums of segments, found by a hash of their columns. */
#include "reader/sql/path/sums.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>

#include "common/array.h"

#define FILES_MAX 20u /* that have a name, of a call in one place; others are summed up */

static int sum_append(struct path_sums *s, const struct path_sum *sum)
{
	if (array_room(&s->list, s->count, &s->capacity, sizeof(*s->list)))
		return SQLITE_NOMEM;
	s->list[s->count++] = *sum;
	return SQLITE_OK;
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

/* Return the number of what a call uses; 0 = out of memory. */
static uint32_t thing_number(struct map *m, const struct path_thing *t)
{
	return pair_number(m, both(t->file, t->object), both(t->other, t->function));
}

/* Return the number of what a segment is about; 0 = out of memory. */
static uint32_t about_number(struct map *m, const struct path_about *a)
{
	const uint32_t span = thing_number(m, &a->span), wait = thing_number(m, &a->wait);
	return span && wait ? pair_number(m, both(span, wait), a->program) : 0;
}

/* Leave out the name of a file if a call has had enough of them in its place. */
static int file_limit(struct path_sums *s, uint32_t name, uint32_t chain, uint32_t *file)
{
	const uint32_t place =
		*file == PATH_NOWHERE ? 0 : pair_number(&s->pairs, both(name, chain), 0);
	if (!place)
		return *file == PATH_NOWHERE ? SQLITE_OK : SQLITE_NOMEM;
	if (map_get(&s->files, place, *file))
		return SQLITE_OK;
	const uint32_t count = map_get(&s->places, place, 0);
	if (count == FILES_MAX) {
		*file = PATH_NOWHERE;
		return SQLITE_OK;
	}
	return map_put(&s->files, place, *file, 1) || map_put(&s->places, place, 0, count + 1)
		? SQLITE_NOMEM
		: SQLITE_OK;
}

/* Add to the sum of the same columns. */
static int sum_add(struct path_sums *s, const struct path_sum *sum)
{
	/* one map numbers both pairs: equal numbers are equal pairs, whatever the columns */
	const uint32_t own = pair_number(&s->pairs, both(sum->track, sum->name), sum->chain),
		       wait = pair_number(
			       &s->pairs, both(sum->wait_track, sum->wait_name), sum->wait_chain);
	const uint32_t about = about_number(&s->pairs, &sum->about);
	const uint64_t rest = (uint64_t)about << 32 | (uint64_t)sum->kind << 8 |
		(uint64_t)sum->how << 1 | sum->is_timeout;
	const bool all = own && wait && about;
	const uint32_t index = all ? map_get(&s->index, both(own, wait), rest) : 0;
	if (!all || (!index && map_put(&s->index, both(own, wait), rest, s->count + 1)))
		return SQLITE_NOMEM;
	if (!index)
		return sum_append(s, sum);
	struct path_sum *to = &s->list[index - 1];
	to->ns += sum->ns;
	to->count++;
	to->longest = sum->longest > to->longest ? sum->longest : to->longest;
	return SQLITE_OK;
}

int path_sums_add(struct path_sums *s, const struct path_graph *g, const struct path_segment *p,
	const struct path_about *about, const struct path_parts *parts)
{
	struct path_sum sum = {.track = p->track,
		.kind = p->kind,
		.how = p->how,
		.chain = p->span ? p->span->chain : 0,
		.is_timeout = p->span && path_timed_out(g, p->span),
		.about = *about,
		.wait_track = p->wait ? p->wait_track : PATH_NOWHERE,
		.wait_name = p->wait ? p->wait->name : PATH_NOWHERE,
		.wait_chain = p->wait ? p->wait->chain : 0};
	int code =
		p->span ? file_limit(s, p->span->name, sum.chain, &sum.about.span.file) : SQLITE_OK;
	code = code || !p->wait
		? code
		: file_limit(s, sum.wait_name, sum.wait_chain, &sum.about.wait.file);
	for (uint32_t i = 0; !code && i < parts->count; i++) {
		const struct path_part *part = &parts->list[i];
		sum.name = part->name;
		sum.sample = part->sample;
		sum.ns = part->ns;
		sum.longest = (int64_t)part->ns;
		sum.count = !part->sample;
		if (part->sample && (!i || part[-1].group != part->group))
			s->segments++;
		sum.segment = s->segments;
		code = part->sample ? sum_append(s, &sum) : sum_add(s, &sum);
	}
	return code;
}

void path_sums_release(struct path_sums *s)
{
	free(s->list);
	map_release(&s->index);
	map_release(&s->pairs);
	map_release(&s->files);
	map_release(&s->places);
	*s = (struct path_sums){0};
}

#endif
