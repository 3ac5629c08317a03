/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve.h - what an NVTXT file says becomes events with times of a report: its clocks are
 * converted, and each push gets its pop.
 *
 * The time base Manual counts nanoseconds of the report's clock, Relative those from the start of
 * its session. The others are ticks, of which the user says what they mean: two of them and when
 * they were (NVTXT_LERP), or one and their rate (NVTXT_LIN); that then holds for Manual, too, as
 * NVIDIA's importer has it. Computed in whole numbers, rounded down. One thread; allocates.
 */
#ifndef READER_NVTXT_RESOLVE_H
#define READER_NVTXT_RESOLVE_H

#include "reader/nvtxt/file.h"

enum nvtxt_scale { NVTXT_NO_SCALE, NVTXT_LERP, NVTXT_LIN };

struct nvtxt_clock {
	enum nvtxt_scale scale;
	int64_t ns_a, ns_b; /* of the report's clock; b: NVTXT_LERP */
	int64_t ticks_a, ticks_b;
	bool has_ticks_a, has_ticks_b; /* else: the least and the greatest of the file */
	uint64_t hertz;                /* NVTXT_LIN, above 0 */
	uint64_t session_start_ns;
};

/*
 * Converts the times of all events, pairs pushes and pops in the order of their lines, for each
 * thread, and sets levels. What is left are MARK, PUSH (now a whole range), RANGE and NAME events;
 * others have the kind NONE. A push without a pop ends with the last event of the file, and is
 * flagged as unfinished. Errors are told to the file. 0 or -ENOMEM.
 */
int nvtxt_resolve(struct nvtxt_file *f, const struct nvtxt_clock *clock);

#endif
