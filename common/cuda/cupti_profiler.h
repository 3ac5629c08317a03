/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_profiler.h - the parts of CUPTI's profiler that libtrace uses: its host part
 * (cupti_profiler_host.h of CUDA 12.6 to 13.0, which is not valid C), and the range profiler
 * (cupti_range_profiler.h, cupti_target.h) and periodic samples (cupti_pmsampling.h).
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

enum profiler_type { PROFILER_RANGES = 0, PROFILER_SAMPLES = 1 };
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

enum profiler_range { PROFILER_EACH_KERNEL = 1, PROFILER_PUSHED = 2 };
enum profiler_replay { PROFILER_REPLAY_BY_RERUN = 1, PROFILER_REPLAY_BY_USER = 3 };

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

struct ranges_push {
	size_t size;
	void *reserved, *object;
	const char *name;
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

struct range_info {
	size_t size;
	void *reserved;
	const uint8_t *counters;
	size_t bytes;
	size_t range;
	const char *delimiter; /* between the names of nested ranges */
	const char *name;
};

/* ---- periodic samples of a device (PM sampling): as the target part ---- */

enum samples_trigger { SAMPLES_BY_CYCLES = 0, SAMPLES_BY_TIME = 1 };
enum samples_stop { SAMPLES_STOP_FULL = 1, SAMPLES_STOP_END = 2 };

/* For functions that take a sampler, and return nothing else. */
struct samples_object {
	size_t size;
	void *reserved, *object;
};

struct samples_enable {
	size_t size;
	void *reserved;
	size_t device;
	void *object;
};

struct samples_config {
	size_t size;
	void *reserved, *object;
	size_t config_bytes;
	const uint8_t *config;
	size_t buffer_bytes;
	uint64_t interval; /* cycles or ns */
	int trigger;       /* enum samples_trigger */
	int keeps_latest;  /* of a full buffer; 0 = the oldest, and `overflow` */
};

struct samples_decode {
	size_t size;
	void *reserved, *object;
	uint8_t *counters;
	size_t bytes;
	int stop; /* enum samples_stop */
	uint8_t overflow;
};

struct samples_counters_size {
	size_t size;
	void *reserved, *object;
	const char **names;
	size_t count;
	uint32_t samples_max;
	size_t bytes;
};

struct samples_counters {
	size_t size;
	void *reserved, *object;
	size_t bytes;
	uint8_t *counters;
};

struct samples_count {
	size_t size;
	void *reserved;
	const uint8_t *counters;
	size_t bytes;
	size_t total, populated, completed;
};

struct sample_info {
	size_t size;
	void *reserved, *object;
	const uint8_t *counters;
	size_t bytes;
	size_t sample;
	uint64_t start, end;
};

#endif
