/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launches.c - the NVTX ranges around the launches of a process.
 */
#define _GNU_SOURCE
#include "writer/cuda/launches.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "writer/base/names.h"
#include "writer/lane/modules.h"
#include "writer/spool/spools.h"

#define WAYS 8u           /* slots of a set: `calls` is a set-associative cache by correlation id */
#define FUNCTIONS 2048u   /* functions by cbid; greater cbids share the rows */
#define BUCKETS 4096u     /* hash buckets of threads by id */
#define RANGES_MAX 65536u /* maximum number of ranges that calls hold at the same time */
#define ENDED_MAX 1024u   /* start/end ranges that may contain later calls */
#define LINKS_MAX (1u << 20)
#define TEXTS_BYTES_MAX (32u << 20) /* maximum for the texts of all ranges */

/* The calls of a thread, by 1 + index, 0 = none. A thread has a row while one of its calls is
 * stored, so there are at most as many rows as calls. */
struct launch_thread {
	uint32_t tid;
	uint32_t calls;
	uint32_t newest, newest_kept;
	uint64_t newest_order;
	uint32_t next; /* 1 + index of the next row in its bucket, or in the free list */
};

struct kept_range {
	struct launch_range range;
	uint64_t tick;
	uint32_t links; /* number of links to the range */
	uint32_t next_free;
};

struct launch_link { /* link of a call to a range */
	uint32_t range;
	uint32_t next; /* 1 + index, also in the free list */
};

/* A start/end range. It may contain calls of threads whose records are read later. */
struct ended_span {
	uint64_t tick, end_tick;
	uint32_t range; /* 1 + index of the range, which counts this as a link; 0 = none */
};

enum { UNSEEN, LAUNCHES, LAUNCHES_NOT };

struct launches {
	struct launch_call calls[LAUNCH_CALLS];
	uint8_t functions[2][FUNCTIONS]; /* by API and cbid */
	uint64_t order;
	struct launch_thread *threads;
	uint32_t thread_count, thread_capacity, thread_free; /* `thread_free`: 1 + index */
	uint32_t buckets[BUCKETS];                           /* 1 + index of a thread */
	struct kept_range *ranges;
	uint32_t range_count, range_capacity, range_free; /* `range_free`: 1 + index */
	uint64_t text_bytes;                              /* bytes of the texts of the ranges */
	struct launch_link *links;
	uint32_t link_count, link_capacity, link_free; /* `link_free`: 1 + index */
	struct ended_span ended[ENDED_MAX];
	uint32_t ended_at; /* index of the next row, which replaces the oldest */
	uint64_t ended_last_tick;
};

static void launches_release(void *data)
{
	struct launches *l = data;
	for (uint32_t i = 0; i < l->range_count; i++)
		if (l->ranges[i].links) {
			free((char *)(uintptr_t)l->ranges[i].range.text);
			free((char *)(uintptr_t)l->ranges[i].range.domain_name);
		}
	free(l->threads);
	free(l->ranges);
	free(l->links);
}

struct launches *launches_of(const struct spool *spool)
{
	return spool->slots[SLOT_LAUNCHES].data;
}

/* ---- ranges ---- */

static char *name_copy(struct spool *spool, uint32_t ref)
{
	const char *text = "";
	uint32_t bytes = ref ? spool_name_text(spool, ref, &text) : 0;
	return shared_text_copy(text, bytes);
}

static uint64_t range_bytes(const struct launch_range *r)
{
	return strlen(r->text) + strlen(r->domain_name) + 2;
}

static void range_drop(struct launches *l, uint32_t index)
{
	struct kept_range *r = &l->ranges[index];
	if (--r->links)
		return;
	l->text_bytes -= range_bytes(&r->range);
	free((char *)(uintptr_t)r->range.text);
	free((char *)(uintptr_t)r->range.domain_name);
	r->next_free = l->range_free;
	l->range_free = index + 1;
}

/* Add a range that has no link yet. Return 1 + its index; 0 = no room. */
static uint32_t range_make(struct spool *spool, const struct launch_span *from)
{
	struct launches *l = launches_of(spool);
	if (l->text_bytes >= TEXTS_BYTES_MAX)
		return 0;
	if (!l->range_free &&
		(l->range_count == RANGES_MAX ||
			array_room(&l->ranges, l->range_count, &l->range_capacity,
				sizeof(*l->ranges))))
		return 0;
	char *text = from->name ? name_copy(spool, from->name)
				: shared_text_copy(from->text, from->text_bytes);
	char *domain = name_copy(spool, from->domain);
	if (!text || !domain) {
		free(text);
		free(domain);
		return 0;
	}
	uint32_t number = l->range_free ? l->range_free : ++l->range_count;
	struct kept_range *r = &l->ranges[number - 1];
	if (l->range_free)
		l->range_free = r->next_free;
	*r = (struct kept_range){.tick = from->tick};
	r->range = (struct launch_range){.is_span = from->is_span,
		.tid = from->tid,
		.id = from->id,
		.domain = from->domain,
		.domain_name = domain,
		.text = text,
		.category = from->attributes.category,
		.color = from->attributes.color,
		.payload_type = from->attributes.payload_type,
		.payload = from->attributes.payload};
	l->text_bytes += range_bytes(&r->range);
	return number;
}

static void link_add(struct launches *l, struct launch_call *call, uint32_t range)
{
	if (!l->link_free &&
		(l->link_count == LINKS_MAX ||
			array_room(&l->links, l->link_count, &l->link_capacity, sizeof(*l->links))))
		return;
	uint32_t number = l->link_free ? l->link_free : ++l->link_count;
	struct launch_link *link = &l->links[number - 1];
	if (l->link_free)
		l->link_free = link->next;
	*link = (struct launch_link){range - 1, call->first};
	call->first = number;
	l->ranges[range - 1].links++;
}

static void links_drop(struct launches *l, struct launch_call *call)
{
	while (call->first) {
		uint32_t number = call->first;
		struct launch_link *link = &l->links[number - 1];
		range_drop(l, link->range);
		call->first = link->next;
		link->next = l->link_free;
		l->link_free = number;
	}
}

/* ---- calls ---- */

/* Return the link to the thread's row, or the 0 at the end of its bucket. */
static uint32_t *thread_link(struct launches *l, uint32_t tid)
{
	uint32_t *at = &l->buckets[tid % BUCKETS];
	while (*at && l->threads[*at - 1].tid != tid)
		at = &l->threads[*at - 1].next;
	return at;
}

static struct launch_thread *thread_find(struct launches *l, uint32_t tid)
{
	uint32_t number = *thread_link(l, tid);
	return number ? &l->threads[number - 1] : NULL;
}

/* Add a call to its thread. Return NULL if memory is short. */
static struct launch_thread *thread_take(struct launches *l, uint32_t tid)
{
	struct launch_thread *t = thread_find(l, tid);
	if (!t && !l->thread_free &&
		array_room(&l->threads, l->thread_count, &l->thread_capacity, sizeof(*l->threads)))
		return NULL;
	if (!t) {
		uint32_t number = l->thread_free ? l->thread_free : ++l->thread_count;
		t = &l->threads[number - 1];
		if (l->thread_free)
			l->thread_free = t->next;
		*t = (struct launch_thread){.tid = tid};
		*thread_link(l, tid) = number;
	}
	t->calls++;
	return t;
}

/* Remove a call from its thread. */
static void thread_give(struct launches *l, uint32_t tid)
{
	uint32_t *at = thread_link(l, tid), number = *at;
	struct launch_thread *t = &l->threads[number - 1];
	if (--t->calls)
		return;
	*at = t->next;
	t->next = l->thread_free;
	l->thread_free = number;
}

static struct launch_call *set_of(struct launches *l, uint32_t correlation)
{
	return &l->calls[correlation * WAYS % LAUNCH_CALLS];
}

static struct launch_call *call_find(struct launches *l, uint32_t correlation)
{
	struct launch_call *set = set_of(l, correlation);
	for (uint32_t i = 0; i < WAYS; i++)
		if (set[i].order && set[i].correlation == correlation)
			return &set[i];
	return NULL;
}

/* Free the slot of the oldest call that need not be held. Return NULL if all must be held. */
static struct launch_call *slot_free(struct launches *l, uint32_t correlation)
{
	struct launch_call *set = set_of(l, correlation), *oldest = NULL;
	for (uint32_t i = 0; i < WAYS; i++)
		if (!set[i].kept && (!oldest || set[i].order < oldest->order))
			oldest = &set[i];
	if (oldest && oldest->order) {
		links_drop(l, oldest);
		thread_give(l, oldest->tid);
		oldest->order = 0;
	}
	return oldest;
}

/* Hold a call until the end of the process. The held calls of a thread are ordered by time. */
static void call_keep(struct launches *l, struct launch_call *call)
{
	struct launch_thread *t = call->kept ? NULL : thread_find(l, call->tid);
	if (!t)
		return;
	uint32_t *at = &t->newest_kept;
	while (*at && l->calls[*at - 1].tick > call->tick)
		at = &l->calls[*at - 1].older_kept;
	call->older_kept = *at;
	*at = (uint32_t)(call - l->calls) + 1;
	call->kept = true;
}

static void call_put(struct launches *l, const struct launch_call *from)
{
	struct launch_call *call = call_find(l, from->correlation);
	if (call &&
		call->tid == from->tid) { /* an outer call with the same id, which began first */
		call->tick = from->tick;
		call->chain = from->chain;
		return;
	}
	call = slot_free(l, from->correlation);
	struct launch_thread *t = call ? thread_take(l, from->tid) : NULL;
	if (!t)
		return;
	*call = (struct launch_call){.tick = from->tick,
		.order = ++l->order,
		.correlation = from->correlation,
		.tid = from->tid,
		.chain = from->chain,
		.older = t->newest,
		.older_order = t->newest_order};
	t->newest = (uint32_t)(call - l->calls) + 1;
	t->newest_order = call->order;
	if (call->order <= LAUNCH_CALLS_FIRST)
		call_keep(l, call);
	for (uint32_t i = 0; call->tick < l->ended_last_tick && i < ENDED_MAX; i++)
		if (l->ended[i].range && l->ended[i].tick <= call->tick &&
			call->tick < l->ended[i].end_tick)
			link_add(l, call, l->ended[i].range);
}

static bool is_launch(struct spool *spool, uint32_t name)
{
	const char *text;
	uint32_t bytes = name ? spool_name_text(spool, name, &text) : 0;
	return bytes && memmem(text, bytes, "Launch", 6);
}

void launches_note_call(struct spool *spool, const struct launch_call *call, uint32_t name,
	uint32_t api, uint32_t cbid)
{
	struct launches *l = launches_of(spool);
	uint8_t *known = l ? &l->functions[api & 1][cbid % FUNCTIONS] : NULL;
	if (known && *known == LAUNCHES_NOT)
		return;
	if (!known || *known == UNSEEN) {
		bool launches = is_launch(spool, name);
		if (!l && launches)
			l = slot_get(&spool->slots[SLOT_LAUNCHES], sizeof(*l), launches_release);
		if (!l)
			return;
		l->functions[api & 1][cbid % FUNCTIONS] = launches ? LAUNCHES : LAUNCHES_NOT;
		if (!launches)
			return;
	}
	call_put(l, call);
}

const struct launch_call *launches_keep(struct launches *l, uint32_t correlation)
{
	struct launch_call *call = l && correlation ? call_find(l, correlation) : NULL;
	if (call)
		call_keep(l, call);
	return call;
}

/* ---- calls within a range ---- */

/* The search for the calls within a range. The range is stored when the first one is found. */
struct search {
	struct spool *spool;
	const struct launch_span *span;
	uint32_t range; /* 1 + index; 0 = not added yet */
	bool full;
};

static void call_found(struct search *m, struct launch_call *call)
{
	if (call->tick >= m->span->end_tick || m->full)
		return;
	if (!m->range)
		m->range = range_make(m->spool, m->span);
	m->full = !m->range;
	if (m->range)
		link_add(launches_of(m->spool), call, m->range);
}

static void thread_search(struct search *m, const struct launch_thread *t)
{
	struct launch_call *calls = launches_of(m->spool)->calls, *c;
	for (uint32_t at = t->newest_kept; at && calls[at - 1].tick >= m->span->tick;
		at = calls[at - 1].older_kept)
		call_found(m, &calls[at - 1]);
	uint64_t order = t->newest_order;
	for (uint32_t at = t->newest; at; at = c->older, order = c->older_order) {
		c = &calls[at - 1];
		if (c->order != order || c->tick < m->span->tick)
			return; /* the slot has another call by now, or the call is too early */
		if (!c->kept)
			call_found(m, c);
	}
}

static void ended_note(struct search *m)
{
	struct launches *l = launches_of(m->spool);
	if (!m->range && !m->full)
		m->range = range_make(m->spool, m->span);
	if (!m->range)
		return;
	struct ended_span *e = &l->ended[l->ended_at++ % ENDED_MAX];
	if (e->range)
		range_drop(l, e->range - 1);
	*e = (struct ended_span){m->span->tick, m->span->end_tick, m->range};
	l->ranges[m->range - 1].links++;
	if (e->end_tick > l->ended_last_tick)
		l->ended_last_tick = e->end_tick;
}

void launches_note_range(struct spool *spool, const struct launch_span *range)
{
	struct launches *l = launches_of(spool);
	struct search m = {.spool = spool, .span = range};
	struct launch_thread *own = l && !range->is_span ? thread_find(l, range->tid) : NULL;
	if (own)
		thread_search(&m, own);
	for (uint32_t i = 0; l && range->is_span && i < l->thread_count; i++)
		if (l->threads[i].calls)
			thread_search(&m, &l->threads[i]);
	if (l && range->is_span)
		ended_note(&m);
	if (m.range && !l->ranges[m.range - 1].links) { /* there was no room for a link */
		l->ranges[m.range - 1].links = 1;
		range_drop(l, m.range - 1);
	}
}

static int by_tick(const void *a, const void *b)
{
	const struct kept_range *x = *(const struct kept_range *const *)a,
				*y = *(const struct kept_range *const *)b;
	return x->tick < y->tick ? -1 : x->tick > y->tick;
}

uint32_t launches_ranges(
	const struct launches *l, const struct launch_call *call, struct launch_range *ret)
{
	const struct kept_range *found[LAUNCH_RANGES_MAX] = {NULL};
	uint32_t count = 0, at = call->first, length = 0;
	for (uint32_t n = at; n; n = l->links[n - 1].next)
		length++;
	/* The latest links are to the outermost ranges. */
	for (; length > LAUNCH_RANGES_MAX; length--)
		at = l->links[at - 1].next;
	for (; at; at = l->links[at - 1].next)
		found[count++] = &l->ranges[l->links[at - 1].range];
	qsort(found, count, sizeof(found[0]), by_tick);
	for (uint32_t i = 0; i < count; i++)
		ret[i] = found[i]->range;
	return count;
}
