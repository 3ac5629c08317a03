/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.c - clocks of deferred events: what the program declares about them, and points of
 * synchronization with CLOCK_MONOTONIC.
 *
 * Points of clocks that can be read are taken when the clock is first used and at submissions, at
 * distances that grow by an eighth of the elapsed time: their number stays small, and the two
 * points that convert the time of an event are close to it.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <time.h>

#include "common/clock.h"
#include "machine/machine.h"
#include "tracer/nvtx/extensions.h"
#include "tracer/nvtx/select.h"
#include "tracer/core/state.h"

#define FOLLOWED_MAX 64u
#define APART_NS 1000u
#define TRIES 3 /* readings per point: the fastest is kept */

static struct followed {
	struct name *domain;
	uint64_t clock;
	int64_t (*read)(void); /* the program's function; NULL = a clock of the system */
	int64_t (*read_with_data)(void *data);
	void *data;
	uint64_t first_ns, last_ns; /* times of its first and last point */
	uint32_t is_ready, is_doubtful;
} followed[FOLLOWED_MAX];
static uint32_t followed_count;

int64_t nvtx_timestamp(void)
{
	return (int64_t)clock_monotonic_ns();
}

/* ---- declarations of the program ---- */

static void sync_put(struct name *domain, uint64_t source, uint64_t target,
	const struct nvtx_sync_point *point, double slope)
{
	union {
		double real;
		uint64_t bits;
	} value = {.real = slope};
	ext_put(&(struct ext_row){.event = EXT_NVTX_TIME_SYNC,
		.any_domain = source == NVTX_CLOCK_TOOL, /* true for every type of clock */
		.domain = domain,
		EXT_NUMBERS(source, target, (uint64_t)point->source, (uint64_t)point->target,
			slope != 0 ? NVTX_VALUE_DOUBLE : NVTX_VALUE_NONE, value.bits)});
}

void nvtx_time_sync(struct name *domain, uint64_t source, uint64_t target, int64_t source_time,
	int64_t target_time)
{
	const struct nvtx_sync_point point = {source_time, target_time};
	sync_put(domain, source, target, &point, 0);
}

void nvtx_time_sync_table(struct name *domain, uint64_t source, uint64_t target,
	const struct nvtx_sync_point *points, uint64_t count)
{
	for (uint64_t i = 0; points && i < count; i++)
		sync_put(domain, source, target, &points[i], 0);
}

void nvtx_time_factor(struct name *domain, uint64_t source, uint64_t target, double slope,
	int64_t source_time, int64_t target_time)
{
	const struct nvtx_sync_point point = {source_time, target_time};
	sync_put(domain, source, target, &point, slope);
}

/* ---- points that are taken here ---- */

static bool system_read(uint64_t clock, int64_t *ret_time)
{
	int id;
	switch (clock) {
	case NVTX_CLOCK_TSC: /* on all machines: nvToolsExtPayload.h */
		*ret_time = (int64_t)machine_counter();
		return true;
	case NVTX_CLOCK_REALTIME:
		id = CLOCK_REALTIME;
		break;
	case NVTX_CLOCK_MONOTONIC_RAW:
		id = CLOCK_MONOTONIC_RAW;
		break;
	case NVTX_CLOCK_BOOTTIME:
		id = CLOCK_BOOTTIME;
		break;
	default:
		return false;
	}
	*ret_time = (int64_t)clock_system_ns(id);
	return true;
}

/* Read the clock. The program's function must still be loaded: after a dlclose() this is unknown
 * until the program registers it again. */
static bool clock_read(const struct followed *f, bool is_again, int64_t *ret_time)
{
	uint64_t address =
		f->read ? (uint64_t)(uintptr_t)f->read : (uint64_t)(uintptr_t)f->read_with_data;
	if (!address)
		return system_read(f->clock, ret_time);
	if (is_again &&
		(__atomic_load_n(&f->is_doubtful, __ATOMIC_ACQUIRE) || !ext_readable(address, 1)))
		return false;
	*ret_time = f->read ? f->read() : f->read_with_data(f->data);
	return true;
}

/* Return true if a point is due, to only one thread. */
static bool point_take(struct followed *f)
{
	uint64_t now = clock_monotonic_ns(), last = __atomic_load_n(&f->last_ns, __ATOMIC_RELAXED);
	uint64_t first = __atomic_load_n(&f->first_ns, __ATOMIC_RELAXED);
	if (last && now < last + APART_NS + (last - first) / 8)
		return false;
	if (!__atomic_compare_exchange_n(
		    &f->last_ns, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	if (!last)
		__atomic_store_n(&f->first_ns, now, __ATOMIC_RELAXED);
	return true;
}

static void point_put(struct followed *f)
{
	struct nvtx_sync_point best = {0};
	uint64_t least = UINT64_MAX;
	bool is_again = __atomic_load_n(&f->last_ns, __ATOMIC_RELAXED) != 0;
	if (f->clock == NVTX_CLOCK_TOOL || nvtx_select_excludes(f->domain) || !point_take(f))
		return;
	for (int i = 0; i < TRIES; i++) {
		int64_t time = 0;
		uint64_t before = clock_monotonic_ns();
		if (!clock_read(f, is_again, &time))
			return;
		uint64_t took = clock_monotonic_ns() - before;
		if (took >= least)
			continue;
		least = took;
		best = (struct nvtx_sync_point){time, (int64_t)(before + took / 2)};
	}
	sync_put(f->domain, f->clock, NVTX_CLOCK_MONOTONIC, &best, 0);
}

/* Return true if both are the same clock. Types of clocks are the same in all domains. */
static bool is_same(const struct followed *a, const struct followed *b)
{
	return a->clock == b->clock && (a->domain == b->domain || a->clock < NVTX_ID_STATIC) &&
		a->read == b->read && a->read_with_data == b->read_with_data && a->data == b->data;
}

static struct followed *followed_find(const struct followed *wanted)
{
	uint32_t count = __atomic_load_n(&followed_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count && i < FOLLOWED_MAX; i++)
		if (__atomic_load_n(&followed[i].is_ready, __ATOMIC_ACQUIRE) &&
			is_same(&followed[i], wanted))
			return &followed[i];
	return NULL;
}

/* Add a clock. A clock that two threads add at once gets two entries, which is harmless. */
static struct followed *followed_add(const struct followed *wanted)
{
	struct followed *f = followed_find(wanted);
	if (f) {
		__atomic_store_n(&f->is_doubtful, 0, __ATOMIC_RELEASE);
		return f;
	}
	uint32_t place = __atomic_load_n(&followed_count, __ATOMIC_RELAXED);
	while (place < FOLLOWED_MAX &&
		!__atomic_compare_exchange_n(&followed_count, &place, place + 1, false,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	if (place >= FOLLOWED_MAX)
		return NULL;
	f = &followed[place];
	f->domain = wanted->domain;
	f->clock = wanted->clock;
	f->read = wanted->read;
	f->read_with_data = wanted->read_with_data;
	f->data = wanted->data;
	__atomic_store_n(&f->is_ready, 1, __ATOMIC_RELEASE);
	return f;
}

static void follow(const struct followed *wanted)
{
	struct followed *f = followed_add(wanted);
	if (f)
		point_put(f);
}

void nvtx_clock_follow(struct name *domain, uint64_t clock)
{
	int64_t time;
	clock = nvtx_clock_same(clock);
	if (system_read(clock, &time))
		follow(&(struct followed){.domain = domain, .clock = clock});
}

void nvtx_clocks_doubt(void)
{
	uint32_t count = __atomic_load_n(&followed_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count && i < FOLLOWED_MAX; i++)
		__atomic_store_n(&followed[i].is_doubtful, 1, __ATOMIC_RELEASE);
}

void nvtx_clocks_sync(void)
{
	uint32_t count = __atomic_load_n(&followed_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count && i < FOLLOWED_MAX; i++)
		if (__atomic_load_n(&followed[i].is_ready, __ATOMIC_ACQUIRE))
			point_put(&followed[i]);
}

void nvtx_clock_of_tool(int64_t time)
{
	struct followed *f = followed_add(&(const struct followed){.clock = NVTX_CLOCK_TOOL});
	if (f && point_take(f))
		nvtx_time_sync(NULL, NVTX_CLOCK_TOOL, NVTX_CLOCK_MONOTONIC, time, nvtx_timestamp());
}

/* ---- registrations ---- */

uint64_t nvtx_time_domain_register(struct name *domain, const struct nvtx_time_domain_attributes *a)
{
	if (!a)
		return 0;
	uint64_t id = ext_id(true, a->id);
	ext_put(&(struct ext_row){.event = EXT_NVTX_TIME_DOMAIN,
		.domain = domain,
		EXT_NUMBERS(id, a->scope, a->clock, a->flags, (uint64_t)a->ticks_per_second,
			a->origin)});
	nvtx_clock_follow(domain, a->clock);
	if (a->origin == NVTX_ORIGIN_UNIX_EPOCH)
		nvtx_clock_follow(domain, NVTX_CLOCK_REALTIME);
	return id;
}

void nvtx_timer_source(
	struct name *domain, uint64_t time_domain, uint64_t flags, int64_t (*clock)(void))
{
	(void)flags; /* the flags only matter for queries at the end of the process */
	if (clock)
		follow(&(struct followed){.domain = domain, .clock = time_domain, .read = clock});
}

void nvtx_timer_source_with_data(struct name *domain, uint64_t time_domain, uint64_t flags,
	int64_t (*clock)(void *data), void *data)
{
	(void)flags;
	if (clock)
		follow(&(struct followed){.domain = domain,
			.clock = time_domain,
			.read_with_data = clock,
			.data = data});
}
