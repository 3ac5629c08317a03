/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.c - calls of the CUDA APIs, and the resources that CUPTI reports on the way: graphs, modules.
 *
 * CUPTI calls back at the start and end of each call, on the calling thread. A call within another
 * (the runtime calls the driver) has a level. Trivial calls are only counted.
 */
#include "tracer/cuda/cuda.h"

#include "common/clock.h"
#include "machine/machine.h"
#include "tracer/session/attach.h"
#include "tracer/core/chains.h"
#include "tracer/cuda/clock.h"
#include "tracer/cuda/functions.h"
#include "tracer/cuda/memory_calls.h"
#include "tracer/cuda/metrics.h"
#include "tracer/cuda/row.h"
#include "tracer/core/lane.h"
#include "tracer/core/names.h"
#include "tracer/core/pytorch.h"
#include "tracer/session/fork.h"
#include "tracer/session/window_calls.h"

static struct thread *enter(void)
{
	struct thread *t = &thread_self;
	if ((gate_is_wiped() && !gate_opens(&own_words.session_mask) && gate_is_wiped()) ||
		(t->shared && thread_is_stray(t)))
		return NULL;
	thread_mend_guard(t);
	if (t->busy) {
		if (!t->muted) /* else it is the tracer's own call */
			session_count_drop(DROP_NESTED);
		return NULL;
	}
	return thread_enter_attached(t) ? t : NULL;
}

static __attribute__((cold, noinline)) void function_learn(
	struct function *f, uint32_t domain, uint32_t cbid)
{
	struct thread *t = enter();
	if (!t)
		return;
	cuda_function_learn(f, domain, cbid);
	thread_leave(t);
}

static struct function *function_of(uint32_t domain, uint32_t cbid)
{
	struct function *f = cuda_function_at(domain, cbid);
	if (!__atomic_load_n(&f->treatment, __ATOMIC_ACQUIRE))
		function_learn(f, domain, cbid);
	return f;
}

/* ---- calls ---- */

/* Return the level of a new call. Frames of calls left by longjmp or an exception are below
 * ours. */
static uint32_t level_enter(struct thread *t)
{
	uint64_t sp = (uint64_t)(uintptr_t)MACHINE_FRAME();
	if (!t->cuda_level || sp >= t->cuda_sp) {
		t->cuda_level = 0;
		t->cuda_sp = sp;
	}
	return t->cuda_level++;
}

static void open_set(struct thread *t, const struct function *f, uint32_t api, uint32_t cbid,
	const struct cupti_callback *c, uint64_t tick)
{
	struct cuda_open *open = &t->lane->cuda_open;
	open->correlation = c->correlation;
	open->name = f->name ? names_ref(f->name) : 0;
	open->context = c->context_id;
	open->cbid = (uint16_t)cbid;
	open->api = (uint16_t)api;
	__atomic_store_n(&open->tick, tick, __ATOMIC_RELEASE);
}

/* Count a call, unless it is the tracer's own. Not inlined: launches keep their registers. */
static __attribute__((noinline)) void call_count(const struct function *f)
{
	if (!thread_self.muted)
		__atomic_add_fetch(&cuda.page->counted[f->counted].count, 1, __ATOMIC_RELAXED);
}

static void call_enter(
	uint32_t api, uint32_t cbid, const struct function *f, const struct cupti_callback *c)
{
	*c->correlation_data = 0;
	if (f->treatment == TREAT_START)
		window_api_start(CAPTURE_CUDA_PROFILER);
	const bool is_open = GATE_LOOKS_OPEN(session_mask);
	cuda_call_set_recorded(c->correlation, is_open);
	if (!is_open) {
		cuda_look_over();
		return;
	}
	if (f->treatment == TREAT_COUNT && cuda.page) {
		call_count(f);
		return;
	}
	if (f->treatment == TREAT_FLUSH)
		cuda_flush_all(false);
	struct thread *t = enter();
	if (!t)
		return;
	uint64_t tick = clock_ticks();
	if (!level_enter(t)) {
		t->cuda_correlation = c->correlation;
		open_set(t, f, api, cbid, c, tick);
	}
	*c->correlation_data = tick;
	thread_leave(t);
}

/* Return whether the call is to carry a callchain: by the class of its function, or since this call
 * of it is about memory of graphs. */
static inline bool chain_is_due(
	const struct function *f, const struct cupti_callback *c, uint64_t ticks)
{
	return chains_due(f->class, ticks) ||
		(__builtin_expect(f->memory, 0) && chains_due(CHAIN_CUDA_MEMORY, ticks) &&
			memory_call_is_of_graph(f->memory, c));
}

static void call_put(struct thread *t, const struct function *f, const struct cupti_callback *c,
	uint32_t result, const struct cuda_call *call, uint64_t tick)
{
	uint64_t ticks = clock_ticks() - tick;
	unsigned slots = 2;
	struct record *r =
		chain_is_due(f, c, ticks) ? chains_room(t, tick, &slots) : lane_room(t, slots);
	if (!r)
		return;
	r->tick = tick;
	r->word = (uint64_t)sizeof(*call) << RECORD_LENGTH_SHIFT | REC_CUDA_API;
	r->a = (uint64_t)c->correlation << 32 | result;
	r->b = ticks;
	*(struct cuda_call *)(void *)(r + 1) = *call;
	lane_publish(t, slots);
}

static void call_exit(
	uint32_t api, uint32_t cbid, const struct function *f, const struct cupti_callback *c)
{
	uint64_t tick = *c->correlation_data;
	struct thread *t = tick ? enter() : NULL;
	if (!t)
		return;
	t->cuda_level -= t->cuda_level != 0;
	struct cuda_call call = {.name = f->name ? names_ref(f->name) : 0,
		.context = c->context_id,
		.cbid = (uint16_t)cbid,
		.api = (uint8_t)api,
		.level = t->cuda_level};
	uint32_t result = c->result ? *(const uint32_t *)c->result : 0;
	call_put(t, f, c, result, &call, tick);
	if (__builtin_expect(f->memory, 0) && !t->cuda_level)
		memory_call_put(t, f->memory, c, result);
	if (!t->cuda_level)
		t->lane->cuda_open.tick = 0; /* cleared after the record is written: after a
						kill, one of the two is found */
	if (cuda.page)
		__atomic_add_fetch(&cuda.page->api_calls, 1, __ATOMIC_RELAXED);
	if (__builtin_expect(pytorch_may_come, 0))
		pytorch_look(t);
	thread_leave(t);
	if (f->class == CHAIN_CUDA_SYNC)
		cuda_clock_look(clock_monotonic_ns());
}

/* ---- graphs ---- */

static uint32_t id_of(uint32_t (*get)(void *, uint32_t *), void *object)
{
	uint32_t id = 0;
	return get && object && get(object, &id) == CUPTI_OK ? id : 0;
}

static uint64_t node_id_of(void *node)
{
	uint64_t id = 0;
	return cupti.GetGraphNodeId && node && cupti.GetGraphNodeId(node, &id) == CUPTI_OK ? id : 0;
}

static void node_put(struct thread *t, uint32_t cbid, const struct cupti_graph_data *g)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {0};
	values[COLUMN_CUDA_GRAPH_NODE_GRAPH_NODE_ID] = node_id_of(g->node);
	values[COLUMN_CUDA_GRAPH_NODE_ORIGINAL_GRAPH_NODE_ID] = node_id_of(g->original_node);
	values[COLUMN_CUDA_GRAPH_NODE_GRAPH_ID] = id_of(cupti.GetGraphId, g->graph);
	values[COLUMN_CUDA_GRAPH_NODE_NODE_TYPE] = g->node_type;
	values[COLUMN_CUDA_GRAPH_NODE_CORRELATION_ID] = t->cuda_level ? t->cuda_correlation : 0;
	cuda_row_put(t, NUMBER_CUDA_GRAPH_NODE, clock_monotonic_ns(), 0, values);
	if (cbid == CUPTI_RESOURCE_NODE_CREATED)
		memory_node_created(
			t, g->node_type, (uint32_t)values[COLUMN_CUDA_GRAPH_NODE_GRAPH_ID]);
}

static void graph_put(struct thread *t, uint32_t cbid, const struct cupti_graph_data *g)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {0};
	bool is_exec = cbid == CUPTI_RESOURCE_EXEC_CREATED;
	void *original = is_exec ? NULL : g->original_graph;
	values[COLUMN_CUDA_GRAPH_GRAPH_ID] = id_of(cupti.GetGraphId, g->graph);
	values[COLUMN_CUDA_GRAPH_ORIGINAL_GRAPH_ID] = id_of(cupti.GetGraphId, original);
	if (is_exec)
		values[COLUMN_CUDA_GRAPH_GRAPH_EXEC_ID] =
			id_of(cupti.GetGraphExecId, g->graph_exec);
	values[COLUMN_CUDA_GRAPH_OPERATION] = is_exec ? GRAPH_OPERATION_INSTANTIATED
		: cbid == CUPTI_RESOURCE_GRAPH_CLONED ? GRAPH_OPERATION_CLONED
						      : GRAPH_OPERATION_CREATED;
	values[COLUMN_CUDA_GRAPH_CORRELATION_ID] = t->cuda_level ? t->cuda_correlation : 0;
	cuda_row_put(t, NUMBER_CUDA_GRAPH, clock_monotonic_ns(), 0, values);
}

static void resource(uint32_t cbid, const struct cupti_resource_data *data)
{
	/* Modules are recorded at any time, like names: a kernel of a window may belong to a module
	 * loaded before the window. */
	bool is_module =
		cbid == CUPTI_RESOURCE_MODULE_LOADED || cbid == CUPTI_RESOURCE_MODULE_UNLOAD;
	if (cbid == CUPTI_RESOURCE_CONTEXT_CREATED || cbid == CUPTI_RESOURCE_CONTEXT_ENDS)
		cuda_metrics_context(data->context, cbid == CUPTI_RESOURCE_CONTEXT_CREATED);
	struct thread *t = (gate_is_open() || is_module) && data->descriptor ? enter() : NULL;
	if (!t)
		return;
	switch (cbid) {
	case CUPTI_RESOURCE_NODE_CREATED:
	case CUPTI_RESOURCE_NODE_CLONED:
		node_put(t, cbid, data->descriptor);
		break;
	case CUPTI_RESOURCE_GRAPH_CREATED:
	case CUPTI_RESOURCE_GRAPH_CLONED:
	case CUPTI_RESOURCE_EXEC_CREATED:
		graph_put(t, cbid, data->descriptor);
		break;
	case CUPTI_RESOURCE_MODULE_LOADED:
	case CUPTI_RESOURCE_MODULE_UNLOAD:
		cuda_module_put(t, cbid == CUPTI_RESOURCE_MODULE_UNLOAD, data);
		break;
	default:
		break;
	}
	thread_leave(t);
}

/* Measure the kernels of a launch, whether or not it is recorded: the runtime's launches call those
 * of the driver. A thread that left a launch by longjmp launches nothing that counts afterwards. */
static inline void launch_measure(const struct function *f, const struct cupti_callback *c)
{
	struct thread *t = &thread_self;
	if (__builtin_expect(!f->launch || !session.config.gpu_metrics, 1))
		return;
	if (f->launch >= LAUNCH_CAPTURE_BEGINS) {
		if (c->site == CUPTI_EXIT)
			cuda_metrics_capture(c, f->launch == LAUNCH_CAPTURE_BEGINS);
		return;
	}
	if (c->site == CUPTI_ENTER ? !t->launch_level++ : t->launch_level && !--t->launch_level)
		cuda_metrics_launch(c, f->launch == LAUNCH_GRAPH);
}

/* Close the program's own profiling window: all that CUPTI has of it should be in the report. */
static void window_close(void)
{
	window_api_stop(CAPTURE_CUDA_PROFILER);
	cuda_flush_all(false);
}

void cuda_api_callback(
	void *user, uint32_t domain, uint32_t cbid, const struct cupti_callback *data)
{
	(void)user;
	struct thread *t = &thread_self;
	if (!t->lane && !t->busy)
		thread_attach(t); /* a forked child detects that it is one */
	uint32_t state = __atomic_load_n(&cuda.state, __ATOMIC_RELAXED);
	if (!data || (state != CUDA_ON && state != CUDA_ENDED))
		return; /* the tracer's own call, made while it starts CUPTI */
	if (domain == CUPTI_RESOURCE) {
		resource(cbid, (const void *)data);
	} else if (domain == CUPTI_RUNTIME_API || domain == CUPTI_DRIVER_API) {
		if (!cuda.used)
			cuda.used = 1;
		uint32_t api = domain == CUPTI_DRIVER_API;
		const struct function *f = function_of(domain, cbid);
		if (data->site == CUPTI_ENTER) {
			launch_measure(f, data);
			call_enter(api, cbid, f, data);
		} else {
			call_exit(api, cbid, f, data);
			launch_measure(f, data);
		}
		if (data->site == CUPTI_EXIT && f->treatment == TREAT_STOP)
			window_close();
	}
}
