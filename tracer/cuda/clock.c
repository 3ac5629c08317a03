/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - the clock that CUPTI takes its times from, and its offset to ours (CLOCK_MONOTONIC).
 */
#include "tracer/cuda/clock.h"

#include <time.h>

#include "common/clock.h"
#include "common/sys.h"
#include "tracer/cuda/cupti.h"
#include "tracer/core/state.h"

#define SLACK_NS 10000000u       /* CUPTI interpolates: device times may be early or late */
#define LOOK_EVERY_NS 100000000u /* reading both clocks costs 0.1 us */
#define TRIES 3

static enum cuda_clock kind;
static uint64_t latest_ns,
	before_ns; /* our clock minus CUPTI's, modulo 2^64, at the last two readings */
static uint64_t error_ns, looked_ns;

static uint64_t own_clock(void)
{
	return clock_monotonic_ns();
}

/* Return true if the callback gives correct times. CUPTI has it since CUDA 11.6. Its release notes
 * report wrong device times with it from 12.6 Update 2 to 13.0, and in 12.3. */
static bool callback_is_sound(void)
{
	uint32_t v = cupti.version;
	return cupti.ActivityRegisterTimestampCallback && v >= CUPTI_11_6 && v != CUPTI_12_3 &&
		(v < CUPTI_12_6 || v >= CUPTI_13_1);
}

static bool read_theirs(uint64_t *ret_time)
{
	return cupti.GetTimestamp(ret_time) == CUPTI_OK;
}

static bool read_realtime(uint64_t *ret_time)
{
	*ret_time = clock_system_ns(CLOCK_REALTIME);
	return true;
}

/* A reading of our clock and of another: the difference (ours minus the other, modulo 2^64), the
 * time, and the duration of the reading. pair_read() returns the shortest of TRIES readings. */
struct pair {
	uint64_t offset_ns, at_ns, width_ns;
};

static bool pair_read(bool (*read)(uint64_t *), struct pair *ret_best)
{
	*ret_best = (struct pair){.width_ns = UINT64_MAX};
	for (int i = 0; i < TRIES; i++) {
		uint64_t theirs = 0, begin = clock_monotonic_ns();
		if (!read(&theirs))
			return false;
		uint64_t width = clock_monotonic_ns() - begin, at = begin + width / 2;
		if (width < ret_best->width_ns)
			*ret_best = (struct pair){at - theirs, at, width};
	}
	return true;
}

static void pair_take(void)
{
	struct pair best;
	if (!pair_read(read_theirs, &best))
		return;
	__atomic_store_n(&before_ns, latest_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&latest_ns, best.offset_ns, __ATOMIC_RELAXED);
	if (best.width_ns / 2 > error_ns)
		error_ns = best.width_ns / 2;
	looked_ns = best.at_ns;
}

enum cuda_clock cuda_clock_start(void)
{
	if (callback_is_sound() && cupti.ActivityRegisterTimestampCallback(own_clock) == CUPTI_OK) {
		kind = CUDA_CLOCK_OURS;
		return kind;
	}
	kind = CUDA_CLOCK_CONVERTED;
	pair_take();
	before_ns = latest_ns;
	return kind;
}

void cuda_clock_look(uint64_t now_ns)
{
	uint64_t last = __atomic_load_n(&looked_ns, __ATOMIC_RELAXED);
	if (kind == CUDA_CLOCK_CONVERTED && now_ns - last >= LOOK_EVERY_NS &&
		__atomic_compare_exchange_n(
			&looked_ns, &last, now_ns, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		pair_take();
}

uint64_t cuda_clock_error_ns(void)
{
	return error_ns;
}

static bool is_possible(uint64_t start, uint64_t end, uint64_t now_ns)
{
	return start && end >= start && start + SLACK_NS >= session.spool->first.mono_ns &&
		end <= now_ns + SLACK_NS;
}

static bool add_offset(uint64_t *start, uint64_t *end, uint64_t offset_ns, uint64_t now_ns)
{
	if (!is_possible(*start + offset_ns, *end + offset_ns, now_ns))
		return false;
	*start += offset_ns;
	*end += offset_ns;
	return true;
}

enum cuda_stamp cuda_clock_span(uint64_t *start, uint64_t *end, uint64_t now_ns)
{
	if (!*start || !*end || *end < *start)
		return CUDA_STAMP_IMPOSSIBLE;
	if (kind == CUDA_CLOCK_OURS) {
		if (is_possible(*start, *end, now_ns))
			return CUDA_STAMP_GOOD;
		/* A context that was created before the tracer started keeps CUPTI's own clock,
		 * CLOCK_REALTIME. */
		struct pair realtime;
		return pair_read(read_realtime, &realtime) &&
				add_offset(start, end, realtime.offset_ns, now_ns)
			? CUDA_STAMP_CONVERTED
			: CUDA_STAMP_IMPOSSIBLE;
	}
	/* CUPTI's clock may have been set since the last reading, or between the stamp and that
	 * reading; in the second case the offset of the reading before is right. */
	if (add_offset(start, end, __atomic_load_n(&latest_ns, __ATOMIC_RELAXED), now_ns) ||
		add_offset(start, end, __atomic_load_n(&before_ns, __ATOMIC_RELAXED), now_ns))
		return CUDA_STAMP_CONVERTED;
	return CUDA_STAMP_IMPOSSIBLE;
}
