/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve.h - conversion of the events of an NVTXT file to events with times of a report.
 *
 * The time base Manual counts ns of the report's clock, Relative ns from the start of its session.
 * All other bases count ticks, which the user must define: by two tick values and their times
 * (NVTXT_LERP), or by one tick value, its time and the tick rate (NVTXT_LIN). Such a definition
 * also applies to Manual, as in NVIDIA's importer. Computes with integers, rounded down. One
 * thread; allocates.
 */
#ifndef READER_NVTXT_RESOLVE_H
#define READER_NVTXT_RESOLVE_H

#include "reader/nvtxt/file.h"

enum nvtxt_scale { NVTXT_NO_SCALE, NVTXT_LERP, NVTXT_LIN };

struct nvtxt_clock {
	enum nvtxt_scale scale;
	int64_t ns_a, ns_b; /* ns of the report's clock; b: NVTXT_LERP */
	int64_t ticks_a, ticks_b;
	bool has_ticks_a, has_ticks_b; /* false = use the least (a) or greatest (b) ticks of the
					* file */
	uint64_t hertz;                /* NVTXT_LIN; greater than 0 */
	uint64_t session_start_ns;
};

/*
 * Convert the times of all events, pair pushes and pops by thread in the order of their lines, and
 * set levels. Afterwards events are MARK, PUSH (now a whole range), RANGE, NAME or NONE. A push
 * without a pop ends with the last event of the file and is flagged as unfinished. Errors are
 * reported to the file. Returns 0 or -ENOMEM.
 */
int nvtxt_resolve(struct nvtxt_file *f, const struct nvtxt_clock *clock);

#endif
