/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handles.h - where another NVTX tool is called as well: the program holds that tool's handles, and
 * these lead to ours.
 *
 * At most HANDLES_MAX pairs, kept for the life of the process; what there is no room for is not
 * found. Looking up takes no lock. Any thread.
 */
#ifndef TRACER_HANDLES_H
#define TRACER_HANDLES_H

#include <stdint.h>

#define HANDLES_MAX 32768u

/* 1 = there are such handles. */
extern uint32_t handles_in_use __attribute__((visibility("hidden")));

/* The program has `theirs` for what is `ours` to us. */
void handles_pair(uint64_t theirs, uint64_t ours);

/* What is ours for it; the handle itself when it is none of theirs. */
uint64_t handles_ours(uint64_t theirs);

#endif
