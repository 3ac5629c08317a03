/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clockfit.h - ticks to nanoseconds of CLOCK_MONOTONIC, piecewise linear between clock points.
 *
 * One fit serves all processes of a machine: they read the same counter. Between two points the
 * conversion is monotonic; outside of them the nearest piece is continued. Where counter and clock
 * have parted (the machine was suspended, or a virtual one paused), the points on either side
 * belong to separate runs, and a time between them is converted by the nearer run. Old points are
 * thinned, so memory is fixed. Owning thread only; nothing allocates, blocks or fails but the
 * functions that add points.
 */
#ifndef COMMON_CLOCKFIT_H
#define COMMON_CLOCKFIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"

#define CLOCKFIT_POINTS 256u
#define CLOCKFIT_SHIFT \
	40 /* slopes are ns << 40 per tick: 1e-12 of precision, room for a slope of 16 million */
#define CLOCKFIT_AGREEING 3u          /* readings that make a new run */
#define CLOCKFIT_UNBOUNDED UINT32_MAX /* error: nobody knows */

struct clockfit {
	struct clock_point points[CLOCKFIT_POINTS]; /* ascending */
	uint8_t begins_run[CLOCKFIT_POINTS]; /* 1 = the clock parted from the counter before */
	uint32_t count;
	uint32_t error_ns; /* the bound for points and runs; see clockfit_error() */
	uint32_t breaks;   /* how often a new run began, ever */
	uint32_t doubtful; /* readings in doubt[]: the latest, which contradict the points */
	struct clock_point doubt[CLOCKFIT_AGREEING];
	/* the piece in use */
	uint64_t tick, span, ns, slope;
	uint64_t fallback_slope; /* while there are not two points; 0 = ticks are nanoseconds */
};

void clockfit_init(struct clockfit *fit);

/*
 * Adds a point of any time in its place. Returns 0, -EEXIST where another is so near that this one
 * tells nothing, or -EINVAL when it contradicts the others (order turned round, or a rate more than
 * 0.1 % away from theirs).
 */
int clockfit_add(struct clockfit *fit, const struct clock_point *point);

/*
 * Adds a reading that the caller has just made. As clockfit_add(), but readings that contradict the
 * points and agree with each other, CLOCKFIT_AGREEING of them, begin a new run. After -EINVAL it
 * should make another one very soon.
 */
int clockfit_follow(struct clockfit *fit, const struct clock_point *point);

/* Adds a point that contradicts the others as a run of its own, where its order allows that; else
 * -EINVAL. For a time of which nothing else is known. */
int clockfit_add_apart(struct clockfit *fit, const struct clock_point *point);

/* The bound of the error of conversions; CLOCKFIT_UNBOUNDED where the rate is a guess, the latest
 * readings contradict the points, or the counter was set back. */
uint32_t clockfit_error(const struct clockfit *fit);

/* Makes the piece that holds `tick` the one in use. */
void clockfit_select(struct clockfit *fit, uint64_t tick);

static inline uint64_t clockfit_scale(const struct clockfit *fit, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * fit->slope >> CLOCKFIT_SHIFT);
}

static inline uint64_t clockfit_ns(struct clockfit *fit, uint64_t tick)
{
	if (__builtin_expect(tick - fit->tick >= fit->span, 0))
		clockfit_select(fit, tick);
	if (__builtin_expect(tick < fit->tick, 0)) { /* before the first point */
		uint64_t back = clockfit_scale(fit, fit->tick - tick);
		return back < fit->ns ? fit->ns - back : 0;
	}
	return fit->ns + clockfit_scale(fit, tick - fit->tick);
}

/* Length in ns of what began at `tick` and took `ticks`; at most what lies between the two
 * converted times. */
static inline uint64_t clockfit_duration_ns(struct clockfit *fit, uint64_t tick, uint64_t ticks)
{
	uint64_t begin = clockfit_ns(fit, tick);
	if (__builtin_expect(tick - fit->tick + ticks < fit->span, 1))
		return clockfit_scale(fit, ticks);
	uint64_t end = clockfit_ns(fit, tick + ticks);
	return end > begin ? end - begin : 0;
}

#endif
