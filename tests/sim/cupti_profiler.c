/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_profiler.c - the simulated profiler: its host part, and the range profiler with a range for
 * each kernel, or ranges that a client pushes and pops.
 *
 * The chip has these metrics; the first two fit one pass together, others take passes of their own:
 *   sim__duration.sum     ns of the kernel
 *   sim__threads.sum      its threads
 *   sim__registers.max    its registers: one pass
 *   sim__wide.sum         two passes
 *   sim__blocks.sum       its blocks: one pass
 * A configuration is the list of metrics; a counter image is a count, and the kernels' values. As
 * in the real one, a batch holds at most as many ranges as its configuration says; what is beyond
 * is dropped, and counted. A pushed range has the sums (registers: the largest) of all kernels that
 * the context gets until it is popped; ranges of the same name are added up, and one without a
 * kernel is in no image. Only one level of ranges can be configured.
 */
#include "tests/sim/cupti_sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cupti_profiler.h"

enum { NAMES_MAX = 8, CONTEXTS = 64, METRICS = PROFILER_METRICS };

static const char *const metrics[METRICS] = {"sim__duration.sum", "sim__threads.sum",
	"sim__registers.max", "sim__wide.sum", "sim__blocks.sum"};
static const size_t own_passes[METRICS] = {0, 0, 1, 2, 1}; /* 0 = shares one */

struct host {
	int metrics[NAMES_MAX];
	size_t count;
};

struct ranges {
	void *context;
	uint32_t id;
	bool started, submitted;
	bool by_push, pushed;
	char name[PROFILER_NAME_BYTES]; /* of the range that is pushed */
	struct profiler_image_of *image;
	size_t most, dropped;
};

static struct ranges profilers[CONTEXTS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int metric_of(const char *name)
{
	for (int i = 0; i < METRICS; i++)
		if (!strcmp(metrics[i], name))
			return i;
	return -1;
}

/* ---- the host part ---- */

CUPTI_EXPORT cuptiProfilerInitialize(void *parameters)
{
	(void)parameters;
	CUPTI_MAY_FAIL();
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiDeviceGetChipName(struct profiler_chip *p)
{
	CUPTI_MAY_FAIL();
	p->name = "SIM100";
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostInitialize(struct profiler_host_start *p)
{
	CUPTI_MAY_FAIL();
	if (strcmp(p->chip, "SIM100") ||
		(p->profiler != PROFILER_RANGES && p->profiler != PROFILER_SAMPLES))
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->host = calloc(1, sizeof(struct host));
	return p->host ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

CUPTI_EXPORT cuptiProfilerHostDeinitialize(struct profiler_host_end *p)
{
	free(p->host);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostConfigAddMetrics(struct profiler_addition *p)
{
	struct host *host = p->host;

	for (size_t i = 0; i < p->count; i++) {
		int metric = metric_of(p->names[i]);
		if (metric < 0 || host->count == NAMES_MAX)
			return CUPTI_ERROR_INVALID_METRIC_NAME;
		host->metrics[host->count++] = metric;
	}
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostGetConfigImageSize(struct profiler_image_size *p)
{
	p->bytes = sizeof(struct host);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostGetConfigImage(struct profiler_image *p)
{
	if (p->bytes < sizeof(struct host))
		return CUPTI_ERROR_INVALID_PARAMETER;
	memcpy(p->data, p->host, sizeof(struct host));
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostGetNumOfPasses(struct profiler_passes *p)
{
	const struct host *host = (const void *)p->data;
	bool together = false;

	p->count = 0;
	for (size_t i = 0; i < host->count; i++) {
		together |= !own_passes[host->metrics[i]];
		p->count += own_passes[host->metrics[i]];
	}
	p->count += together;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiProfilerHostEvaluateToGpuValues(struct profiler_evaluation *p)
{
	const struct profiler_image_of *image = (const void *)p->counters;

	CUPTI_MAY_FAIL();
	if (p->range >= image->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < p->count; i++) {
		int metric = metric_of(p->names[i]);
		if (metric < 0)
			return CUPTI_ERROR_INVALID_METRIC_NAME;
		p->values[i] = image->values[p->range][metric];
	}
	return CUPTI_SUCCESS;
}

/* ---- the range profiler ---- */

/* Return the values of the range that the next kernel belongs to; NULL = of none. */
static double *values_of(struct ranges *r)
{
	struct profiler_image_of *image = r->image;

	if (r->by_push && !r->pushed)
		return NULL;
	for (size_t i = 0; r->by_push && i < image->count; i++)
		if (!strcmp(image->names[i], r->name))
			return image->values[i];
	if (image->count == r->most) {
		r->dropped++;
		return NULL;
	}
	if (r->by_push)
		memcpy(image->names[image->count], r->name, sizeof(r->name));
	memset(image->values[image->count], 0, sizeof(image->values[0]));
	return image->values[image->count++];
}

void cupti_profiler_op(const struct sim_op *op)
{
	cupti_samples_op(op);
	if (op->kind != SIM_KERNEL)
		return;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < CONTEXTS; i++) {
		struct ranges *r = &profilers[i];
		if (!r->context || !r->started || r->id != op->context)
			continue;
		double *values = values_of(r), threads = 1, blocks = 1;
		if (!values)
			continue;
		for (int d = 0; d < 3; d++) {
			blocks *= op->kernel.grid[d];
			threads *= (double)op->kernel.grid[d] * op->kernel.block[d];
		}
		values[0] += (double)(op->end_ns - op->start_ns);
		values[1] += threads;
		values[2] = op->kernel.registers > values[2] ? op->kernel.registers : values[2];
		values[4] += blocks;
	}
	pthread_mutex_unlock(&mutex);
}

CUPTI_EXPORT cuptiRangeProfilerEnable(struct ranges_enable *p)
{
	CUptiResult result = CUPTI_ERROR_OUT_OF_MEMORY;

	CUPTI_MAY_FAIL();
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < CONTEXTS && result; i++)
		if (!profilers[i].context) {
			profilers[i] = (struct ranges){.context = p->context,
				.id = cupti_driver()->context_id(p->context)};
			p->object = &profilers[i];
			result = CUPTI_SUCCESS;
		}
	pthread_mutex_unlock(&mutex);
	return result;
}

CUPTI_EXPORT cuptiRangeProfilerDisable(struct ranges_object *p)
{
	struct ranges *r = p->object;

	pthread_mutex_lock(&mutex);
	r->started = false;
	r->context = NULL;
	pthread_mutex_unlock(&mutex);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerGetCounterDataSize(struct ranges_counters_size *p)
{
	p->bytes = sizeof(struct profiler_image_of) + p->ranges_max * METRICS * sizeof(double);
	return p->nodes_max < p->ranges_max ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerCounterDataImageInitialize(struct ranges_counters *p)
{
	struct ranges *r = p->object;

	if (r->started)
		return CUPTI_ERROR_INVALID_OPERATION;
	memset(p->counters, 0, sizeof(struct profiler_image_of));
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerSetConfig(struct ranges_config *p)
{
	struct ranges *r = p->object;
	size_t room =
		(p->counters_bytes - sizeof(struct profiler_image_of)) / (METRICS * sizeof(double));

	if (r->started || (p->range != PROFILER_EACH_KERNEL && p->range != PROFILER_PUSHED) ||
		p->replay != PROFILER_REPLAY_BY_USER || p->levels != 1 || p->pass)
		return CUPTI_ERROR_INVALID_PARAMETER;
	r->by_push = p->range == PROFILER_PUSHED;
	if (r->by_push && p->ranges_max > PROFILER_NAMES)
		return CUPTI_ERROR_INVALID_PARAMETER;
	r->image = (void *)p->counters;
	r->most = p->ranges_max < room ? p->ranges_max : room;
	r->dropped = 0;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerStart(struct ranges_object *p)
{
	struct ranges *r = p->object;

	CUPTI_MAY_FAIL();
	pthread_mutex_lock(&mutex);
	r->started = r->image != NULL;
	r->submitted = false;
	pthread_mutex_unlock(&mutex);
	return r->started ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUPTI_EXPORT cuptiRangeProfilerPushRange(struct ranges_push *p)
{
	struct ranges *r = p->object;
	bool is_valid;

	CUPTI_MAY_FAIL();
	pthread_mutex_lock(&mutex);
	is_valid = r->started && r->by_push && !r->pushed && strlen(p->name) < sizeof(r->name);
	if (is_valid) {
		r->pushed = true;
		memset(r->name, 0, sizeof(r->name));
		memcpy(r->name, p->name, strlen(p->name));
	}
	pthread_mutex_unlock(&mutex);
	return is_valid ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUPTI_EXPORT cuptiRangeProfilerPopRange(struct ranges_object *p)
{
	struct ranges *r = p->object;
	bool is_valid;

	CUPTI_MAY_FAIL();
	pthread_mutex_lock(&mutex);
	is_valid = r->started && r->pushed;
	r->pushed = false;
	pthread_mutex_unlock(&mutex);
	return is_valid ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUPTI_EXPORT cuptiRangeProfilerCounterDataGetRangeInfo(struct range_info *p)
{
	const struct profiler_image_of *image = (const void *)p->counters;
	static _Thread_local char number[PROFILER_NAME_BYTES];

	CUPTI_MAY_FAIL();
	if (p->range >= image->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	snprintf(number, sizeof(number), "%zu", p->range);
	p->name = p->range < PROFILER_NAMES && image->names[p->range][0] ? image->names[p->range]
									 : number;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiRangeProfilerStop(struct ranges_stop *p)
{
	struct ranges *r = p->object;

	CUPTI_MAY_FAIL();
	if (r->pushed)
		return CUPTI_ERROR_INVALID_OPERATION;
	pthread_mutex_lock(&mutex);
	r->submitted = r->started;
	r->started = false;
	pthread_mutex_unlock(&mutex);
	p->all_submitted = r->submitted;
	return r->submitted ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUPTI_EXPORT cuptiRangeProfilerDecodeData(struct ranges_decode *p)
{
	struct ranges *r = p->object;

	CUPTI_MAY_FAIL();
	p->dropped = r->dropped;
	return r->submitted ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUPTI_EXPORT cuptiRangeProfilerGetCounterDataInfo(struct ranges_count *p)
{
	p->count = ((const struct profiler_image_of *)(const void *)p->counters)->count;
	return CUPTI_SUCCESS;
}
