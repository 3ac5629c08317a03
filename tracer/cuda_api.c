/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_api.c - calls of the CUDA APIs, and what CUPTI tells of graphs on the way.
 *
 * CUPTI calls back at the begin and end of each call, on its thread. A call made by another one
 * (the runtime calls the driver) is marked by its level. Trivial ones are only counted.
 */
#include "tracer/cuda.h"

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/bounded_lock.h"
#include "tracer/chains.h"
#include "tracer/cuda_clock.h"
#include "tracer/cuda_row.h"
#include "tracer/lane.h"
#include "tracer/names.h"
#include "tracer/osrt.h"
#include "tracer/session.h"
#include "tracer/window.h"

/* ---- functions, by number ---- */

#define FUNCTIONS_MAX 2048u /* CUDA 13.0 has 806 */

enum treatment {
	TREAT_UNKNOWN = 0, /* not met yet */
	TREAT_RECORD,
	TREAT_COUNT, /* only counted */
	TREAT_FLUSH, /* ends a context: what CUPTI has of it is asked for first */
	TREAT_START, /* of the program's own profiling window */
	TREAT_STOP
};

struct function {
	struct name *name;
	uint8_t treatment;
	uint8_t class;    /* enum chain_class */
	uint16_t counted; /* index in cuda_page.counted */
};

/* A byte for each of the last million ids: activity of calls not recorded is not wanted. */
#define IDS_KEPT (1u << 20)

/* Memory that only programs with CUDA have. */
struct api {
	struct function functions[2][FUNCTIONS_MAX]; /* API row, cbid */
	uint8_t is_recorded[IDS_KEPT];
};
static struct api *api_memory;

bool cuda_api_start(void)
{
	api_memory = sys_mmap_private(sizeof(*api_memory));
	return api_memory != NULL;
}

/* Counts are in the parent's page: what is counted is met anew. */
static uint32_t learning; /* a lock */

void cuda_api_forked(void)
{
	bounded_lock_give(&learning);
	for (uint32_t i = 0; api_memory && i < 2 * FUNCTIONS_MAX; i++)
		if (api_memory->functions[i / FUNCTIONS_MAX][i % FUNCTIONS_MAX].treatment ==
			TREAT_COUNT)
			api_memory->functions[i / FUNCTIONS_MAX][i % FUNCTIONS_MAX].treatment =
				TREAT_UNKNOWN;
}

bool cuda_api_is_recorded(uint32_t correlation)
{
	return api_memory->is_recorded[correlation % IDS_KEPT];
}

static bool has(const char *text, const char *part)
{
	return text_find(text, part) != NULL;
}

static enum chain_class class_of(const char *name)
{
	if (has(name, "Launch"))
		return CHAIN_CUDA_KERNEL;
	if (has(name, "Synchronize") || has(name, "Wait") || has(name, "Query"))
		return CHAIN_CUDA_SYNC;
	if (has(name, "Mem") || has(name, "Alloc") || has(name, "Free") || has(name, "Array"))
		return CHAIN_CUDA_MEMORY;
	return CHAIN_CUDA_OTHER;
}

/* `name` without the version that CUPTI adds (_v3020, _ptsz_v7000, _v2). */
static bool is_function(const char *name, const char *plain)
{
	size_t length = text_length(plain);
	if (!text_begins(name, plain))
		return false;
	const char *rest = name + length;
	if (text_begins(rest, "_ptsz") || text_begins(rest, "_ptds"))
		rest += 5;
	return !*rest || (rest[0] == '_' && rest[1] == 'v' && rest[2] >= '0' && rest[2] <= '9');
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (is_function(name, *list))
			return true;
	return false;
}

static enum treatment treatment_of(const char *name)
{
	/* They only look something up in the process: tens of nanoseconds, many times a launch. */
	static const char *const trivial[] = {"cudaGetLastError", "cudaPeekAtLastError",
		"cudaGetDevice", "cudaDeviceGetAttribute", "cudaStreamIsCapturing",
		"cudaStreamGetCaptureInfo", "__cudaPushCallConfiguration",
		"__cudaPopCallConfiguration", "cuCtxGetCurrent", "cuCtxSetCurrent",
		"cuCtxGetDevice", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuDeviceGet",
		"cuDeviceGetAttribute", "cuDevicePrimaryCtxGetState", "cuGetProcAddress",
		"cuKernelGetAttribute", "cuStreamIsCapturing", "cuStreamGetCaptureInfo", NULL};
	static const char *const ends[] = {"cudaDeviceReset", "cudaThreadExit", "cuCtxDestroy",
		"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxReset", NULL};
	static const char *const starts[] = {"cudaProfilerStart", "cuProfilerStart", NULL};
	static const char *const stops[] = {"cudaProfilerStop", "cuProfilerStop", NULL};
	if (is_one_of(name, trivial))
		return session.config.cuda_all_calls ? TREAT_RECORD : TREAT_COUNT;
	if (is_one_of(name, ends))
		return TREAT_FLUSH;
	if (is_one_of(name, starts))
		return TREAT_START;
	return is_one_of(name, stops) ? TREAT_STOP : TREAT_RECORD;
}

static struct thread *enter(void)
{
	struct thread *t = &thread_self;
	if ((gate_is_wiped() && !gate_opens(&own_words.session_mask) && gate_is_wiped()) ||
		(t->shared && thread_is_stray(t)))
		return NULL;
	osrt_mend_busy(t);
	if (t->busy) {
		session_count_drop(DROP_NESTED);
		return NULL;
	}
	if (!t->lane && !thread_attach(t))
		return NULL;
	thread_enter(t);
	return t;
}

/* A place for the count that outlives the process; none left: the calls are recorded. */
static bool counted_make(struct function *f, uint32_t api, uint32_t cbid)
{
	struct cuda_page *page = cuda.page;
	bool made = false;
	uint32_t count = page->counted_count;
	for (uint32_t i = 0; i < count; i++)
		if (page->counted[i].cbid == cbid && page->counted[i].api == api) {
			f->counted = (uint16_t)i;
			made = true;
		}
	if (!made && count < CUDA_COUNTED_MAX) {
		page->counted[count] = (struct cuda_counted){
			.name = names_ref(f->name), .cbid = (uint16_t)cbid, .api = (uint16_t)api};
		f->counted = (uint16_t)count;
		__atomic_store_n(&page->counted_count, count + 1, __ATOMIC_RELEASE);
		made = true;
	}
	return made;
}

/* Once for each function; `treatment` comes last. */
static void function_fill(struct function *f, uint32_t api, uint32_t domain, uint32_t cbid)
{
	const char *text = NULL;
	if (cupti.GetCallbackName(domain, cbid, &text) != CUPTI_OK || !text)
		text = "?";
	f->name = names_intern(false, NULL, text, (uint32_t)text_length(text), false, NULL);
	f->class = (uint8_t)class_of(text);
	enum treatment treatment = treatment_of(text);
	if (treatment == TREAT_COUNT && (!cuda.page || !counted_make(f, api, cbid)))
		treatment = TREAT_RECORD;
	__atomic_store_n(&f->treatment, treatment, __ATOMIC_RELEASE);
}

/* Where the lock cannot be had, this call has no name. */
static __attribute__((cold, noinline)) void function_learn(
	struct function *f, uint32_t api, uint32_t domain, uint32_t cbid)
{
	struct thread *t = enter();
	if (!t)
		return;
	if (bounded_lock_take(&learning)) {
		if (!f->treatment)
			function_fill(f, api, domain, cbid);
		bounded_lock_give(&learning);
	}
	thread_leave(t);
}

static struct function *function_of(uint32_t domain, uint32_t cbid)
{
	uint32_t api = domain == CUPTI_DRIVER_API;
	uint32_t number = cbid < FUNCTIONS_MAX ? cbid : 0;
	struct function *f = &api_memory->functions[api][number];
	if (!__atomic_load_n(&f->treatment, __ATOMIC_ACQUIRE))
		function_learn(f, api, domain, number);
	return f;
}

/* ---- calls ---- */

/* Calls that were left by longjmp or an exception are below us, if at all. */
static uint32_t level_enter(struct thread *t)
{
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
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

static void call_enter(
	uint32_t api, uint32_t cbid, const struct function *f, const struct cupti_callback *c)
{
	*c->correlation_data = 0;
	if (f->treatment == TREAT_START)
		window_api_start(CAPTURE_CUDA_PROFILER);
	const bool is_open = GATE_LOOKS_OPEN(session_mask);
	api_memory->is_recorded[c->correlation % IDS_KEPT] = is_open;
	if (!is_open) {
		cuda_look_over();
		return;
	}
	if (f->treatment == TREAT_COUNT && cuda.page) {
		__atomic_add_fetch(&cuda.page->counted[f->counted].count, 1, __ATOMIC_RELAXED);
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

static void call_put(struct thread *t, const struct function *f, uint32_t correlation,
	uint32_t result, const struct cuda_call *call, uint64_t tick)
{
	uint64_t ticks = clock_ticks() - tick;
	unsigned slots = 2;
	struct record *r =
		chains_due(f->class, ticks) ? chains_room(t, tick, &slots) : lane_room(t, slots);
	if (!r)
		return;
	r->tick = tick;
	r->word = (uint64_t)sizeof(*call) << RECORD_LENGTH_SHIFT | REC_CUDA_API;
	r->a = (uint64_t)correlation << 32 | result;
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
	call_put(t, f, c->correlation, c->result ? *(const uint32_t *)c->result : 0, &call, tick);
	if (!t->cuda_level)
		t->lane->cuda_open.tick = 0; /* behind its record: never neither */
	if (cuda.page)
		__atomic_add_fetch(&cuda.page->api_calls, 1, __ATOMIC_RELAXED);
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

static void node_put(struct thread *t, const struct cupti_graph_data *g)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {0};
	values[COLUMN_CUDA_GRAPH_NODE_GRAPH_NODE_ID] = node_id_of(g->node);
	values[COLUMN_CUDA_GRAPH_NODE_ORIGINAL_GRAPH_NODE_ID] = node_id_of(g->original_node);
	values[COLUMN_CUDA_GRAPH_NODE_GRAPH_ID] = id_of(cupti.GetGraphId, g->graph);
	values[COLUMN_CUDA_GRAPH_NODE_NODE_TYPE] = g->node_type;
	values[COLUMN_CUDA_GRAPH_NODE_CORRELATION_ID] = t->cuda_level ? t->cuda_correlation : 0;
	cuda_row_put(t, NUMBER_CUDA_GRAPH_NODE, clock_monotonic_ns(), 0, values);
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
	/* Modules are told at any time, as names are: kernels of a window run in earlier ones. */
	bool is_module =
		cbid == CUPTI_RESOURCE_MODULE_LOADED || cbid == CUPTI_RESOURCE_MODULE_UNLOAD;
	struct thread *t = (gate_is_open() || is_module) && data->descriptor ? enter() : NULL;
	if (!t)
		return;
	switch (cbid) {
	case CUPTI_RESOURCE_NODE_CREATED:
	case CUPTI_RESOURCE_NODE_CLONED:
		node_put(t, data->descriptor);
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

/* The program's own profiling window ends: what is gathered of it should be in the report. */
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
		thread_attach(t); /* a forked child finds out that it is one */
	uint32_t state = __atomic_load_n(&cuda.state, __ATOMIC_RELAXED);
	if (!data || (state != CUDA_ON && state != CUDA_ENDED))
		return; /* ours, while it starts */
	if (domain == CUPTI_RESOURCE) {
		resource(cbid, (const void *)data);
	} else if (domain == CUPTI_RUNTIME_API || domain == CUPTI_DRIVER_API) {
		if (!cuda.used)
			cuda.used = 1;
		uint32_t api = domain == CUPTI_DRIVER_API;
		const struct function *f = function_of(domain, cbid);
		if (data->site == CUPTI_ENTER)
			call_enter(api, cbid, f, data);
		else
			call_exit(api, cbid, f, data);
		if (data->site == CUPTI_EXIT && f->treatment == TREAT_STOP)
			window_close();
	}
}
