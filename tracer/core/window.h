/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h - capture ranges of this process (common/capture.h), which open and close the gate.
 *
 * An open range is counted in the process's spool, too, so that the writer ends it when the process
 * dies. Any thread, async-signal-safe, errno kept; no system call but to wake the writer. Ranges
 * are ignored while this process is not traced.
 */
#ifndef TRACER_CORE_WINDOW_H
#define TRACER_CORE_WINDOW_H

#include <stdbool.h>

#include "common/capture.h"

/* Read the options. Once, before the process joins or creates a tree. */
void window_start(void);

/* Return the capture range that the options specify, for a tree that this process creates. */
const struct capture_spec *window_spec(void);

/* Return the capture range in force in this tree, from the options of the process that created it.
 * NULL = not traced. */
const struct capture_spec *window_in_force(void);

/* Count the start of an NVTX range that is a capture range. Return false if it is not counted; then
 * its end is not counted either. With a lane, thread.busy set. */
bool window_range_begin(void);
void window_range_end(void);

/* Close the open window, and wake the writer before there is no room for more windows. */
void window_close(void);

/* Handle the signal of the capture range. */
void window_signal(void);

#endif
