/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - search for the operations of other ranks that ended waits, in one pass over all. */
#include "reader/sql/path/ranks.h"

#ifdef HAVE_SQLITE

/* What a wait looks for. */
struct target {
	int64_t process, time;
	uint32_t correlation, rank; /* rank: index into `ranks` */
};

struct targets {
	struct target *list;
	uint32_t count, capacity;
};

/* Order targets by operation. */
static int operation_order(const struct target *a, const struct target *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

static int target_order(const void *one, const void *two)
{
	const struct target *a = one, *b = two;
	const int order = operation_order(a, b);
	return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* Collect what all waits look for, in order. */
static int targets_read(struct path_graph *g, struct targets *t)
{
	int code = SQLITE_OK;
	for (uint32_t i = 0; !code && i < g->rank_count; i++) {
		const struct path_rank *r = &g->ranks[i];
		spill_use(&g->spill, 1);
		if ((r->how != HOW_EXACT && r->how != HOW_LIKELY) || r->cause != PATH_NOWHERE)
			continue;
		code = path_room(g, &t->list, t->count, &t->capacity, sizeof(*t->list));
		if (!code)
			t->list[t->count++] =
				(struct target){r->process, r->time, r->correlation, i};
	}
	return code || !t->count
		? code
		: path_sort(g, &t->list, t->count, &t->capacity, sizeof(*t->list), target_order);
}

/* Store where an operation is for the waits that look for it, unless an earlier one was found. */
static void targets_set(struct path_graph *g, const struct targets *t, const struct target *found,
	uint32_t track, uint32_t operation)
{
	uint32_t low = 0, high = t->count;
	spill_use(&g->spill, PATH_STEP_PAGES);
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (operation_order(&t->list[middle], found) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < t->count && !operation_order(&t->list[low], found); low++) {
		struct path_rank *r = &g->ranks[t->list[low].rank];
		if (r->track != PATH_NOWHERE)
			break;
		r->track = track;
		r->operation = operation;
	}
}

int path_ranks_read(struct path_graph *g)
{
	struct targets targets = {0};
	int code = g->has_ranks ? SQLITE_OK : targets_read(g, &targets);
	for (uint32_t i = 0; !code && targets.count && i < g->track_count; i++) {
		const struct path_track *t = &g->tracks[i];
		for (uint32_t c = 0; t->is_stream && c < t->outer; c++)
			targets_set(g, &targets,
				&(struct target){
					t->process, t->calls[c].start, t->calls[c].object, 0},
				i, c);
	}
	spill_drop(&g->spill, targets.list, targets.capacity * sizeof(*targets.list));
	g->has_ranks = !code;
	return code;
}

const struct path_call *path_rank_find(
	const struct path_graph *g, const struct path_call *wait, struct path_wait *ret_wait)
{
	const struct path_rank *r = &g->ranks[wait->holder - 1];
	const bool has = r->track != PATH_NOWHERE;
	*ret_wait = (struct path_wait){r->track, has ? r->time : 0, has ? r->how : HOW_UNKNOWN};
	return has ? &g->tracks[r->track].calls[r->operation] : NULL;
}

#endif
