/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit.h - the difference of two clocks, from bounds of it.
 *
 * A message gives a bound: it does not arrive before it was sent. Every line that is above all
 * lower bounds and below all upper ones can be the difference of the clocks, if their rates are
 * constant and differ by at most FIT_DRIFT_MAX. The line in the middle of all these is the result,
 * and the distance to the outermost ones bounds its error. Where no line fits, rates were not
 * constant: several lines follow each other, each over as many bounds as it fits.
 *
 * One thread; allocates.
 */
#ifndef READER_MERGE_FIT_H
#define READER_MERGE_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/merge/clock_map.h"

/* Maximum difference of two rates: the kernel adjusts each clock by at most 500 ppm. */
#define FIT_DRIFT_MAX 1e-3

/* A bound of the difference: clock b minus clock a. */
struct fit_bound {
	int64_t ns;         /* time of clock a */
	int64_t difference; /* ns */
	bool is_upper;
};

struct fit {
	struct clock_map map; /* from clock b to clock a */
	bool has_drift;       /* the rate follows from the bounds; otherwise the rates are
			       * assumed to be equal, but errors allow for FIT_DRIFT_MAX */
	double drift;         /* rate of clock b divided by that of clock a, minus 1 */
	double error_ns;      /* bound between the first and the last of the bounds */
	double error_ends_ns; /* bound between first_ns and last_ns */
};

/*
 * Fit bounds, which are sorted. slack_ns: the bounds themselves may be wrong by this. first_ns,
 * last_ns: range of times of clock a that matters. Returns 0, and the caller releases the map;
 * -ENOENT if the bounds are on one side only; -EDOM if they contradict each other; or -ENOMEM.
 */
int fit_bounds(struct fit *ret, struct fit_bound *bounds, uint32_t count, double slack_ns,
	int64_t first_ns, int64_t last_ns);

#endif
