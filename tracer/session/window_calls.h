/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_calls.h - capture ranges that calls of the program open and close.
 */
#ifndef TRACER_SESSION_WINDOW_CALLS_H
#define TRACER_SESSION_WINDOW_CALLS_H

#include "common/capture.h"

/*
 * Open or close the capture window at cudaProfilerStart() (CAPTURE_CUDA_PROFILER) or
 * libtrace_start() (CAPTURE_LIBTRACE_API), and at the matching stop function. Nothing happens if
 * the options ask for another kind. Calls of a process do not nest: a second start is ignored, and
 * the first stop closes the window. Any thread, async-signal-safe, errno kept.
 */
void window_api_start(enum capture_kind kind);
void window_api_stop(enum capture_kind kind);

#endif
