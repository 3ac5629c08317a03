/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_clock.h - times of CUPTI on our clock: nanoseconds of CLOCK_MONOTONIC.
 *
 * CUPTI asks our clock where that works (registered once per process, before any context: later
 * registrations corrupt times). Else its own clock is read beside ours from time to time and the
 * difference is added. A stamp that cannot be true on either clock is not a time.
 */
#ifndef TRACER_CUDA_CLOCK_H
#define TRACER_CUDA_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* CUDA_SETUP.clock */
enum cuda_clock { CUDA_CLOCK_NONE = 0, CUDA_CLOCK_OURS = 1, CUDA_CLOCK_CONVERTED = 2 };

/* Once, before any activity kind is enabled; CUPTI is loaded. */
enum cuda_clock cuda_clock_start(void);

/* Reads both clocks, if that is due and needed. Not from buffer callbacks. Any thread. */
void cuda_clock_look(uint64_t now_ns);

/* Half of the widest bracket that both clocks were read in; 0 where CUPTI asks ours. */
uint64_t cuda_clock_error_ns(void);

enum cuda_stamp { CUDA_STAMP_GOOD, CUDA_STAMP_CONVERTED, CUDA_STAMP_IMPOSSIBLE };

/* Two stamps of a record on our clock. `now_ns` is when the record was handed over. Any thread. */
enum cuda_stamp cuda_clock_span(uint64_t *start, uint64_t *end, uint64_t now_ns);

#endif
