/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - hardware metrics of kernels: a range profiler for each context, which makes a range
 * of each kernel.
 *
 * CUPTI numbers the ranges of a context in the order of its launches, so the launches of a batch
 * are noted in their order, and threads launch one after the other. Where both numbers differ, or
 * a thread would have waited too long for another's launch, the values belong to no known launch:
 * they are left out, and counted as dropped. A graph launch is a batch of its own.
 */
#include "tracer/cuda/metrics.h"

#include "common/clock.h"
#include "common/schema/cuda_columns.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/bounded_lock.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/muted.h"
#include "tracer/core/names.h"
#include "tracer/core/state.h"
#include "tracer/cuda/cuda.h"
#include "tracer/cuda/functions.h"
#include "tracer/cuda/metric_samples.h"

#define CONTEXTS_MAX 16u  /* that exist at the same time */
#define LAUNCHES_MAX 256u /* of a batch: what a kill may lose */
#define GRAPH_NODES_MAX 4096u
#define RANGES_MAX (LAUNCHES_MAX + GRAPH_NODES_MAX)
#define LOCK_NS 1000000000u
#define PAYLOAD_DOUBLE 3u /* PAYLOAD row */

struct context {
	void *handle; /* NULL = this entry is free */
	void *profiler;
	const struct metrics_plan *plan;
	uint8_t *counters;
	size_t counters_bytes;
	bool started;
	bool overlapped;   /* threads launched at the same time */
	bool is_graph;     /* the batch is one launch of a graph */
	uint32_t id;       /* CUPTI's */
	uint32_t launcher; /* thread that is launching; 0 = none */
	uint32_t count;
	struct {
		uint64_t ns;
		uint32_t correlation; /* 0 = the launch is not recorded */
	} launches[LAUNCHES_MAX];
};

static struct context *contexts[CONTEXTS_MAX]; /* mapped when first needed, then kept */
static struct metrics_plan *plans[METRIC_DEVICES_MAX];
static uint32_t metrics_lock;
static uint32_t is_off; /* nothing is measured any more: the reason is in the report */

static bool is_wanted(void)
{
	return session.config.gpu_metrics && !__atomic_load_n(&is_off, __ATOMIC_RELAXED);
}

static void give_up(const char *why, uint32_t result)
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
	size_t at = text_append(text, sizeof(text), 0, "hardware metrics: group ");
	at = text_append_number(text, sizeof(text), at, p->group + 1, 10);
	at = text_append(text, sizeof(text), at, " of ");
	at = text_append_number(text, sizeof(text), at, p->groups, 10);
	at = text_append(text, sizeof(text), at, " is recorded; LIBTRACE_GPU_METRICS_PASS chooses");
	text_append(text, sizeof(text), at, " it");
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
		give_up(why, CUPTI_OK);
	*ret_device = device;
	return why || !plans[device]->host ? NULL : plans[device];
}

/* Begin a batch. Return CUPTI's result. */
static uint32_t batch_begin(struct context *c)
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
		.range = PROFILER_EACH_KERNEL,
		.replay = PROFILER_REPLAY_BY_USER,
		.ranges_max = RANGES_MAX,
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

static uint32_t counters_make(struct context *c)
{
	struct ranges_counters_size needed = {.size = PROFILER_SIZE(ranges_counters_size, bytes),
		.object = c->profiler,
		.names = (const char **)(uintptr_t)c->plan->names,
		.count = c->plan->count,
		.ranges_max = RANGES_MAX,
		.nodes_max = RANGES_MAX};
	uint32_t result = cupti.RangeProfilerGetCounterDataSize(&needed);
	if (result != CUPTI_OK)
		return result;
	c->counters_bytes = needed.bytes;
	c->counters = sys_mmap_private(needed.bytes);
	return c->counters ? CUPTI_OK : CUPTI_UNKNOWN;
}

static void profiler_end(struct context *c)
{
	struct ranges_object end = {
		.size = PROFILER_SIZE(ranges_object, object), .object = c->profiler};
	cupti.RangeProfilerDisable(&end);
	if (c->counters)
		sys_munmap(c->counters, c->counters_bytes);
	c->handle = NULL;
}

static struct context *context_free(void)
{
	for (uint32_t i = 0; i < CONTEXTS_MAX; i++)
		if (sys_mmap_table((void **)(void *)&contexts[i], sizeof(*contexts[i])) &&
			!contexts[i]->handle)
			return contexts[i];
	return NULL;
}

static void context_begin(void *handle)
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
			give_up(why, result);
		return;
	}
	struct context *c = context_free();
	if (!c) {
		session_count_drop(DROP_CUPTI);
		give_up("there are too many contexts", CUPTI_OK);
		return;
	}
	result = cupti.RangeProfilerEnable(&enable);
	if (result != CUPTI_OK) {
		give_up("CUPTI's profiler refuses the context", result);
		return;
	}
	*c = (struct context){.handle = handle, .profiler = enable.object, .plan = plan};
	if (cupti.GetContextId)
		cupti.GetContextId(handle, &c->id);
	result = counters_make(c);
	if (result == CUPTI_OK)
		result = batch_begin(c);
	if (result != CUPTI_OK) {
		profiler_end(c);
		give_up("CUPTI's profiler does not start", result);
	}
}

/* ---- end ---- */

static void values_put(const struct context *c, uint32_t launch, uint32_t range)
{
	double values[METRICS_MAX];
	struct profiler_evaluation evaluation = {.size = PROFILER_SIZE(profiler_evaluation, values),
		.host = c->plan->host,
		.counters = c->counters,
		.counters_bytes = c->counters_bytes,
		.range = range,
		.names = (const char **)(uintptr_t)c->plan->names,
		.count = c->plan->count,
		.values = values};
	if (cupti.ProfilerHostEvaluateToGpuValues(&evaluation) != CUPTI_OK) {
		session_count_drop(DROP_CUPTI);
		return;
	}
	for (uint32_t i = 0; i < c->plan->count; i++) {
		uint64_t row[CUDA_COLUMNS_MAX + 1] = {0};
		row[COLUMN_CUDA_METRIC_CORRELATION_ID] = c->launches[launch].correlation;
		row[COLUMN_CUDA_METRIC_CONTEXT_ID] = c->id;
		row[COLUMN_CUDA_METRIC_NODE] = c->is_graph ? range + 1 : 0;
		row[COLUMN_CUDA_METRIC_METRIC] = names_ref_of(c->plan->names[i]);
		row[COLUMN_CUDA_METRIC_TYPE] = PAYLOAD_DOUBLE;
		bytes_copy(&row[COLUMN_CUDA_METRIC_VALUE], &values[i], sizeof(values[i]));
		cuda_device_row_put(NUMBER_CUDA_METRIC, c->launches[launch].ns, 0, row);
	}
}

static void unknown_note(uint32_t ranges)
{
	static uint32_t is_told;
	for (uint32_t i = 0; i < ranges; i++)
		session_count_drop(DROP_CUPTI);
	if (!__atomic_exchange_n(&is_told, 1, __ATOMIC_RELAXED))
		diagnostic_line("hardware metrics of some kernels are left out: it is not known "
				"which launches they belong to, since threads launched at the same "
				"time, or launches were captured");
}

/* Record the values of the batch. The device has finished its kernels then. */
static void batch_end(struct context *c)
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
	c->started = false;
	uint32_t result = cupti.RangeProfilerStop(&stop);
	if (result == CUPTI_OK)
		result = cupti.RangeProfilerDecodeData(&decode);
	if (result == CUPTI_OK)
		result = cupti.RangeProfilerGetCounterDataInfo(&count);
	if (result != CUPTI_OK || decode.dropped) {
		session_count_drop(DROP_CUPTI); /* the number is not known: at least one */
		give_up("CUPTI's profiler lost the values of a batch of kernels", result);
		return;
	}
	uint32_t ranges = (uint32_t)count.count;
	if (c->overlapped || (c->is_graph ? ranges && c->count != 1 : ranges != c->count)) {
		unknown_note(ranges);
		return;
	}
	for (uint32_t i = 0; i < ranges; i++)
		if (c->launches[c->is_graph ? 0 : i].correlation)
			values_put(c, c->is_graph ? 0 : i, i);
}

static void batch_renew(struct context *c)
{
	batch_end(c);
	uint32_t result = is_wanted() ? batch_begin(c) : CUPTI_OK;
	if (result == CUPTI_OK)
		return;
	session_count_drop(DROP_CUPTI); /* of later kernels: the number is not known */
	give_up("CUPTI's profiler does not start again", result);
}

/* ---- events ---- */

/* Enter the state of all contexts: muted, with the lock. Return false if that is not possible. */
static bool state_enter(struct muted *muted)
{
	if (!muted_enter(muted))
		return false;
	if (bounded_lock_take_within(&metrics_lock, LOCK_NS))
		return true;
	muted_leave(muted);
	return false;
}

/* Leave the state. When nothing is measured any more, kernels need not run one at a time. */
static void state_leave(const struct muted *muted)
{
	for (uint32_t i = 0; !is_wanted() && i < CONTEXTS_MAX && contexts[i]; i++)
		if (contexts[i]->handle) {
			batch_end(contexts[i]);
			profiler_end(contexts[i]);
		}
	if (!is_wanted())
		metric_samples_end();
	bounded_lock_give(&metrics_lock);
	muted_leave(muted);
}

static struct context *context_of(const void *handle, uint32_t id)
{
	for (uint32_t i = 0; i < CONTEXTS_MAX && contexts[i]; i++)
		if (contexts[i]->handle &&
			(handle ? contexts[i]->handle == handle : contexts[i]->id == id))
			return contexts[i];
	return NULL;
}

void cuda_metrics_context(void *context, bool is_created)
{
	struct muted muted;
	if ((is_created && !is_wanted()) || !session.config.gpu_metrics || !context)
		return;
	if (!state_enter(&muted)) {
		if (is_wanted())
			session_count_drop(DROP_CUPTI); /* the number is not known: at least one */
		return;
	}
	struct context *c = context_of(context, 0);
	if (is_created && !c) {
		context_begin(context);
	} else if (!is_created && c) {
		batch_end(c);
		profiler_end(c);
	} else if (!is_created) {
		metric_samples_take();
	}
	state_leave(&muted);
}

static void launch_begin(struct context *c, uint32_t tid, bool is_graph)
{
	if (c->count == LAUNCHES_MAX || (is_graph && c->count))
		batch_renew(c);
	c->is_graph = is_graph;
	c->overlapped |= c->launcher && c->launcher != tid;
	c->launcher = tid;
}

static void launch_end(
	struct context *c, uint32_t tid, const struct cupti_callback *call, bool is_graph)
{
	/* The launch that creates the context has no begin in it. */
	c->overlapped |= c->launcher && c->launcher != tid;
	if (c->launcher == tid)
		c->launcher = 0;
	if (call->result && *(const uint32_t *)call->result) {
		c->is_graph = false;
		return;
	}
	if (c->count < LAUNCHES_MAX) {
		c->launches[c->count].ns = clock_monotonic_ns();
		c->launches[c->count++].correlation =
			cuda_call_is_recorded(call->correlation) ? call->correlation : 0;
	}
	if (is_graph)
		batch_renew(c);
}

/* Begin a launch when no other thread launches in the context, so that the order of launches is
 * known. One wait in vain is enough: a launch may depend on one of another thread. */
static void launch_enter(uint32_t context, bool is_graph)
{
	static uint32_t is_vain;
	struct muted muted;
	const uint32_t tid = (uint32_t)sys_gettid();
	uint64_t end_ns = clock_monotonic_ns() + LOCK_NS;
	while (state_enter(&muted)) {
		struct context *c = context_of(NULL, context);
		bool is_busy = c && c->started && c->launcher && c->launcher != tid && !is_vain;
		if (!is_busy || clock_monotonic_ns() >= end_ns) {
			is_vain |= is_busy;
			if (c && c->started)
				launch_begin(c, tid, is_graph);
			state_leave(&muted);
			return;
		}
		state_leave(&muted);
		session_pause(LOCK_PAUSE_NS);
	}
}

static void launch_leave(const struct cupti_callback *call, bool is_graph)
{
	struct muted muted;
	if (!state_enter(&muted))
		return;
	struct context *c = context_of(NULL, call->context_id);
	if (c && c->started)
		launch_end(c, (uint32_t)sys_gettid(), call, is_graph);
	state_leave(&muted);
}

/* Fetch samples. Launches may be frequent: most only look at the time, and none waits for another
 * thread, which fetches them. */
static void launch_look(void)
{
	struct muted muted;
	if (!metric_samples_are_due() || !muted_enter(&muted))
		return;
	if (!bounded_lock_try(&metrics_lock)) {
		muted_leave(&muted);
		return;
	}
	if (metric_samples_are_due())
		metric_samples_take();
	state_leave(&muted);
}

void cuda_metrics_launch(const struct cupti_callback *call, bool is_graph)
{
	if (!is_wanted())
		return;
	if (session.config.gpu_metrics_hz) {
		if (call->site == CUPTI_EXIT)
			launch_look();
		return;
	}
	if (call->site == CUPTI_ENTER)
		launch_enter(call->context_id, is_graph);
	else
		launch_leave(call, is_graph);
}

void cuda_metrics_flush(bool is_last)
{
	struct muted muted;
	if (!is_wanted())
		return;
	if (!state_enter(&muted)) {
		if (is_last)
			session_count_drop(DROP_CUPTI); /* the number is not known: at least one */
		return;
	}
	for (uint32_t i = 0; i < CONTEXTS_MAX && contexts[i]; i++)
		if (contexts[i]->handle)
			batch_renew(contexts[i]);
	if (is_last)
		metric_samples_end();
	else
		metric_samples_take();
	state_leave(&muted);
}

void cuda_metrics_forked(void)
{
	is_off = 1;
	metrics_lock = LOCK_FREE;
	for (uint32_t i = 0; i < CONTEXTS_MAX && contexts[i]; i++)
		contexts[i]->handle = NULL;
	metric_samples_forked();
}
