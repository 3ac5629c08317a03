/* SPDX-License-Identifier: Apache-2.0 */
/* clocks.c - conversion of times of a program's clocks to CLOCK_MONOTONIC. */
#define _GNU_SOURCE
#include "reader/nvtx/clocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PARENTS_MAX 64u
#define NS_PER_SECOND 1000000000

struct nvtx_clock_node {
	uint64_t domain, id;      /* domain of an id that the program chose; else 0 */
	int64_t ticks_per_second; /* 0 = not known */
	bool is_reached, lacks_rate;
	uint32_t toward; /* 1 + index of the edge on the path to CLOCK_MONOTONIC; 0 = none */
};

struct nvtx_clock_point {
	uint32_t edge;
	int64_t x, y; /* times on nodes a and b; once paths are known, x is on the node farther
		       * from CLOCK_MONOTONIC */
};

struct nvtx_clock_edge {
	uint32_t a, b; /* same nodes as in nvtx_clock_point */
	uint32_t first, count;
	bool has_slope;
	long double slope; /* slope of b over a, through the point below */
	struct nvtx_clock_point through;
};

void nvtx_clocks_init(struct nvtx_clocks *c, struct nvtx_payloads *p)
{
	*c = (struct nvtx_clocks){.payloads = p};
}

void nvtx_clocks_release(struct nvtx_clocks *c)
{
	free(c->nodes);
	free(c->edges);
	free(c->points);
	*c = (struct nvtx_clocks){0};
}

/* ---- clocks ---- */

static uint64_t domain_of(uint64_t domain, uint64_t id)
{
	return id >= NVTX_ID_STATIC && id < NVTX_ID_DYNAMIC ? domain : 0;
}

/* Return the index of a clock; NVTX_CLOCKS_MAX = not found. */
static uint32_t node_find(const struct nvtx_clocks *c, uint64_t domain, uint64_t id)
{
	id = nvtx_clock_same(id);
	domain = domain_of(domain, id);
	for (uint32_t i = 0; i < c->node_count; i++)
		if (c->nodes[i].id == id && c->nodes[i].domain == domain)
			return i;
	return NVTX_CLOCKS_MAX;
}

static int64_t rate_of_type(uint64_t type)
{
	switch (type) {
	case NVTX_CLOCK_TOOL:
	case NVTX_CLOCK_REALTIME:
	case NVTX_CLOCK_MONOTONIC:
	case NVTX_CLOCK_MONOTONIC_RAW:
	case NVTX_CLOCK_BOOTTIME:
		return NS_PER_SECOND;
	default:
		return 0;
	}
}

static uint32_t node_get(struct nvtx_clocks *c, uint64_t domain, uint64_t id)
{
	uint32_t found = node_find(c, domain, id);
	if (found < NVTX_CLOCKS_MAX || c->node_count == NVTX_CLOCKS_MAX)
		return found;
	id = nvtx_clock_same(id);
	c->nodes[c->node_count] = (struct nvtx_clock_node){
		.id = id, .domain = domain_of(domain, id), .ticks_per_second = rate_of_type(id)};
	return c->node_count++;
}

/* ---- edges between clocks ---- */

/* Maximum number of edges; a path needs fewer than there are nodes. */
#define EDGES_MAX (2 * NVTX_CLOCKS_MAX)

/* Return the edge of two clocks, which is created if needed. *ret_turned: its node `a` is the
 * second clock. Returns NULL if there is no room. */
static struct nvtx_clock_edge *edge_get(
	struct nvtx_clocks *c, uint32_t a, uint32_t b, bool *ret_turned)
{
	*ret_turned = false;
	if (a >= c->node_count || b >= c->node_count || a == b)
		return NULL;
	for (uint32_t i = 0; i < c->edge_count; i++) {
		struct nvtx_clock_edge *e = &c->edges[i];
		*ret_turned = e->a == b && e->b == a;
		if (*ret_turned || (e->a == a && e->b == b))
			return e;
	}
	if (c->edge_count == EDGES_MAX)
		return NULL;
	c->edges[c->edge_count] = (struct nvtx_clock_edge){.a = a, .b = b};
	return &c->edges[c->edge_count++];
}

static void slope_set(
	struct nvtx_clock_edge *e, bool turned, int64_t x, int64_t y, long double slope)
{
	if (!isfinite(slope) || slope <= 0)
		return;
	e->has_slope = true;
	e->slope = turned ? 1 / slope : slope;
	e->through = (struct nvtx_clock_point){.x = turned ? y : x, .y = turned ? x : y};
}

static void sync_add(struct nvtx_clocks *c, const struct nvtx_sync_row *row)
{
	bool turned;
	uint32_t a = node_get(c, row->key.domain, row->key.id),
		 b = node_get(c, row->key.domain, row->target);
	struct nvtx_clock_edge *e = edge_get(c, a, b, &turned);
	if (e && row->has_slope)
		slope_set(e, turned, row->source_time, row->target_time, (long double)row->slope);
	else if (e && c->point_count < NVTX_SYNCS_MAX)
		c->points[c->point_count++] =
			(struct nvtx_clock_point){.edge = (uint32_t)(e - c->edges),
				.x = turned ? row->target_time : row->source_time,
				.y = turned ? row->source_time : row->target_time};
}

/* Add the rate and the type of a clock from its registration. */
static void time_domain_add(struct nvtx_clocks *c, const struct nvtx_time_domain_row *row)
{
	uint32_t own = node_get(c, row->key.domain, row->key.id);
	uint64_t type = nvtx_clock_same(row->clock);
	bool turned;
	if (own == NVTX_CLOCKS_MAX)
		return;
	if (row->ticks_per_second > 0)
		c->nodes[own].ticks_per_second = row->ticks_per_second;
	else
		c->nodes[own].ticks_per_second = rate_of_type(type);
	if (type == NVTX_CLOCK_NONE && row->origin == NVTX_ORIGIN_UNIX_EPOCH &&
		row->ticks_per_second > 0)
		type = NVTX_CLOCK_REALTIME;
	if (type == NVTX_CLOCK_NONE || type >= NVTX_ID_STATIC)
		return;
	int64_t rate = rate_of_type(type), stated = row->ticks_per_second;
	struct nvtx_clock_edge *e = edge_get(c, own, node_get(c, 0, type), &turned);
	if (e)
		slope_set(e, turned, 0, 0,
			rate && stated > 0 ? (long double)rate / (long double)stated : 1);
}

/* ---- paths to CLOCK_MONOTONIC ---- */

static int compare_points(const void *p, const void *q)
{
	const struct nvtx_clock_point *a = p, *b = q;
	if (a->edge != b->edge)
		return a->edge < b->edge ? -1 : 1;
	if (a->x != b->x)
		return a->x < b->x ? -1 : 1;
	return (a->y > b->y) - (a->y < b->y);
}

static void points_find(struct nvtx_clocks *c)
{
	if (c->point_count)
		qsort(c->points, c->point_count, sizeof(*c->points), compare_points);
	for (uint32_t i = c->point_count; i-- > 0;) {
		struct nvtx_clock_edge *e = &c->edges[c->points[i].edge];
		e->first = i;
		e->count++;
	}
}

/* Orient an edge so that `from` is its node `a`. Of several points with the same time, keep the
 * last. */
static void edge_direct(struct nvtx_clocks *c, struct nvtx_clock_edge *e, uint32_t from)
{
	struct nvtx_clock_point *points = c->points + e->first;
	if (e->a != from) {
		e->b = e->a;
		e->a = from;
		e->slope = e->has_slope ? 1 / e->slope : 0;
		e->through = (struct nvtx_clock_point){.x = e->through.y, .y = e->through.x};
		for (uint32_t i = 0; i < e->count; i++)
			points[i] = (struct nvtx_clock_point){
				.edge = points[i].edge, .x = points[i].y, .y = points[i].x};
		if (e->count)
			qsort(points, e->count, sizeof(*points), compare_points);
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; i < e->count; i++)
		if (i + 1 == e->count || points[i].x != points[i + 1].x)
			points[kept++] = points[i];
	e->count = kept;
}

/* Return true if the edge can convert times: it has two points, a factor, or one point and both
 * rates. */
static bool edge_leads(const struct nvtx_clocks *c, struct nvtx_clock_edge *e)
{
	int64_t a = c->nodes[e->a].ticks_per_second, b = c->nodes[e->b].ticks_per_second;
	if (e->has_slope || e->count > 1)
		return true;
	if (!e->count || a <= 0 || b <= 0)
		return false;
	e->has_slope = true;
	e->slope = (long double)b / (long double)a;
	e->through = c->points[e->first];
	return true;
}

/* Find the shortest path of each clock by a breadth-first search from CLOCK_MONOTONIC. */
static void ways_find(struct nvtx_clocks *c)
{
	uint32_t queue[NVTX_CLOCKS_MAX], count = 0;
	queue[count++] = node_get(c, 0, NVTX_CLOCK_MONOTONIC);
	c->nodes[queue[0]].is_reached = true;
	for (uint32_t at = 0; at < count; at++) {
		for (uint32_t i = 0; i < c->edge_count; i++) {
			struct nvtx_clock_edge *e = &c->edges[i];
			uint32_t other = e->a == queue[at] ? e->b : e->a;
			if ((e->a != queue[at] && e->b != queue[at]) || c->nodes[other].is_reached)
				continue;
			edge_direct(c, e, other);
			c->nodes[other].lacks_rate = !edge_leads(c, e);
			if (c->nodes[other].lacks_rate)
				continue;
			c->nodes[other].is_reached = true;
			c->nodes[other].toward = i + 1;
			queue[count++] = other;
		}
	}
}

/* ---- one process ---- */

/* Return the first row of a process; the key is the first member of each row. */
static uint32_t process_first(const struct nvtx_rows *r, size_t bytes, uint32_t process)
{
	uint32_t low = 0, high = r->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct nvtx_key *key = (const void *)((const char *)r->rows + middle * bytes);
		if (key->process < process)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void registrations_add(struct nvtx_clocks *c, uint32_t process)
{
	const struct nvtx_rows *r = &c->payloads->time_domains;
	const struct nvtx_time_domain_row *rows = r->rows;
	for (uint32_t i = process_first(r, sizeof(*rows), process);
		i < r->count && rows[i].key.process == process; i++)
		time_domain_add(c, &rows[i]);
}

static void syncs_add(struct nvtx_clocks *c, uint32_t process)
{
	const struct nvtx_rows *r = &c->payloads->syncs;
	const struct nvtx_sync_row *rows = r->rows;
	for (uint32_t i = process_first(r, sizeof(*rows), process);
		i < r->count && rows[i].key.process == process; i++)
		sync_add(c, &rows[i]);
}

static int rooms_make(struct nvtx_clocks *c)
{
	uint32_t points = c->payloads->syncs.count;
	if (!c->nodes)
		c->nodes = calloc(NVTX_CLOCKS_MAX, sizeof(*c->nodes));
	if (!c->edges)
		c->edges = calloc(EDGES_MAX, sizeof(*c->edges));
	if (!c->points)
		c->points = calloc(
			points < NVTX_SYNCS_MAX ? points + 1 : NVTX_SYNCS_MAX, sizeof(*c->points));
	return c->nodes && c->edges && c->points ? 0 : -ENOMEM;
}

int nvtx_clocks_seek(struct nvtx_clocks *c, uint32_t process)
{
	struct nvtx_key key = {.process = process, .time_ns = UINT64_MAX};
	bool turned;
	if (c->process == process && c->nodes)
		return 0;
	if (rooms_make(c))
		return -ENOMEM;
	c->process = process;
	c->node_count = c->edge_count = c->point_count = 0;
	uint32_t ours = node_get(c, 0, NVTX_CLOCK_MONOTONIC),
		 tool = node_get(c, 0, NVTX_CLOCK_TOOL);
	for (uint32_t i = 0; i < PARENTS_MAX && key.process; i++) {
		registrations_add(c, key.process);
		syncs_add(c, key.process);
		if (!nvtx_seek_parent(c->payloads->contents, &key))
			break;
	}
	points_find(c);
	/* nvtxTimestampGet() returns CLOCK_MONOTONIC unless another tool answered the call. */
	struct nvtx_clock_edge *e = edge_get(c, tool, ours, &turned);
	if (e && !e->count && !e->has_slope)
		slope_set(e, turned, 0, 0, 1);
	ways_find(c);
	return 0;
}

/* ---- times ---- */

static long double edge_convert(
	const struct nvtx_clocks *c, const struct nvtx_clock_edge *e, long double x)
{
	const struct nvtx_clock_point *points = c->points + e->first;
	if (e->count < 2)
		return (long double)e->through.y + (x - (long double)e->through.x) * e->slope;
	uint32_t low = 1, high = e->count - 1; /* index of the point that ends the segment */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if ((long double)points[middle].x < x)
			low = middle + 1;
		else
			high = middle;
	}
	const struct nvtx_clock_point *p = &points[low - 1], *q = &points[low];
	long double slope =
		((long double)q->y - (long double)p->y) / ((long double)q->x - (long double)p->x);
	return (long double)p->y + (x - (long double)p->x) * slope;
}

enum nvtx_clock_result nvtx_clock_ns(const struct nvtx_clocks *c, uint64_t domain, uint64_t clock,
	int64_t ticks, int64_t *ret_ns)
{
	uint32_t node = node_find(c, domain, clock);
	long double time = (long double)ticks;
	if (node == NVTX_CLOCKS_MAX)
		return NVTX_CLOCK_NO_WAY;
	if (!c->nodes[node].is_reached)
		return c->nodes[node].lacks_rate ? NVTX_CLOCK_NO_RATE : NVTX_CLOCK_NO_WAY;
	while (c->nodes[node].toward) {
		const struct nvtx_clock_edge *e = &c->edges[c->nodes[node].toward - 1];
		time = edge_convert(c, e, time);
		node = e->b;
	}
	if (!(time > -9e18L && time < 9e18L))
		return NVTX_CLOCK_NO_WAY;
	*ret_ns = (int64_t)llrintl(time);
	return NVTX_CLOCK_OK;
}

uint64_t nvtx_clock_of_scope(const struct nvtx_clocks *c, uint64_t domain, uint64_t scope)
{
	const struct nvtx_rows *r = &c->payloads->time_domains;
	const struct nvtx_time_domain_row *rows = r->rows;
	struct nvtx_key key = {.process = c->process, .time_ns = UINT64_MAX};
	uint64_t found = 0;
	for (uint32_t n = 0; scope >= NVTX_ID_STATIC && !found && n < PARENTS_MAX; n++) {
		for (uint32_t i = process_first(r, sizeof(*rows), key.process);
			i < r->count && rows[i].key.process == key.process; i++)
			if (rows[i].scope == scope && rows[i].key.domain == domain)
				found = rows[i].key.id;
		if (!nvtx_seek_parent(c->payloads->contents, &key))
			break;
	}
	return found;
}
