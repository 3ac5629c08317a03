/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_profiler.h - the parts of CUPTI's profiler that libtrace uses: its host part
 * (cupti_profiler_host.h of CUDA 12.6 to 13.0, which is not valid C), and the range profiler
 * (cupti_range_profiler.h, cupti_target.h).
 *
 * Each function takes a struct that begins with its size, which says what members it has: up to the
 * last one here. All functions return a CUptiResult.
 */
#ifndef COMMON_CUPTI_PROFILER_H
#define COMMON_CUPTI_PROFILER_H

#include <stddef.h>
#include <stdint.h>

/* The size of a struct up to its last member. */
#define PROFILER_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

/* ---- the host part: needs neither a GPU nor a driver ---- */

enum profiler_type { PROFILER_RANGES = 0 };
enum { PROFILER_METRIC_TYPES = 3 }; /* counter, ratio, throughput */

struct profiler_chips {
	size_t size;
	void *reserved;
	size_t count;
	const char *const *names;
};

struct profiler_host_start {
	size_t size;
	void *reserved;
	int profiler; /* enum profiler_type */
	const char *chip;
	const uint8_t *availability;
	void *host;
};

struct profiler_host_end {
	size_t size;
	void *reserved, *host;
};

struct profiler_base_metrics {
	size_t size;
	void *reserved, *host;
	int type;
	const char **names;
	size_t count;
};

struct profiler_properties {
	size_t size;
	void *reserved, *host;
	const char *name, *description, *hardware, *unit;
	int type;
};

struct profiler_addition {
	size_t size;
	void *reserved, *host;
	const char **names;
	size_t count;
};

struct profiler_image_size {
	size_t size;
	void *reserved, *host;
	size_t bytes;
};

struct profiler_image {
	size_t size;
	void *reserved, *host;
	size_t bytes;
	uint8_t *data;
};

struct profiler_passes {
	size_t size;
	void *reserved;
	size_t bytes;
	uint8_t *data;
	size_t count;
};

struct profiler_evaluation {
	size_t size;
	void *reserved, *host;
	const uint8_t *counters;
	size_t counters_bytes;
	size_t range;
	const char **names;
	size_t count;
	double *values;
};

/* ---- the target part: needs a GPU, a driver and, on most machines, permission ---- */

enum profiler_range { PROFILER_EACH_KERNEL = 1 };
enum profiler_replay { PROFILER_REPLAY_BY_USER = 3 };

struct profiler_start {
	size_t size;
	void *reserved;
};

struct profiler_chip {
	size_t size;
	void *reserved;
	size_t device;
	const char *name;
};

/* For functions that take a range profiler, and return at most that. */
struct ranges_object {
	size_t size;
	void *reserved, *object;
};

struct ranges_enable {
	size_t size;
	void *reserved, *context, *object;
};

struct ranges_config {
	size_t size;
	void *reserved, *object;
	size_t config_bytes;
	const uint8_t *config;
	size_t counters_bytes;
	uint8_t *counters;
	int range;  /* enum profiler_range */
	int replay; /* enum profiler_replay */
	size_t ranges_max;
	uint16_t levels, level_least;
	size_t pass;
	uint16_t level;
};

struct ranges_stop {
	size_t size;
	void *reserved, *object;
	size_t pass, level;
	uint8_t all_submitted;
};

struct ranges_decode {
	size_t size;
	void *reserved, *object;
	size_t dropped;
};

struct ranges_counters_size {
	size_t size;
	void *reserved, *object;
	const char **names;
	size_t count;
	size_t ranges_max;
	uint32_t nodes_max;
	size_t bytes;
};

struct ranges_counters {
	size_t size;
	void *reserved, *object;
	size_t bytes;
	uint8_t *counters;
};

struct ranges_count {
	size_t size;
	void *reserved;
	const uint8_t *counters;
	size_t bytes;
	size_t count;
};

#endif
