/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handles.h - handles of another NVTX tool that is called as well: the program holds that tool's
 * handles, and this table maps them to our handles.
 *
 * At most HANDLES_MAX pairs, kept for the life of the process; further handles are not found.
 * Looking up takes no lock. Any thread.
 */
#ifndef TRACER_NVTX_HANDLES_H
#define TRACER_NVTX_HANDLES_H

#include <stdint.h>

#include "tracer/core/names.h"

#define HANDLES_MAX 32768u

/* 1 = there are such handles; 0 = no lookup is needed. */
extern uint32_t handles_in_use __attribute__((visibility("hidden")));

/* Record that the program uses handle `theirs` for our handle `ours`. */
void handles_pair(uint64_t theirs, uint64_t ours);

/* Return our handle for a handle of the other tool, or the handle itself if the other tool has no
 * such handle. */
uint64_t handles_ours(uint64_t theirs);

/* Return the string or domain of a handle, ours or the other tool's; NULL if the handle is
 * unknown. */
static inline struct name *handles_name(uint64_t handle)
{
	return names_known(handles_ours(handle));
}

#endif
