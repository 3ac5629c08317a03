/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - conversion of CUPTI's times to nanoseconds of CLOCK_MONOTONIC.
 *
 * CUPTI reads our clock if that works (registered once per process, before any context: later
 * registrations corrupt times). Otherwise both clocks are read from time to time and the difference
 * is added. A stamp that is impossible on both clocks is not used as a time.
 */
#ifndef TRACER_CUDA_CLOCK_H
#define TRACER_CUDA_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* CUDA_SETUP.clock */
enum cuda_clock { CUDA_CLOCK_NONE = 0, CUDA_CLOCK_OURS = 1, CUDA_CLOCK_CONVERTED = 2 };

/* Choose the clock. Once, before any activity kind is enabled; CUPTI is loaded. */
enum cuda_clock cuda_clock_start(void);

/* Read both clocks, if that is due and needed. Not from buffer callbacks. Any thread. */
void cuda_clock_look(uint64_t now_ns);

/* Return half of the widest interval within which both clocks were read, in ns; 0 if CUPTI reads
 * our clock. */
uint64_t cuda_clock_error_ns(void);

enum cuda_stamp { CUDA_STAMP_GOOD, CUDA_STAMP_CONVERTED, CUDA_STAMP_IMPOSSIBLE };

/* Convert the two stamps of a record to our clock. `now_ns` is the time at which CUPTI gave the
 * record back. Any thread. */
enum cuda_stamp cuda_clock_span(uint64_t *start, uint64_t *end, uint64_t now_ns);

#endif
