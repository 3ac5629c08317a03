/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_samples.c - the simulated sampling of counters (PM sampling): the metrics of
 * cupti_profiler.c by device and interval.
 *
 *   sim__duration.sum     ns of the interval in which kernels ran, each kernel by itself
 *   sim__threads.sum      threads of the kernels that began in the interval
 *   sim__registers.max    most registers of a kernel that ran in it
 *
 * An interval is stored in the device's buffer when it is over. A full buffer keeps the oldest
 * ones, and says so. A decoded sample has its place in the client's image behind the values of all.
 */
#include "tests/sim/cupti_sim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cupti_profiler.h"

enum { DEVICES = 16, SAMPLE_BYTES = 64 };

struct kernel {
	uint64_t start_ns, end_ns;
	double threads, registers;
};

struct sampler {
	bool used, started;
	uint32_t device;
	uint64_t interval_ns, next_ns, stop_ns;
	size_t buffer_samples;
	struct kernel *kernels;
	size_t first, count, room; /* those before `first` had ended before the next sample */
};

struct span {
	uint64_t start_ns, end_ns;
};

static struct sampler samplers[DEVICES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static size_t samples_of(size_t bytes)
{
	return bytes < sizeof(struct profiler_image_of)
		? 0
		: (bytes - sizeof(struct profiler_image_of)) /
			(PROFILER_METRICS * sizeof(double) + sizeof(struct span));
}

static struct span *spans_of(uint8_t *counters, size_t bytes)
{
	struct profiler_image_of *image = (void *)counters;
	return (void *)(image->values + samples_of(bytes));
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void cupti_samples_op(const struct sim_op *op)
{
	struct sampler *s = op->device < DEVICES ? &samplers[op->device] : NULL;
	double threads = 1;

	if (op->kind != SIM_KERNEL || !s)
		return;
	pthread_mutex_lock(&mutex);
	if (s->started && s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 1024;
		struct kernel *more = realloc(s->kernels, room * sizeof(*more));
		if (more) {
			s->kernels = more;
			s->room = room;
		}
	}
	if (s->started && s->count < s->room) {
		for (int d = 0; d < 3; d++)
			threads *= (double)op->kernel.grid[d] * op->kernel.block[d];
		s->kernels[s->count++] =
			(struct kernel){op->start_ns, op->end_ns, threads, op->kernel.registers};
	}
	pthread_mutex_unlock(&mutex);
}

CUPTI_EXPORT cuptiPmSamplingEnable(struct samples_enable *p)
{
	struct sampler *s = p->device < DEVICES ? &samplers[p->device] : NULL;

	CUPTI_MAY_FAIL();
	if (!s || p->device >= cupti_driver()->device_count())
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (s->used)
		return CUPTI_ERROR_INVALID_OPERATION;
	*s = (struct sampler){.used = true, .device = (uint32_t)p->device};
	p->object = s;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiPmSamplingDisable(struct samples_object *p)
{
	struct sampler *s = p->object;

	pthread_mutex_lock(&mutex);
	free(s->kernels);
	*s = (struct sampler){.used = false};
	pthread_mutex_unlock(&mutex);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiPmSamplingSetConfig(struct samples_config *p)
{
	struct sampler *s = p->object;
	struct profiler_passes passes = {
		.bytes = p->config_bytes, .data = (uint8_t *)(uintptr_t)p->config};
	CUptiResult CUPTIAPI cuptiProfilerHostGetNumOfPasses(struct profiler_passes *);

	CUPTI_MAY_FAIL();
	if (!p->interval || p->keeps_latest)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (cuptiProfilerHostGetNumOfPasses(&passes) || passes.count != 1)
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (p->trigger == SAMPLES_BY_TIME && cupti_driver()->option(SIM_OPTION_samples_by_cycles))
		return CUPTI_ERROR_NOT_SUPPORTED;
	s->interval_ns = p->interval;
	s->buffer_samples = p->buffer_bytes / SAMPLE_BYTES;
	if (cupti_driver()->option(SIM_OPTION_samples_max))
		s->buffer_samples = cupti_driver()->option(SIM_OPTION_samples_max);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiPmSamplingStart(struct samples_object *p)
{
	struct sampler *s = p->object;

	CUPTI_MAY_FAIL();
	if (!s->interval_ns || s->started)
		return CUPTI_ERROR_INVALID_OPERATION;
	pthread_mutex_lock(&mutex);
	s->started = true;
	s->next_ns = cupti_driver()->now_ns();
	pthread_mutex_unlock(&mutex);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiPmSamplingStop(struct samples_object *p)
{
	struct sampler *s = p->object;

	CUPTI_MAY_FAIL();
	if (!s->started)
		return CUPTI_ERROR_INVALID_OPERATION;
	s->stop_ns = cupti_driver()->now_ns();
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiPmSamplingGetCounterDataSize(struct samples_counters_size *p)
{
	p->bytes = sizeof(struct profiler_image_of) +
		p->samples_max * (PROFILER_METRICS * sizeof(double) + sizeof(struct span));
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiPmSamplingCounterDataImageInitialize(struct samples_counters *p)
{
	((struct profiler_image_of *)(void *)p->counters)->count = 0;
	return CUPTI_SUCCESS;
}

/* Count an interval; later ones begin at its end. */
static void sample_count(struct sampler *s, struct span span, double *values)
{
	memset(values, 0, PROFILER_METRICS * sizeof(*values));
	while (s->first < s->count && s->kernels[s->first].end_ns <= span.start_ns)
		s->first++;
	for (size_t i = s->first; i < s->count; i++) {
		const struct kernel *k = &s->kernels[i];
		uint64_t start = later(k->start_ns, span.start_ns);
		uint64_t end = k->end_ns < span.end_ns ? k->end_ns : span.end_ns;
		if (end > start) {
			values[0] += (double)(end - start);
			values[2] = values[2] > k->registers ? values[2] : k->registers;
		}
		if (k->start_ns >= span.start_ns && k->start_ns < span.end_ns)
			values[1] += k->threads;
	}
}

CUPTI_EXPORT cuptiPmSamplingDecodeData(struct samples_decode *p)
{
	struct sampler *s = p->object;
	struct profiler_image_of *image = (void *)p->counters;
	struct span *spans = spans_of(p->counters, p->bytes);
	uint64_t now = s->stop_ns ? s->stop_ns : cupti_driver()->now_ns(), ready;

	CUPTI_MAY_FAIL();
	pthread_mutex_lock(&mutex);
	ready = now > s->next_ns ? (now - s->next_ns) / s->interval_ns : 0;
	p->overflow = ready > s->buffer_samples;
	if (p->overflow)
		ready = s->buffer_samples;
	p->stop = SAMPLES_STOP_END;
	for (; ready; ready--) {
		struct span span = {s->next_ns, s->next_ns + s->interval_ns};
		if (image->count == samples_of(p->bytes)) {
			p->stop = SAMPLES_STOP_FULL;
			break;
		}
		sample_count(s, span, image->values[image->count]);
		spans[image->count++] =
			(struct span){cupti_time(span.start_ns), cupti_time(span.end_ns)};
		s->next_ns = span.end_ns;
	}
	if (p->overflow && p->stop == SAMPLES_STOP_END)
		s->next_ns = now; /* what came after the buffer was full is lost */
	pthread_mutex_unlock(&mutex);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiPmSamplingGetCounterDataInfo(struct samples_count *p)
{
	const struct profiler_image_of *image = (const void *)p->counters;

	CUPTI_MAY_FAIL();
	p->total = samples_of(p->bytes);
	p->populated = p->completed = image->count;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiPmSamplingCounterDataGetSampleInfo(struct sample_info *p)
{
	const struct span *spans = spans_of((uint8_t *)(uintptr_t)p->counters, p->bytes);

	CUPTI_MAY_FAIL();
	p->start = spans[p->sample].start_ns;
	p->end = spans[p->sample].end_ns;
	return CUPTI_SUCCESS;
}
