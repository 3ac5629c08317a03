/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_batch.c - the range profilers of contexts, and their batches of ranges.
 *
 * CUPTI numbers the kernels of a context in the order of its launches, so these are noted in their
 * order. Where both numbers differ the values belong to no known launch: they are left out, and
 * counted as dropped. CUPTI adds up NVTX ranges of the same name, so each gets a name of its own,
 * its number in the batch.
 */
#include "tracer/cuda/metrics_batch.h"

#include "common/clock.h"
#include "common/schema/cuda_columns.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/bounded_lock.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/names.h"
#include "tracer/core/state.h"
#include "tracer/cuda/cuda.h"
#include "tracer/cuda/metric_samples.h"

#define CONTEXTS_MAX 16u /* that exist at the same time */
#define GRAPH_NODES_MAX 4096u
#define LOCK_NS 1000000000u
#define PAYLOAD_DOUBLE 3u /* PAYLOAD row */

static struct metrics_context *contexts[CONTEXTS_MAX]; /* mapped when first needed, then kept */
static struct metrics_plan *plans[METRIC_DEVICES_MAX];
static uint32_t metrics_lock;
static uint32_t captures; /* streams that are captured */
static uint32_t is_off;   /* nothing is measured any more: the reason is in the report */
bool metrics_by_nvtx;

bool metrics_are_wanted(void)
{
	return session.config.gpu_metrics && !__atomic_load_n(&is_off, __ATOMIC_RELAXED);
}

void metrics_give_up(const char *why, uint32_t result)
{
	char text[320];
	size_t at = text_append(text, sizeof(text), 0, "hardware metrics are not recorded: ");
	if (result == CUPTI_INSUFFICIENT_PRIVILEGES)
		why = "the driver permits them only to administrators "
		      "(https://developer.nvidia.com/ERR_NVGPUCTRPERM)";
	at = text_append(text, sizeof(text), at, why);
	if (result != CUPTI_OK && result != CUPTI_INSUFFICIENT_PRIVILEGES) {
		at = text_append(text, sizeof(text), at, " (error ");
		at = text_append_number(text, sizeof(text), at, result, 10);
		text_append(text, sizeof(text), at, ")");
	}
	if (!__atomic_exchange_n(&is_off, 1, __ATOMIC_RELAXED))
		diagnostic_line(text);
}

/* ---- begin ---- */

static void plan_note(const struct metrics_plan *p)
{
	char text[320];
	size_t at = text_append(text, sizeof(text), 0, GPU_METRICS_GROUP);
	at = text_append_number(text, sizeof(text), at, p->group + 1, 10);
	at = text_append(text, sizeof(text), at, " of ");
	at = text_append_number(text, sizeof(text), at, p->groups, 10);
	text_append(text, sizeof(text), at, " is recorded; LIBTRACE_GPU_METRICS_PASS chooses it");
	if (p->groups > 1)
		diagnostic_line(text);
}

static const char *plan_make(uint32_t device, struct metrics_plan **plan)
{
	struct profiler_chip chip = {.size = PROFILER_SIZE(profiler_chip, name), .device = device};
	struct profiler_start start = {.size = PROFILER_SIZE(profiler_start, reserved)};
	uint64_t pass = session.config.gpu_metrics_pass;
	if (cupti.ProfilerInitialize(&start) != CUPTI_OK ||
		cupti.DeviceGetChipName(&chip) != CUPTI_OK || !chip.name)
		return "CUPTI's profiler does not start";
	if (!sys_mmap_table((void **)(void *)plan, sizeof(**plan)))
		return "out of memory";
	const char *why = metrics_plan_make(chip.name,
		session.config.gpu_metrics_hz ? PROFILER_SAMPLES : PROFILER_RANGES,
		session.config.gpu_metrics, pass ? pass - 1 : 0, *plan);
	if (!why)
		plan_note(*plan);
	return why;
}

/* Return the plan for the context's device, or NULL: then nothing is measured any more. */
static const struct metrics_plan *plan_of(void *context, uint32_t *ret_device)
{
	uint32_t device = METRIC_DEVICES_MAX;
	const char *why = NULL;
	if (!cupti_has_profiler())
		why = "CUPTI is older than that of CUDA 12.6";
	else if (cupti.GetDeviceId(context, &device) != CUPTI_OK || device >= METRIC_DEVICES_MAX)
		why = "the device is not known";
	else if (!plans[device])
		why = plan_make(device, &plans[device]);
	if (why)
		metrics_give_up(why, CUPTI_OK);
	*ret_device = device;
	return why || !plans[device]->host ? NULL : plans[device];
}

/* Return the number of CUPTI's ranges that a batch may have. A graph has one for each kernel. */
static uint32_t ranges_max(void)
{
	return METRICS_BATCH_MAX + (metrics_by_nvtx ? 0 : GRAPH_NODES_MAX);
}

/* Begin a batch. Return CUPTI's result. */
static uint32_t batch_begin(struct metrics_context *c)
{
	struct ranges_counters image = {.size = PROFILER_SIZE(ranges_counters, counters),
		.object = c->profiler,
		.bytes = c->counters_bytes,
		.counters = c->counters};
	struct ranges_config config = {.size = PROFILER_SIZE(ranges_config, level),
		.object = c->profiler,
		.config_bytes = c->plan->config_bytes,
		.config = c->plan->config,
		.counters_bytes = c->counters_bytes,
		.counters = c->counters,
		.range = metrics_by_nvtx ? PROFILER_PUSHED : PROFILER_EACH_KERNEL,
		.replay = PROFILER_REPLAY_BY_USER,
		.ranges_max = ranges_max(),
		.levels = 1,
		.level_least = 1,
		.level = 1};
	struct ranges_object start = {
		.size = PROFILER_SIZE(ranges_object, object), .object = c->profiler};
	c->count = 0;
	c->overlapped = false;
	c->is_graph = false;
	uint32_t result = cupti.RangeProfilerCounterDataImageInitialize(&image);
	if (result == CUPTI_OK)
		result = cupti.RangeProfilerSetConfig(&config);
	if (result == CUPTI_OK)
		result = cupti.RangeProfilerStart(&start);
	c->started = result == CUPTI_OK;
	return result;
}

static uint32_t counters_make(struct metrics_context *c)
{
	struct ranges_counters_size needed = {.size = PROFILER_SIZE(ranges_counters_size, bytes),
		.object = c->profiler,
		.names = (const char **)(uintptr_t)c->plan->names,
		.count = c->plan->count,
		.ranges_max = ranges_max(),
		.nodes_max = ranges_max()};
	uint32_t result = cupti.RangeProfilerGetCounterDataSize(&needed);
	if (result != CUPTI_OK)
		return result;
	c->counters_bytes = needed.bytes;
	c->counters = sys_mmap_private(needed.bytes);
	return c->counters ? CUPTI_OK : CUPTI_UNKNOWN;
}

static void profiler_end(struct metrics_context *c)
{
	struct ranges_object end = {
		.size = PROFILER_SIZE(ranges_object, object), .object = c->profiler};
	cupti.RangeProfilerDisable(&end);
	if (c->counters)
		sys_munmap(c->counters, c->counters_bytes);
	c->handle = NULL;
}

static struct metrics_context *context_free(void)
{
	for (uint32_t i = 0; i < CONTEXTS_MAX; i++)
		if (sys_mmap_table((void **)(void *)&contexts[i], sizeof(*contexts[i])) &&
			!contexts[i]->handle)
			return contexts[i];
	return NULL;
}

void metrics_context_begin(void *handle)
{
	struct ranges_enable enable = {
		.size = PROFILER_SIZE(ranges_enable, object), .context = handle};
	uint32_t device, result;
	const struct metrics_plan *plan = plan_of(handle, &device);
	if (!plan)
		return;
	if (session.config.gpu_metrics_hz) {
		const char *why =
			metric_samples_begin(device, plan, session.config.gpu_metrics_hz, &result);
		if (why)
			metrics_give_up(why, result);
		return;
	}
	struct metrics_context *c = context_free();
	if (!c) {
		session_count_drop(DROP_CUPTI);
		metrics_give_up("there are too many contexts", CUPTI_OK);
		return;
	}
	result = cupti.RangeProfilerEnable(&enable);
	if (result != CUPTI_OK) {
		metrics_give_up("CUPTI's profiler refuses the context", result);
		return;
	}
	*c = (struct metrics_context){.handle = handle, .profiler = enable.object, .plan = plan};
	if (cupti.GetContextId)
		cupti.GetContextId(handle, &c->id);
	result = counters_make(c);
	if (result == CUPTI_OK)
		result = batch_begin(c);
	if (result != CUPTI_OK) {
		profiler_end(c);
		metrics_give_up("CUPTI's profiler does not start", result);
	}
}

/* ---- end ---- */

/* Evaluate the metrics of CUPTI's range number `range`. */
static bool values_of(const struct metrics_context *c, uint32_t range, double *ret_values)
{
	struct profiler_evaluation evaluation = {.size = PROFILER_SIZE(profiler_evaluation, values),
		.host = c->plan->host,
		.counters = c->counters,
		.counters_bytes = c->counters_bytes,
		.range = range,
		.names = (const char **)(uintptr_t)c->plan->names,
		.count = c->plan->count,
		.values = ret_values};
	if (cupti.ProfilerHostEvaluateToGpuValues(&evaluation) == CUPTI_OK)
		return true;
	session_count_drop(DROP_CUPTI);
	return false;
}

static void launch_put(
	const struct metrics_context *c, const struct metrics_noted *launch, uint32_t range)
{
	double values[GPU_METRICS_MAX];
	if (!values_of(c, range, values))
		return;
	for (uint32_t i = 0; i < c->plan->count; i++) {
		uint64_t row[CUDA_COLUMNS_MAX + 1] = {0};
		row[COLUMN_CUDA_METRIC_CORRELATION_ID] = launch->correlation;
		row[COLUMN_CUDA_METRIC_CONTEXT_ID] = c->id;
		row[COLUMN_CUDA_METRIC_NODE] = c->is_graph ? range + 1 : 0;
		row[COLUMN_CUDA_METRIC_METRIC] = names_ref_of(c->plan->names[i]);
		row[COLUMN_CUDA_METRIC_TYPE] = PAYLOAD_DOUBLE;
		bytes_copy(&row[COLUMN_CUDA_METRIC_VALUE], &values[i], sizeof(values[i]));
		cuda_device_row_put(NUMBER_CUDA_METRIC, launch->ns, 0, row);
	}
}

static void unknown_note(uint32_t ranges)
{
	static uint32_t is_told;
	for (uint32_t i = 0; i < ranges; i++)
		session_count_drop(DROP_CUPTI);
	if (ranges && !__atomic_exchange_n(&is_told, 1, __ATOMIC_RELAXED))
		diagnostic_line("hardware metrics of some kernels are left out: it is not known "
				"which launches they belong to, since threads launched at the same "
				"time, or launches were captured");
}

static void launches_put(const struct metrics_context *c, uint32_t ranges)
{
	if (c->overlapped || (c->is_graph ? ranges && c->count != 1 : ranges != c->count)) {
		unknown_note(ranges);
		return;
	}
	for (uint32_t i = 0; i < ranges; i++)
		if (c->noted[c->is_graph ? 0 : i].correlation)
			launch_put(c, &c->noted[c->is_graph ? 0 : i], i);
}

static void range_put(
	const struct metrics_context *c, const struct metrics_noted *noted, uint32_t range)
{
	double values[GPU_METRICS_MAX];
	if (!values_of(c, range, values))
		return;
	for (uint32_t i = 0; i < c->plan->count; i++) {
		uint64_t row[CUDA_COLUMNS_MAX + 1] = {0};
		row[COLUMN_CUDA_RANGE_METRIC_THREAD_ID] = noted->tid;
		row[COLUMN_CUDA_RANGE_METRIC_DOMAIN] = noted->domain;
		row[COLUMN_CUDA_RANGE_METRIC_RANGE] = noted->name;
		row[COLUMN_CUDA_RANGE_METRIC_CONTEXT_ID] = c->id;
		row[COLUMN_CUDA_RANGE_METRIC_METRIC] = names_ref_of(c->plan->names[i]);
		row[COLUMN_CUDA_RANGE_METRIC_TYPE] = PAYLOAD_DOUBLE;
		bytes_copy(&row[COLUMN_CUDA_RANGE_METRIC_VALUE], &values[i], sizeof(values[i]));
		cuda_device_row_put(
			NUMBER_CUDA_RANGE_METRIC, noted->ns, noted->end_ns - noted->ns, row);
	}
}

/* Return the number in the batch of CUPTI's range number `range`; c->count = it has none. */
static uint32_t number_of(const struct metrics_context *c, uint32_t range)
{
	struct range_info info = {.size = PROFILER_SIZE(range_info, name),
		.counters = c->counters,
		.bytes = c->counters_bytes,
		.range = range,
		.delimiter = "/"};
	uint64_t number = 0;
	if (cupti.RangeProfilerCounterDataGetRangeInfo(&info) != CUPTI_OK || !info.name ||
		!text_to_number(info.name, &number) || number > c->count)
		return c->count;
	return (uint32_t)number;
}

/* Record the values of the batch's NVTX ranges. CUPTI has no range for one without work. */
static void ranges_put(const struct metrics_context *c, uint32_t ranges)
{
	for (uint32_t i = 0; i < ranges; i++) {
		const uint32_t number = number_of(c, i);
		if (number == c->count)
			session_count_drop(DROP_CUPTI);
		else if (c->noted[number].end_ns)
			range_put(c, &c->noted[number], i);
	}
}

void metrics_range_push(struct metrics_context *c, const struct metrics_noted *range)
{
	char name[24];
	struct ranges_push push = {
		.size = PROFILER_SIZE(ranges_push, name), .object = c->profiler, .name = name};
	if (c->count == METRICS_BATCH_MAX)
		metrics_batch_renew(c);
	text_append_number(name, sizeof(name), 0, c->count, 10);
	uint32_t result = c->started ? cupti.RangeProfilerPushRange(&push) : CUPTI_UNKNOWN;
	if (result == CUPTI_OK) {
		c->noted[c->count] = *range;
		__atomic_store_n(&c->left, 0, __ATOMIC_RELAXED);
		c->ranger = &thread_self;
	} else if (c->started) {
		session_count_drop(DROP_CUPTI);
		metrics_give_up("CUPTI's profiler does not begin a range", result);
	}
}

void metrics_range_pop(struct metrics_context *c, bool is_left)
{
	static uint32_t is_told;
	struct ranges_object pop = {
		.size = PROFILER_SIZE(ranges_object, object), .object = c->profiler};
	uint32_t result = cupti.RangeProfilerPopRange(&pop);
	c->ranger = NULL;
	c->noted[c->count].end_ns = is_left ? 0 : clock_monotonic_ns();
	c->count++;
	if (is_left || result != CUPTI_OK)
		session_count_drop(DROP_CUPTI);
	if (is_left && !__atomic_exchange_n(&is_told, 1, __ATOMIC_RELAXED))
		diagnostic_line("hardware metrics of NVTX ranges are left out that were never "
				"popped, or in a signal handler or a CUDA call");
	if (result != CUPTI_OK)
		metrics_give_up("CUPTI's profiler does not end a range", result);
}

void metrics_range_leave(uint32_t tid)
{
	for (uint32_t i = 0; i < CONTEXTS_MAX && contexts[i]; i++)
		if (contexts[i]->ranger == &thread_self)
			__atomic_store_n(&contexts[i]->left, tid, __ATOMIC_RELAXED);
}

bool metrics_range_is_left(const struct metrics_context *c)
{
	const uint32_t left = __atomic_load_n(&c->left, __ATOMIC_RELAXED);
	return c->ranger && left && left == c->noted[c->count].tid;
}

void metrics_captured(bool is_more)
{
	uint32_t count = __atomic_load_n(&captures, __ATOMIC_RELAXED);
	while ((is_more || count) &&
		!__atomic_compare_exchange_n(&captures, &count, is_more ? count + 1 : count - 1,
			false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

bool metrics_are_captured(void)
{
	return __atomic_load_n(&captures, __ATOMIC_RELAXED) != 0;
}

/* Record the values of the batch. The device has finished its kernels then. */
static void batch_end(struct metrics_context *c)
{
	struct ranges_stop stop = {
		.size = PROFILER_SIZE(ranges_stop, all_submitted), .object = c->profiler};
	struct ranges_decode decode = {
		.size = PROFILER_SIZE(ranges_decode, dropped), .object = c->profiler};
	struct ranges_count count = {.size = PROFILER_SIZE(ranges_count, count),
		.counters = c->counters,
		.bytes = c->counters_bytes};
	if (!c->started)
		return;
	if (c->ranger)
		metrics_range_pop(c, true);
	c->started = false;
	uint32_t result = cupti.RangeProfilerStop(&stop);
	if (result == CUPTI_OK)
		result = cupti.RangeProfilerDecodeData(&decode);
	if (result == CUPTI_OK)
		result = cupti.RangeProfilerGetCounterDataInfo(&count);
	if (result != CUPTI_OK || decode.dropped) {
		session_count_drop(DROP_CUPTI); /* the number is not known: at least one */
		metrics_give_up("CUPTI's profiler lost the values of a batch of ranges", result);
		return;
	}
	if (metrics_by_nvtx)
		ranges_put(c, (uint32_t)count.count);
	else
		launches_put(c, (uint32_t)count.count);
}

void metrics_batch_renew(struct metrics_context *c)
{
	batch_end(c);
	uint32_t result = metrics_are_wanted() ? batch_begin(c) : CUPTI_OK;
	if (result == CUPTI_OK)
		return;
	session_count_drop(DROP_CUPTI); /* of later ranges: the number is not known */
	metrics_give_up("CUPTI's profiler does not start again", result);
}

void metrics_context_end(struct metrics_context *c)
{
	batch_end(c);
	profiler_end(c);
}

void metrics_batches_renew(bool is_last)
{
	const bool is_captured = metrics_by_nvtx && metrics_are_captured();
	for (uint32_t i = 0; i < CONTEXTS_MAX && contexts[i]; i++) {
		struct metrics_context *c = contexts[i];
		const bool is_idle = !c->ranger || metrics_range_is_left(c);
		if (c->handle && (is_last || (is_idle && !is_captured)))
			metrics_batch_renew(c);
	}
}

void metrics_batches_forked(bool again)
{
	metrics_lock = LOCK_FREE;
	captures = 0;
	if (again)
		return;
	is_off = 1;
	for (uint32_t i = 0; i < CONTEXTS_MAX && contexts[i]; i++)
		contexts[i]->handle = NULL;
}

/* ---- the lock ---- */

bool metrics_enter(struct muted *ret_muted, bool within)
{
	if (!(within ? muted_begin(ret_muted) : muted_enter(ret_muted)))
		return false;
	if (bounded_lock_take_within(&metrics_lock, LOCK_NS))
		return true;
	muted_leave(ret_muted);
	return false;
}

bool metrics_try_enter(struct muted *ret_muted)
{
	if (!muted_enter(ret_muted))
		return false;
	if (bounded_lock_try(&metrics_lock))
		return true;
	muted_leave(ret_muted);
	return false;
}

void metrics_leave(const struct muted *muted)
{
	/* When nothing is measured any more, kernels need not run one at a time. */
	for (uint32_t i = 0; !metrics_are_wanted() && i < CONTEXTS_MAX && contexts[i]; i++)
		if (contexts[i]->handle)
			metrics_context_end(contexts[i]);
	if (!metrics_are_wanted())
		metric_samples_end();
	bounded_lock_give(&metrics_lock);
	muted_leave(muted);
}

struct metrics_context *metrics_context_of(const void *handle, uint32_t id)
{
	for (uint32_t i = 0; i < CONTEXTS_MAX && contexts[i]; i++)
		if (contexts[i]->handle &&
			(handle ? contexts[i]->handle == handle : contexts[i]->id == id))
			return contexts[i];
	return NULL;
}

bool metrics_have_context(void)
{
	for (uint32_t i = 0; i < CONTEXTS_MAX && contexts[i]; i++)
		if (contexts[i]->handle)
			return true;
	return false;
}

struct metrics_context *metrics_context_ranged(const struct thread *t)
{
	for (uint32_t i = 0; i < CONTEXTS_MAX && contexts[i]; i++)
		if (contexts[i]->handle && contexts[i]->ranger == t)
			return contexts[i];
	return NULL;
}
