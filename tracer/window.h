/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h - capture ranges of this process (common/capture.h): what opens and closes the gate.
 *
 * A range that this process has open is counted in its spool, too, so that the writer ends it when
 * the process dies. Any thread, async-signal-safe, errno kept; no system call but to wake the
 * writer. What begins and ends while this process is not traced is ignored.
 */
#ifndef TRACER_WINDOW_H
#define TRACER_WINDOW_H

#include <stdbool.h>

#include "common/capture.h"

/* Reads the options. Once, before the tree is made or joined. */
void window_start(void);

/* What the options say; for a tree that this process makes. */
const struct capture_spec *window_spec(void);

/* What holds in this tree: as its maker's options say. NULL = not traced. */
const struct capture_spec *window_in_force(void);

/* An NVTX range that is a capture range begins. False = it is not counted, nor is its end. With
 * thread.busy set and a lane. */
bool window_range_begin(void);
void window_range_end(void);

/*
 * cudaProfilerStart() (CAPTURE_CUDA_PROFILER) or libtrace_start() (CAPTURE_LIBTRACE_API) has been
 * called, or the function that ends it. Nothing happens where that is not what the options ask for.
 * They do not nest: a second start is none, and one stop ends it, in each process.
 */
void window_api_start(enum capture_kind kind);
void window_api_stop(enum capture_kind kind);

/* The signal came. */
void window_signal(void);

#endif
