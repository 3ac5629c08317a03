/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clockfit.h - ticks to nanoseconds of CLOCK_MONOTONIC, piecewise linear between clock points.
 *
 * One fit serves all processes of a machine: they read the same counter. Between two points the
 * conversion is monotonic; outside of them the nearest piece is continued. If counter and clock
 * have diverged (the machine was suspended, or a virtual one paused), the points on either side
 * belong to separate runs, and a time between them is converted by the nearer run. Old points are
 * thinned, so memory is fixed. Owning thread only; nothing allocates or blocks, and only the
 * functions that add points can fail.
 */
#ifndef COMMON_CLOCKFIT_H
#define COMMON_CLOCKFIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"

#define CLOCKFIT_POINTS 256u
#define CLOCKFIT_SHIFT \
	40 /* slopes are ns << 40 per tick: 1e-12 of precision, room for a slope of 16 million */
#define CLOCKFIT_AGREEING 3u          /* points that agree begin a new run */
#define CLOCKFIT_UNBOUNDED UINT32_MAX /* error: no bound is known */

struct clockfit {
	struct clock_point points[CLOCKFIT_POINTS]; /* ascending */
	uint8_t begins_run[CLOCKFIT_POINTS]; /* 1 = the clock diverged from the counter before this
						point */
	uint32_t count;
	uint32_t error_ns; /* the bound for points and runs; see clockfit_error() */
	uint32_t breaks;   /* number of runs begun so far, without the first */
	uint32_t doubtful; /* number in doubt[]: the latest points, which contradict the others */
	struct clock_point doubt[CLOCKFIT_AGREEING];
	/* the piece in use */
	uint64_t tick, span, ns, slope;
	uint64_t fallback_slope; /* used until there are two points; 0 = ticks are nanoseconds */
};

/* Start without a point: until there are two, the rate is a guess. Owns no memory. */
void clockfit_init(struct clockfit *fit);

/*
 * Insert a point of any time. Return 0, -EEXIST if another point is so close that this one adds
 * nothing, or -EINVAL if it contradicts the others (their order is reversed, or its rate is more
 * than 0.1 % off theirs).
 */
int clockfit_add(struct clockfit *fit, const struct clock_point *point);

/*
 * Add a point that the caller has just taken. Works as clockfit_add(), but CLOCKFIT_AGREEING points
 * that contradict the others and agree with each other begin a new run. After -EINVAL the caller
 * should take another point very soon.
 */
int clockfit_follow(struct clockfit *fit, const struct clock_point *point);

/* Add a point; a point that contradicts the others becomes a run of its own if its order allows
 * that, else -EINVAL is returned. For a time about which nothing else is known. */
int clockfit_add_apart(struct clockfit *fit, const struct clock_point *point);

/* Return the bound of the error of conversions; CLOCKFIT_UNBOUNDED if the rate is a guess, the
 * latest readings contradict the points, or the counter was set back. */
uint32_t clockfit_error(const struct clockfit *fit);

/* Select the piece that contains `tick`. */
void clockfit_select(struct clockfit *fit, uint64_t tick);

/* Convert a number of ticks to nanoseconds, at the rate of the selected piece. */
static inline uint64_t clockfit_scale(const struct clockfit *fit, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * fit->slope >> CLOCKFIT_SHIFT);
}

/* Convert a reading of the counter to nanoseconds of CLOCK_MONOTONIC, at least 0. Selects the piece
 * that contains it, so only one thread at a time may call it. */
static inline uint64_t clockfit_ns(struct clockfit *fit, uint64_t tick)
{
	if (__builtin_expect(tick - fit->tick >= fit->span, 0))
		clockfit_select(fit, tick);
	if (__builtin_expect(tick < fit->tick, 0)) { /* the tick is before the first point */
		uint64_t back = clockfit_scale(fit, fit->tick - tick);
		return back < fit->ns ? fit->ns - back : 0;
	}
	return fit->ns + clockfit_scale(fit, tick - fit->tick);
}

/* Return the duration in ns of an event that began at `tick` and took `ticks`; at most the
 * difference of the two converted times. */
static inline uint64_t clockfit_duration_ns(struct clockfit *fit, uint64_t tick, uint64_t ticks)
{
	uint64_t begin = clockfit_ns(fit, tick);
	if (__builtin_expect(tick - fit->tick + ticks < fit->span, 1))
		return clockfit_scale(fit, ticks);
	uint64_t end = clockfit_ns(fit, tick + ticks);
	return end > begin ? end - begin : 0;
}

#endif
