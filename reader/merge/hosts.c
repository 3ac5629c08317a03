/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.c - alignment of the clocks of hosts. */
#include "reader/merge/hosts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/merge/fit.h"

/* Up to so many hosts of a collective, each two of them have a bound of it; otherwise each and the
 * first one. */
#define HOSTS_PAIRED_MAX 16u

/* Two hosts, a < b, with bounds of clock b minus clock a. */
struct pair {
	uint32_t a, b;
	struct fit_bound *bounds;
	uint32_t count, capacity;
	bool is_fitted;
	struct fit fit;
};

struct pairs {
	struct map index; /* a, b -> index + 1 */
	struct pair *rows;
	uint32_t count, capacity;
};

/* A host of a message or collective: its latest enter, its earliest leave. */
struct part {
	uint32_t host;
	int64_t enter_ns, leave_ns;
};

void hosts_release(struct hosts *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		clock_map_release(&h->rows[i].map);
	free(h->rows);
	free(h->pairs);
	*h = (struct hosts){0};
}

uint32_t hosts_find(struct hosts *h, const char *boot_id)
{
	for (uint32_t i = 0; i < h->count; i++)
		if (*boot_id && !strcmp(h->rows[i].boot_id, boot_id))
			return i;
	if (h->count == HOSTS_MAX || array_room(&h->rows, h->count, &h->capacity, sizeof(*h->rows)))
		return UINT32_MAX;
	h->rows[h->count] = (struct host){
		.boot_id = boot_id, .group = h->count, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
	return h->count++;
}

static void pairs_release(struct pairs *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		free(p->rows[i].bounds);
		clock_map_release(&p->rows[i].fit.map);
	}
	free(p->rows);
	map_release(&p->index);
}

/* Return the pair of two hosts, a < b; NULL = out of memory. */
static struct pair *pair_get(struct pairs *p, uint32_t a, uint32_t b)
{
	uint32_t found = map_get(&p->index, a, b);
	if (found)
		return &p->rows[found - 1];
	if (array_room(&p->rows, p->count, &p->capacity, sizeof(*p->rows)) ||
		map_put(&p->index, a, b, p->count + 1))
		return NULL;
	p->rows[p->count] = (struct pair){.a = a, .b = b};
	return &p->rows[p->count++];
}

static int bound_add(struct pair *p, struct fit_bound bound)
{
	if (array_room(&p->bounds, p->count, &p->capacity, sizeof(*p->bounds)))
		return -ENOMEM;
	p->bounds[p->count++] = bound;
	return 0;
}

/* Add what a message or collective says of two of its hosts. */
static int parts_pair(struct pairs *p, const struct part *x, const struct part *y)
{
	const struct part *a = x->host < y->host ? x : y, *b = a == x ? y : x;
	const bool upper = a->enter_ns != INT64_MIN && b->leave_ns != INT64_MAX,
		   lower = b->enter_ns != INT64_MIN && a->leave_ns != INT64_MAX;
	struct pair *pair = upper || lower ? pair_get(p, a->host, b->host) : NULL;
	if (!pair)
		return upper || lower ? -ENOMEM : 0;
	int error = 0;
	if (upper)
		error = bound_add(pair,
			(struct fit_bound){a->enter_ns,
				(int64_t)((uint64_t)b->leave_ns - (uint64_t)a->enter_ns), true});
	if (lower && !error)
		error = bound_add(pair,
			(struct fit_bound){a->leave_ns,
				(int64_t)((uint64_t)b->enter_ns - (uint64_t)a->leave_ns), false});
	return error;
}

/* Pair the hosts of one message or collective. */
static int parts_take(struct pairs *p, const struct part *parts, uint32_t count)
{
	int error = 0;
	const uint32_t firsts = count <= HOSTS_PAIRED_MAX ? count : 1;
	for (uint32_t i = 0; i < firsts; i++)
		for (uint32_t k = i + 1; k < count && !error; k++)
			error = parts_pair(p, &parts[i], &parts[k]);
	return error;
}

/* Collect the bounds of all pairs of hosts. parts: room for all hosts. */
static int edges_pair(struct pairs *p, const struct edges *e, struct part *parts)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < e->count; i++) {
		const struct edge *row = &e->rows[i];
		struct part *part = count ? &parts[count - 1] : NULL;
		if (part && part->host != row->host)
			part = NULL;
		if (!part) {
			part = &parts[count++];
			*part = (struct part){row->host, INT64_MIN, INT64_MAX};
		}
		if (row->enter_ns > part->enter_ns)
			part->enter_ns = row->enter_ns;
		if (row->leave_ns < part->leave_ns)
			part->leave_ns = row->leave_ns;
		if (i + 1 < e->count && e->rows[i + 1].key == row->key)
			continue;
		const int error = parts_take(p, parts, count);
		if (error)
			return error;
		count = 0;
	}
	return 0;
}

/* Subtract without overflow: hostile files have any times. */
static int64_t before(int64_t ns, int64_t difference)
{
	return (int64_t)((uint64_t)ns - (uint64_t)difference);
}

static int pairs_fit(struct pairs *p, const struct hosts *h)
{
	for (uint32_t i = 0; i < p->count; i++) {
		struct pair *pair = &p->rows[i];
		const struct host *a = &h->rows[pair->a], *b = &h->rows[pair->b];
		if (a->clock_error_ns >= UINT32_MAX || b->clock_error_ns >= UINT32_MAX)
			continue;
		const int64_t difference = pair->bounds[0].difference,
			      first = before(b->first_ns, difference),
			      last = before(b->last_ns, difference);
		const int error = fit_bounds(&pair->fit, pair->bounds, pair->count,
			(double)(a->clock_error_ns + b->clock_error_ns),
			first < a->first_ns ? first : a->first_ns,
			last > a->last_ns ? last : a->last_ns);
		if (error == -ENOMEM)
			return error;
		pair->is_fitted = !error;
	}
	return 0;
}

/* Invert a conversion between two clocks: knots change their sides. */
static int inverse(struct clock_map *ret, const struct clock_map *m)
{
	int error = 0;
	*ret = (struct clock_map){0};
	for (uint32_t i = 0; !error && i < m->count; i++)
		error = clock_map_add(ret, (struct clock_knot){m->knots[i].to, m->knots[i].from});
	return error;
}

/* Set the errors between a host and those that were placed before it: on the way to them is its
 * parent. */
static void pairs_by_tree(struct hosts *h, uint32_t host, uint32_t parent, const struct fit *fit)
{
	for (uint32_t i = 0; i < h->count; i++) {
		if (i == host || h->rows[i].group != h->rows[parent].group)
			continue;
		struct host_pair way = {0};
		if (i != parent)
			way = *host_pair(h, i, parent);
		*host_pair(h, i, host) = (struct host_pair){
			way.error_ns + fit->error_ns, way.error_ends_ns + fit->error_ends_ns};
	}
}

/* Place the host at one end of a pair, whose other end is placed. */
static int host_join(struct hosts *h, const struct pair *pair, bool is_b)
{
	struct host *host = &h->rows[is_b ? pair->b : pair->a];
	const struct host *parent = &h->rows[is_b ? pair->a : pair->b];
	struct clock_map turned = {0};
	int error = is_b ? 0 : inverse(&turned, &pair->fit.map);
	clock_map_release(&host->map);
	if (!error)
		error = clock_map_compose(
			&host->map, is_b ? &pair->fit.map : &turned, &parent->map);
	clock_map_release(&turned);
	host->group = parent->group;
	host->is_fitted = true;
	host->has_drift = pair->fit.has_drift && (parent->has_drift || !parent->is_fitted);
	host->drift = parent->drift + (is_b ? pair->fit.drift : -pair->fit.drift);
	host->error_ns = parent->error_ns + pair->fit.error_ns;
	host->error_ends_ns = parent->error_ends_ns + pair->fit.error_ends_ns;
	host->bounds = pair->count;
	pairs_by_tree(h, is_b ? pair->b : pair->a, is_b ? pair->a : pair->b, &pair->fit);
	return error;
}

/* Place a host that no messages join to those before it, by the wall clock. */
static void host_begin_group(struct hosts *h, uint32_t i)
{
	h->rows[i].group = i;
	h->rows[i].map.shift =
		(int64_t)((uint64_t)h->rows[i].wall_ns - (uint64_t)h->rows[0].wall_ns);
}

/* Return the pair with the smallest error that joins a host to the placed ones; NULL = none. */
static const struct pair *pair_next(
	const struct hosts *h, const struct pairs *p, const bool *is_placed)
{
	const struct pair *best = NULL;
	double least = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct pair *pair = &p->rows[i];
		if (!pair->is_fitted || is_placed[pair->a] == is_placed[pair->b])
			continue;
		const double error = pair->fit.error_ns +
			h->rows[is_placed[pair->a] ? pair->a : pair->b].error_ns;
		if (!best || error < least) {
			best = pair;
			least = error;
		}
	}
	return best;
}

static int tree_grow(struct hosts *h, const struct pairs *p, bool *is_placed)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < h->count; i++) {
		const struct pair *pair;
		if (is_placed[i])
			continue;
		host_begin_group(h, i);
		is_placed[i] = true;
		while (!error && (pair = pair_next(h, p, is_placed))) {
			error = host_join(h, pair, is_placed[pair->a]);
			is_placed[pair->a] = is_placed[pair->b] = true;
		}
	}
	return error;
}

/* ---- errors of pairs by their own messages ---- */

/* What the conversion of both clocks differs from the fit of their pair. */
struct deviation {
	const struct host *a, *b;
	const struct clock_map *map; /* of the fit, from clock b to clock a */
	int64_t first_ns, last_ns;   /* of the bounds, in clock a */
	double inside_ns, ends_ns;   /* the greatest deviations */
};

/* Take the deviation at a time of clock b. */
static void deviation_at(struct deviation *d, int64_t ns)
{
	const int64_t fitted = clock_map_time(d->map, ns);
	const double by = fabs(
		(double)before(clock_map_time(&d->a->map, fitted), clock_map_time(&d->b->map, ns)));
	if (by > d->ends_ns)
		d->ends_ns = by;
	if (fitted >= d->first_ns && fitted <= d->last_ns && by > d->inside_ns)
		d->inside_ns = by;
}

/* Take the deviations where they can be greatest: at the knots and the ends of all conversions,
 * which are linear in between. */
static int deviation_take(struct deviation *d)
{
	struct clock_map turned;
	const int error = inverse(&turned, d->map);
	const int64_t a[] = {d->first_ns, d->last_ns, d->a->first_ns, d->a->last_ns};
	for (size_t i = 0; !error && i < sizeof(a) / sizeof(a[0]); i++)
		deviation_at(d, clock_map_time(&turned, a[i]));
	for (uint32_t i = 0; !error && i < d->a->map.count; i++)
		deviation_at(d, clock_map_time(&turned, d->a->map.knots[i].from));
	for (uint32_t i = 0; i < d->b->map.count; i++)
		deviation_at(d, d->b->map.knots[i].from);
	for (uint32_t i = 0; i < d->map->count; i++)
		deviation_at(d, d->map->knots[i].from);
	deviation_at(d, d->b->first_ns);
	deviation_at(d, d->b->last_ns);
	clock_map_release(&turned);
	return error;
}

/* Lower the errors of two hosts whose own messages bound them closer than the way in the tree. */
static int pairs_by_messages(struct hosts *h, const struct pairs *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct pair *pair = &p->rows[i];
		if (!pair->is_fitted)
			continue;
		struct host_pair *known = host_pair(h, pair->a, pair->b);
		struct deviation d = {&h->rows[pair->a], &h->rows[pair->b], &pair->fit.map,
			pair->bounds[0].ns, pair->bounds[pair->count - 1].ns, 1, 1};
		if (pair->fit.error_ns >= known->error_ns &&
			pair->fit.error_ends_ns >= known->error_ends_ns)
			continue;
		if (deviation_take(&d))
			return -ENOMEM;
		known->error_ns = fmin(known->error_ns, pair->fit.error_ns + d.inside_ns);
		known->error_ends_ns =
			fmin(known->error_ends_ns, pair->fit.error_ends_ns + d.ends_ns);
	}
	return 0;
}

/* Move all times so that none is negative: a host may have run before host 0 was booted. */
static void times_shift(struct hosts *h)
{
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; i < h->count; i++) {
		const struct host *host = &h->rows[i];
		const int64_t first = host->first_ns <= host->last_ns
			? clock_map_time(&host->map, host->first_ns)
			: 0;
		least = first < least ? first : least;
	}
	for (uint32_t i = 0; least < 0 && i < h->count; i++)
		h->rows[i].map.shift = before(h->rows[i].map.shift, least);
}

int hosts_align(struct hosts *h, struct edges *e)
{
	struct pairs pairs = {0};
	struct part *parts = calloc((size_t)h->count + 1, sizeof(*parts));
	bool *is_placed = calloc((size_t)h->count + 1, sizeof(*is_placed));
	const size_t pair_count = (size_t)h->count * (h->count ? h->count - 1 : 0) / 2;
	h->pairs = malloc((pair_count + 1) * sizeof(*h->pairs));
	for (size_t i = 0; h->pairs && i < pair_count; i++)
		h->pairs[i] = (struct host_pair){-1, -1};
	edges_sort(e);
	int error = parts && is_placed && h->pairs ? edges_pair(&pairs, e, parts) : -ENOMEM;
	edges_release(e);
	if (!error)
		error = pairs_fit(&pairs, h);
	if (!error)
		error = tree_grow(h, &pairs, is_placed);
	if (!error)
		error = pairs_by_messages(h, &pairs);
	if (!error)
		times_shift(h);
	pairs_release(&pairs);
	free(parts);
	free(is_placed);
	return error;
}
