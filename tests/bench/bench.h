/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - clocks, medians and marks of the benchmark programs.
 *
 * Every program prints lines of tab-separated fields; tests/bench/run reads them. Times are
 * nanoseconds.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
/* A mark; stepcount counts the instructions between two of them. */
#define STEP_MARK() __asm__ volatile("int3" : : : "memory")
#define STOP_INSTRUCTION_BYTES 1
#else
#define STEP_MARK() __asm__ volatile("brk #0" : : : "memory")
#endif

static inline uint64_t bench_clock(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline uint64_t bench_ticks(void)
{
#if defined(__x86_64__)
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
#else
	return bench_clock(CLOCK_MONOTONIC);
#endif
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sort `values`; values[0] is then the smallest. */
static inline double bench_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), bench_compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

#endif
