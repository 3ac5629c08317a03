/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_metrics.c - hardware metrics of GPU chips from CUPTI.
 */
#define _GNU_SOURCE
#include "reader/host/gpu_metrics.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cupti_profiler.h"
#include "common/cuda/gpu_metric_sets.h"
#include "reader/host/library.h"

static struct {
	int (*chips)(struct profiler_chips *);
	int (*start)(struct profiler_host_start *);
	int (*end)(struct profiler_host_end *);
	int (*base_metrics)(struct profiler_base_metrics *);
	int (*properties)(struct profiler_properties *);
	int (*add)(struct profiler_addition *);
	int (*image_size)(struct profiler_image_size *);
	int (*image)(struct profiler_image *);
	int (*passes)(struct profiler_passes *);
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
	struct profiler_chips chips = {.size = PROFILER_SIZE(profiler_chips, names)};
	int error = cupti.chips(&chips);
	for (size_t i = 0; !error && i < chips.count; i++)
		printf("chip=%s\n", chips.names[i]);
	return error;
}

static int metric_print(void *host, const char *name)
{
	static const char *const types[PROFILER_METRIC_TYPES] = {"counter", "ratio", "throughput"};
	struct profiler_properties p = {
		.size = PROFILER_SIZE(profiler_properties, type), .host = host, .name = name};
	int error = cupti.properties(&p);
	if (!error)
		printf("metric=%s\t%s\t%s\t%s\t%s\n", name,
			(unsigned)p.type < PROFILER_METRIC_TYPES ? types[p.type] : "",
			p.unit ? p.unit : "", p.hardware ? p.hardware : "",
			p.description ? p.description : "");
	return error;
}

static int metrics_print(void *host)
{
	int error = 0;
	for (int type = 0; type < PROFILER_METRIC_TYPES && !error; type++) {
		struct profiler_base_metrics all = {
			.size = PROFILER_SIZE(profiler_base_metrics, count),
			.host = host,
			.type = type};
		error = cupti.base_metrics(&all);
		for (size_t i = 0; i < all.count && !error; i++)
			error = metric_print(host, all.names[i]);
	}
	return error;
}

/* Make the configuration image of the metrics that were added, and count its passes. */
static int passes_count(void *host, size_t *ret_passes, size_t *ret_bytes)
{
	struct profiler_image_size needed = {
		.size = PROFILER_SIZE(profiler_image_size, bytes), .host = host};
	int error = cupti.image_size(&needed);
	if (error)
		return error;
	struct profiler_image image = {.size = PROFILER_SIZE(profiler_image, data),
		.host = host,
		.bytes = needed.bytes,
		.data = calloc(1, needed.bytes)};
	struct profiler_passes passes = {.size = PROFILER_SIZE(profiler_passes, count),
		.bytes = needed.bytes,
		.data = image.data};
	error = image.data ? cupti.image(&image) : -1;
	if (!error)
		error = cupti.passes(&passes);
	*ret_passes = passes.count;
	*ret_bytes = needed.bytes;
	free(image.data);
	return error;
}

static int host_start(const char *chip, bool sampled, void **ret_host)
{
	struct profiler_host_start start = {.size = PROFILER_SIZE(profiler_host_start, host),
		.profiler = sampled ? PROFILER_SAMPLES : PROFILER_RANGES,
		.chip = chip};
	int error = cupti.start(&start);
	*ret_host = start.host;
	return error;
}

static void host_end(void *host)
{
	cupti.end(&(struct profiler_host_end){
		.size = PROFILER_SIZE(profiler_host_end, host), .host = host});
}

/* Add metrics. After an unknown one, CUPTI refuses all others, too. */
static int metrics_add(void *host, const char **names, size_t count)
{
	struct profiler_addition all = {.size = PROFILER_SIZE(profiler_addition, count),
		.host = host,
		.names = names,
		.count = count};
	return cupti.add(&all);
}

/* Look up a metric of a chip. Return false, and print it, if it is unknown. */
static bool metric_is_known(const struct gpu_metrics_question *q, const char *name)
{
	void *host;
	if (host_start(q->chip, q->sampled, &host))
		return false;
	int error = metrics_add(host, &name, 1);
	host_end(host);
	if (error)
		printf("unknown=%s\n", name);
	return !error;
}

/* Return the number of passes of metrics. A gpu_metric_passes. */
static size_t passes_of(const void *question, const char **names, size_t count)
{
	const struct gpu_metrics_question *q = question;
	size_t passes = 0, bytes;
	void *host;
	if (host_start(q->chip, q->sampled, &host))
		return 0;
	const bool is_counted =
		!metrics_add(host, names, count) && !passes_count(host, &passes, &bytes);
	host_end(host);
	return is_counted ? passes : 0;
}

/* Print the metrics of each run of --gpu-metrics, and those that no run can count. */
static void runs_print(const struct gpu_metrics_question *q, const char **names, size_t count)
{
	size_t kept = 0, begin = 0, ends[GPU_METRICS_MAX];
	for (size_t i = 0; i < count; i++) {
		const size_t passes = passes_of(q, &names[i], 1);
		if (passes == 1)
			names[kept++] = names[i];
		else
			printf("no run=%s (%zu passes alone)\n", names[i], passes);
	}
	const size_t runs = gpu_metric_groups(names, kept, passes_of, q, ends);
	for (size_t run = 0; run < runs; begin = ends[run++]) {
		printf("run %zu=", run + 1);
		for (size_t i = begin; i < ends[run]; i++)
			printf("%s%s", i > begin ? "," : "", names[i]);
		putchar('\n');
	}
}

static bool is_listed(const char **names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static int plan_print(void *host, const struct gpu_metrics_question *q)
{
	const char *list = q->metrics;
	/* A set has at least 5 bytes of name, and its metrics less than 320. */
	size_t room = 64 * strlen(list) + 2, count = 0;
	char *text = malloc(room), *next = text;
	const char **names = calloc(room, sizeof(*names));
	bool all_known = text && names && gpu_metric_sets_expand(list, text, room);
	for (const char *name; names && next && (name = strsep(&next, ","));) {
		if (!*name || is_listed(names, count, name))
			continue;
		all_known &= metric_is_known(q, name);
		names[count++] = name;
	}
	size_t passes, bytes;
	int error = all_known ? metrics_add(host, names, count) : 0;
	if (all_known && !error)
		error = passes_count(host, &passes, &bytes);
	if (all_known && !error) {
		printf("passes=%zu\nbytes of the configuration=%zu\n", passes, bytes);
		if (count <= GPU_METRICS_MAX) /* of a run of the tracer */
			runs_print(q, names, count);
	}
	free(names);
	free(text);
	return error;
}

/* Print the error with the name that the library has for it. */
static void error_print(void *library, int error)
{
	int (*name_of)(int, const char **);
	const char *name = NULL;
	library_find(library, "cuptiGetResultString", &name_of);
	if (!name_of || name_of(error, &name) || !name)
		name = "";
	printf("error=%d %s\n", error, name);
}

bool gpu_metrics_print(const char *path, const struct gpu_metrics_question *question)
{
	void *library = library_open(path), *host = NULL;
	if (!library || !functions_find(library))
		return false;
	int error = question->chip ? host_start(question->chip, question->sampled, &host)
				   : chips_print();
	if (!error && question->chip) {
		error = question->metrics ? plan_print(host, question) : metrics_print(host);
		host_end(host);
	}
	if (error)
		error_print(library, error);
	return true;
}
