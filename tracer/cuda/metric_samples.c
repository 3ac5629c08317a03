/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric_samples.c - hardware metrics of devices, sampled at a fixed rate.
 */
#include "tracer/cuda/metric_samples.h"

#include "common/clock.h"
#include "common/schema/cuda_columns.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/names.h"
#include "tracer/core/state.h"
#include "tracer/cuda/clock.h"
#include "tracer/cuda/cuda.h"

#define BUFFER_BYTES (UINT64_C(64) << 20) /* of the device: samples that are not fetched yet */
#define SAMPLES_MAX 4096u                 /* of a counter image: decoded at once */
#define TURNS_MAX 1024u                   /* images that are decoded in a row */
#define TAKE_NS 20000000u                 /* of the program's time, for images in a row */
#define LOOK_NS 100000000u
#define CYCLES_PER_NS 1.5 /* for chips that have no trigger by time */
#define PAYLOAD_DOUBLE 3u /* PAYLOAD row */

struct sampler {
	void *object; /* NULL = the device is not sampled */
	const struct metrics_plan *plan;
	uint8_t *counters;
	size_t counters_bytes;
};

static struct sampler samplers[METRIC_DEVICES_MAX];
static uint64_t looked_ns;

/* ---- begin ---- */

static uint32_t image_clear(const struct sampler *s)
{
	struct samples_counters image = {.size = PROFILER_SIZE(samples_counters, counters),
		.object = s->object,
		.bytes = s->counters_bytes,
		.counters = s->counters};
	return cupti.PmSamplingCounterDataImageInitialize(&image);
}

static uint32_t image_make(struct sampler *s)
{
	struct samples_counters_size needed = {.size = PROFILER_SIZE(samples_counters_size, bytes),
		.object = s->object,
		.names = (const char **)(uintptr_t)s->plan->names,
		.count = s->plan->count,
		.samples_max = SAMPLES_MAX};
	uint32_t result = cupti.PmSamplingGetCounterDataSize(&needed);
	if (result != CUPTI_OK)
		return result;
	s->counters_bytes = needed.bytes;
	s->counters = sys_mmap_private(needed.bytes);
	return s->counters ? image_clear(s) : CUPTI_UNKNOWN;
}

/* Configure the sampler. Turing and GA100 have no trigger by time, but one by cycles. */
static uint32_t configure(const struct sampler *s, uint64_t hz)
{
	struct samples_config config = {.size = PROFILER_SIZE(samples_config, keeps_latest),
		.object = s->object,
		.config_bytes = s->plan->config_bytes,
		.config = s->plan->config,
		.buffer_bytes = BUFFER_BYTES,
		.interval = 1000000000u / hz,
		.trigger = SAMPLES_BY_TIME};
	uint32_t result = cupti.PmSamplingSetConfig(&config);
	if (result == CUPTI_OK)
		return result;
	config.trigger = SAMPLES_BY_CYCLES;
	config.interval = (uint64_t)((double)config.interval * CYCLES_PER_NS);
	return cupti.PmSamplingSetConfig(&config);
}

static void sampler_end(struct sampler *s)
{
	struct samples_object end = {
		.size = PROFILER_SIZE(samples_object, object), .object = s->object};
	cupti.PmSamplingDisable(&end);
	if (s->counters)
		sys_munmap(s->counters, s->counters_bytes);
	*s = (struct sampler){.object = NULL};
}

const char *metric_samples_begin(
	uint32_t device, const struct metrics_plan *plan, uint64_t hz, uint32_t *ret_result)
{
	struct sampler *s = &samplers[device];
	struct samples_enable enable = {
		.size = PROFILER_SIZE(samples_enable, object), .device = device};
	*ret_result = CUPTI_OK;
	if (s->object)
		return NULL;
	*ret_result = cupti.PmSamplingEnable(&enable);
	if (*ret_result != CUPTI_OK)
		return "CUPTI refuses to sample the device";
	*s = (struct sampler){.object = enable.object, .plan = plan};
	*ret_result = configure(s, hz);
	if (*ret_result == CUPTI_OK)
		*ret_result = image_make(s);
	if (*ret_result == CUPTI_OK)
		*ret_result = cupti.PmSamplingStart(&(struct samples_object){
			.size = PROFILER_SIZE(samples_object, object), .object = s->object});
	if (*ret_result == CUPTI_OK)
		return NULL;
	sampler_end(s);
	return "CUPTI's sampling of the device does not start";
}

/* ---- samples ---- */

static void sample_put(const struct sampler *s, uint32_t device, size_t number, uint64_t now_ns)
{
	double values[GPU_METRICS_MAX];
	struct sample_info info = {.size = PROFILER_SIZE(sample_info, end),
		.object = s->object,
		.counters = s->counters,
		.bytes = s->counters_bytes,
		.sample = number};
	struct profiler_evaluation evaluation = {.size = PROFILER_SIZE(profiler_evaluation, values),
		.host = s->plan->host,
		.counters = s->counters,
		.counters_bytes = s->counters_bytes,
		.range = number,
		.names = (const char **)(uintptr_t)s->plan->names,
		.count = s->plan->count,
		.values = values};
	if (cupti.PmSamplingCounterDataGetSampleInfo(&info) != CUPTI_OK ||
		cupti.ProfilerHostEvaluateToGpuValues(&evaluation) != CUPTI_OK ||
		cuda_clock_span(&info.start, &info.end, now_ns) == CUDA_STAMP_IMPOSSIBLE) {
		session_count_drop(DROP_CUPTI);
		return;
	}
	for (uint32_t i = 0; i < s->plan->count; i++) {
		uint64_t row[CUDA_COLUMNS_MAX + 1] = {0};
		row[COLUMN_CUDA_METRIC_SAMPLE_DEVICE_ID] = device;
		row[COLUMN_CUDA_METRIC_SAMPLE_METRIC] = names_ref_of(s->plan->names[i]);
		row[COLUMN_CUDA_METRIC_SAMPLE_TYPE] = PAYLOAD_DOUBLE;
		bytes_copy(&row[COLUMN_CUDA_METRIC_SAMPLE_VALUE], &values[i], sizeof(values[i]));
		cuda_device_row_put(
			NUMBER_CUDA_METRIC_SAMPLE, info.start, info.end - info.start, row);
	}
}

static void overflow_note(void)
{
	static uint32_t is_told;
	session_count_drop(DROP_CUPTI); /* the number is not known: at least one */
	if (!__atomic_exchange_n(&is_told, 1, __ATOMIC_RELAXED))
		diagnostic_line("samples of hardware metrics are missing: the device's buffer was "
				"full before they could be fetched; sample less often "
				"(LIBTRACE_GPU_METRICS_FREQUENCY)");
}

static void failure_note(uint32_t result)
{
	static uint32_t is_told;
	char text[160];
	session_count_drop(DROP_CUPTI); /* the number is not known: at least one */
	if (__atomic_exchange_n(&is_told, 1, __ATOMIC_RELAXED))
		return;
	size_t at = text_append(text, sizeof(text), 0,
		"samples of hardware metrics are missing: CUPTI cannot decode them (error ");
	at = text_append_number(text, sizeof(text), at, result, 10);
	text_append(text, sizeof(text), at, ")");
	diagnostic_line(text);
}

/* Decode an image full of samples. Return true if there may be more. */
static bool image_take(const struct sampler *s, uint32_t device, bool *ret_overflow)
{
	struct samples_decode decode = {.size = PROFILER_SIZE(samples_decode, overflow),
		.object = s->object,
		.counters = s->counters,
		.bytes = s->counters_bytes};
	struct samples_count count = {.size = PROFILER_SIZE(samples_count, completed),
		.counters = s->counters,
		.bytes = s->counters_bytes};
	const uint64_t now_ns = clock_monotonic_ns();
	uint32_t result = cupti.PmSamplingDecodeData(&decode);
	*ret_overflow |= result == CUPTI_OK && decode.overflow;
	if (result == CUPTI_OK)
		result = cupti.PmSamplingGetCounterDataInfo(&count);
	for (size_t i = 0; result == CUPTI_OK && i < count.completed && i < SAMPLES_MAX; i++)
		sample_put(s, device, i, now_ns);
	if (result != CUPTI_OK)
		failure_note(result);
	return image_clear(s) == CUPTI_OK && result == CUPTI_OK && decode.stop == SAMPLES_STOP_FULL;
}

/* Decode what the devices have sampled; no more images once it has taken so long, since samples
 * may come faster than they are decoded. */
static void samples_take(uint64_t limit_ns)
{
	const uint64_t start_ns = clock_monotonic_ns();
	for (uint32_t device = 0; device < METRIC_DEVICES_MAX; device++) {
		const struct sampler *s = &samplers[device];
		bool is_full = false;
		for (uint32_t turn = 0; s->object && turn < TURNS_MAX; turn++)
			if (!image_take(s, device, &is_full) ||
				clock_monotonic_ns() - start_ns > limit_ns)
				break;
		if (is_full)
			overflow_note();
	}
	__atomic_store_n(&looked_ns, clock_monotonic_ns(), __ATOMIC_RELAXED);
}

void metric_samples_take(void)
{
	samples_take(TAKE_NS);
}

bool metric_samples_are_due(void)
{
	return clock_monotonic_ns() - __atomic_load_n(&looked_ns, __ATOMIC_RELAXED) >= LOOK_NS;
}

void metric_samples_end(void)
{
	for (uint32_t i = 0; i < METRIC_DEVICES_MAX; i++)
		if (samplers[i].object)
			cupti.PmSamplingStop(&(struct samples_object){
				.size = PROFILER_SIZE(samples_object, object),
				.object = samplers[i].object});
	samples_take(UINT64_MAX);
	for (uint32_t i = 0; i < METRIC_DEVICES_MAX; i++)
		if (samplers[i].object)
			sampler_end(&samplers[i]);
}

void metric_samples_forked(void)
{
	for (uint32_t i = 0; i < METRIC_DEVICES_MAX; i++)
		samplers[i].object = NULL;
}
