/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_metrics.c - hardware metrics of GPU chips from CUPTI.
 *
 * The structs are those of cupti_profiler_host.h of CUDA 13.0, which is not valid C. A struct's
 * size says which members it has: up to the last one here.
 */
#define _GNU_SOURCE
#include "reader/host/gpu_metrics.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/host/library.h"

enum { RANGE_PROFILER = 0, METRIC_TYPES = 3 };

struct chips {
	size_t size;
	void *reserved;
	size_t count;
	const char *const *names;
};

struct start {
	size_t size;
	void *reserved;
	int profiler;
	const char *chip;
	const uint8_t *availability;
	void *host;
};

struct end {
	size_t size;
	void *reserved, *host;
};

struct base_metrics {
	size_t size;
	void *reserved, *host;
	int type;
	const char **names;
	size_t count;
};

struct properties {
	size_t size;
	void *reserved, *host;
	const char *name, *description, *hardware, *unit;
	int type;
};

struct addition {
	size_t size;
	void *reserved, *host;
	const char **names;
	size_t count;
};

struct image_size {
	size_t size;
	void *reserved, *host;
	size_t bytes;
};

struct image {
	size_t size;
	void *reserved, *host;
	size_t bytes;
	uint8_t *data;
};

struct passes {
	size_t size;
	void *reserved;
	size_t bytes;
	uint8_t *data;
	size_t count;
};

/* The size of a struct up to its last member. */
#define SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

static struct {
	int (*chips)(struct chips *);
	int (*start)(struct start *);
	int (*end)(struct end *);
	int (*base_metrics)(struct base_metrics *);
	int (*properties)(struct properties *);
	int (*add)(struct addition *);
	int (*image_size)(struct image_size *);
	int (*image)(struct image *);
	int (*passes)(struct passes *);
} cupti;

static bool functions_find(void *library)
{
	library_find(library, "cuptiProfilerHostGetSupportedChips", &cupti.chips);
	library_find(library, "cuptiProfilerHostInitialize", &cupti.start);
	library_find(library, "cuptiProfilerHostDeinitialize", &cupti.end);
	library_find(library, "cuptiProfilerHostGetBaseMetrics", &cupti.base_metrics);
	library_find(library, "cuptiProfilerHostGetMetricProperties", &cupti.properties);
	library_find(library, "cuptiProfilerHostConfigAddMetrics", &cupti.add);
	library_find(library, "cuptiProfilerHostGetConfigImageSize", &cupti.image_size);
	library_find(library, "cuptiProfilerHostGetConfigImage", &cupti.image);
	library_find(library, "cuptiProfilerHostGetNumOfPasses", &cupti.passes);
	return cupti.chips && cupti.start && cupti.end && cupti.base_metrics && cupti.properties &&
		cupti.add && cupti.image_size && cupti.image && cupti.passes;
}

static int chips_print(void)
{
	struct chips chips = {.size = SIZE(chips, names)};
	int error = cupti.chips(&chips);
	for (size_t i = 0; !error && i < chips.count; i++)
		printf("chip=%s\n", chips.names[i]);
	return error;
}

static int metric_print(void *host, const char *name)
{
	static const char *const types[METRIC_TYPES] = {"counter", "ratio", "throughput"};
	struct properties p = {.size = SIZE(properties, type), .host = host, .name = name};
	int error = cupti.properties(&p);
	if (!error)
		printf("metric=%s\t%s\t%s\t%s\t%s\n", name,
			(unsigned)p.type < METRIC_TYPES ? types[p.type] : "", p.unit ? p.unit : "",
			p.hardware ? p.hardware : "", p.description ? p.description : "");
	return error;
}

static int metrics_print(void *host)
{
	int error = 0;
	for (int type = 0; type < METRIC_TYPES && !error; type++) {
		struct base_metrics all = {
			.size = SIZE(base_metrics, count), .host = host, .type = type};
		error = cupti.base_metrics(&all);
		for (size_t i = 0; i < all.count && !error; i++)
			error = metric_print(host, all.names[i]);
	}
	return error;
}

/* Make the configuration image of the metrics that were added, and count its passes. */
static int passes_print(void *host)
{
	struct image_size needed = {.size = SIZE(image_size, bytes), .host = host};
	int error = cupti.image_size(&needed);
	if (error)
		return error;
	struct image image = {.size = SIZE(image, data),
		.host = host,
		.bytes = needed.bytes,
		.data = calloc(1, needed.bytes)};
	struct passes passes = {
		.size = SIZE(passes, count), .bytes = needed.bytes, .data = image.data};
	error = image.data ? cupti.image(&image) : -1;
	if (!error)
		error = cupti.passes(&passes);
	if (!error)
		printf("passes=%zu\nimage_bytes=%zu\n", passes.count, needed.bytes);
	free(image.data);
	return error;
}

static int host_start(const char *chip, void **ret_host)
{
	struct start start = {.size = SIZE(start, host), .profiler = RANGE_PROFILER, .chip = chip};
	int error = cupti.start(&start);
	*ret_host = start.host;
	return error;
}

static void host_end(void *host)
{
	cupti.end(&(struct end){.size = SIZE(end, host), .host = host});
}

/* Add a metric. After an unknown one, CUPTI refuses all others, too. */
static int metric_add(void *host, const char *name)
{
	struct addition one = {
		.size = SIZE(addition, count), .host = host, .names = &name, .count = 1};
	return cupti.add(&one);
}

/* Look up a metric of a chip. Return false, and print it, if it is unknown. */
static bool metric_is_known(const char *chip, const char *name)
{
	void *host;
	if (host_start(chip, &host))
		return false;
	int error = metric_add(host, name);
	host_end(host);
	if (error)
		printf("unknown=%s\n", name);
	return !error;
}

static int plan_print(void *host, const char *chip, const char *list)
{
	char *names = strdup(list), *next = names;
	bool all_known = names != NULL;
	int error = 0;
	for (const char *name; next && (name = strsep(&next, ","));) {
		if (!*name)
			continue;
		all_known &= metric_is_known(chip, name);
		if (all_known && !error)
			error = metric_add(host, name);
	}
	free(names);
	return all_known && !error ? passes_print(host) : error;
}

bool gpu_metrics_print(const char *path, const struct gpu_metrics_question *question)
{
	void *library = library_open(path), *host = NULL;
	if (!library || !functions_find(library))
		return false;
	int error = question->chip ? host_start(question->chip, &host) : chips_print();
	if (!error && question->chip) {
		error = question->metrics ? plan_print(host, question->chip, question->metrics)
					  : metrics_print(host);
		host_end(host);
	}
	if (error)
		printf("error=%d\n", error);
	return true;
}
