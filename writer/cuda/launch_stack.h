/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_stack.h - the callchain of a launch in the form of Nsight Compute's results.
 *
 * A Python frame has its function as in callchains of the report, "function (file.py:line)", and
 * its file and line. Functions of native frames are not known here: readers look them up by module
 * and address. One thread; allocates.
 */
#ifndef WRITER_CUDA_LAUNCH_STACK_H
#define WRITER_CUDA_LAUNCH_STACK_H

#include <stdint.h>

#include "ncu.pb-c.h"

#define LAUNCH_FRAMES_MAX 512u

struct launch_call;
struct spool;

struct launch_stack {
	Ncu__CpuStacktraceStackMessage message;
	Ncu__CpuStacktraceStackFrameMessage frames[LAUNCH_FRAMES_MAX], *list[LAUNCH_FRAMES_MAX];
	char *texts[2 * LAUNCH_FRAMES_MAX]; /* of Python frames */
	uint32_t text_count;
};

/* Get the callchain of a call, at most its LAUNCH_FRAMES_MAX innermost frames. Return NULL if it
 * has none. `stack`: all zero, or released. Valid until launch_stack_release(), as long as no
 * module is unloaded. May remap the spool. */
Ncu__CpuStacktraceStackMessage *launch_stack_fill(
	struct launch_stack *stack, struct spool *spool, const struct launch_call *call);

/* Free the texts. */
void launch_stack_release(struct launch_stack *stack);

#endif
