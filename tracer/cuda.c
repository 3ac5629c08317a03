/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tracer/cuda.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/chains.h"
#include "tracer/cuda_clock.h"
#include "tracer/cuda_row.h"
#include "tracer/libc.h"
#include "tracer/osrt.h"
#include "tracer/session.h"
#include "tracer/spool_file.h"
#include "unwind/registers.h"

struct cuda cuda;

static uint32_t state_of(void)
{
	return __atomic_load_n(&cuda.state, __ATOMIC_ACQUIRE);
}

static void state_set(enum cuda_state state)
{
	__atomic_store_n(&cuda.state, state, __ATOMIC_RELEASE);
}

bool cuda_is_wanted(void)
{
	return state_of() == CUDA_NEW && session.config.cuda && !session.restricted &&
		(session.state == SESSION_ON || session.state == SESSION_FORKED);
}

static void note_result(const char *what, const char *path, uint32_t result)
{
	char text[320];
	size_t at = text_append(text, sizeof(text), 0, "CUDA is not recorded: ");
	at = text_append(text, sizeof(text), at, what);
	if (*path) {
		at = text_append(text, sizeof(text), at, " ('");
		at = text_append(text, sizeof(text), at, path);
		at = text_append(text, sizeof(text), at, "', CUPTI version ");
		at = text_append_number(text, sizeof(text), at, cupti.version, 10);
		at = text_append(text, sizeof(text), at, ", error ");
		at = text_append_number(text, sizeof(text), at, result, 10);
		text_append(text, sizeof(text), at, ")");
	}
	session_note(text);
}

/* ---- start ---- */

static const char *reason_of(uint32_t result)
{
	switch (result) {
	case CUPTI_MULTIPLE_SUBSCRIBERS:
		return "another tool has CUPTI";
	case CUPTI_INSUFFICIENT_PRIVILEGES:
		return "the driver allows it to administrators only";
	case CUPTI_NOT_INITIALIZED:
	case CUPTI_NOT_COMPATIBLE:
		return "CUPTI and the driver do not fit";
	case CUPTI_UNKNOWN:
		return "CUPTI found no driver that it can use";
	default:
		return "CUPTI refused to start";
	}
}

/* A copy that does not fit the driver is passed over for an older one. */
static bool subscribe(void)
{
	const char *why = "no CUPTI was found: set LIBTRACE_CUPTI to its libcupti.so";
	uint32_t result = CUPTI_OK;
	char path[sizeof(cupti.path)] = "";
	for (unsigned place = 0; result != CUPTI_MULTIPLE_SUBSCRIBERS &&
		cupti_load_next(&place, session.config.cupti, &why);) {
		result = cupti.Subscribe(&cuda.subscriber, cuda_api_callback, NULL);
		if (result == CUPTI_OK)
			return true;
		why = reason_of(result);
		text_append(path, sizeof(path), 0, cupti.path);
	}
	note_result(why, path, result);
	return false;
}

static const uint8_t kinds[] = {CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY, CUPTI_MEMCPY_PEER,
	CUPTI_MEMSET, CUPTI_SYNCHRONIZATION, CUPTI_CUDA_EVENT, CUPTI_CONTEXT, CUPTI_STREAM,
	CUPTI_DEVICE, CUPTI_DEVICE_ATTRIBUTE, CUPTI_OVERHEAD, CUPTI_JIT, CUPTI_MEMORY,
	CUPTI_MEMORY_POOL, CUPTI_GRAPH_TRACE, CUPTI_MEM_DECOMPRESS, CUPTI_DEVICE_GRAPH_TRACE,
	CUPTI_UNIFIED_MEMORY};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool kind_is_wanted(uint32_t kind)
{
	const struct config *c = &session.config;
	if (kind == CUPTI_GRAPH_TRACE)
		return !c->cuda_graph_nodes;
	if (kind == CUPTI_MEMORY || kind == CUPTI_MEMORY_POOL)
		return c->cuda_memory;
	if (kind == CUPTI_UNIFIED_MEMORY)
		return c->cuda_unified_memory;
	return true;
}

/* Counters of unified memory: bytes moved and faults of both sides, of the process. */
static bool unified_memory_configure(void)
{
	static const uint8_t counters[] = {1, 2, 3, 4, 8};
	struct cupti_unified_memory_config configs[sizeof(counters)];
	for (size_t i = 0; i < sizeof(counters); i++)
		configs[i] = (struct cupti_unified_memory_config){1, counters[i], 0, 1};
	return cupti.ActivityConfigureUnifiedMemoryCounter &&
		cupti.ActivityConfigureUnifiedMemoryCounter(configs, sizeof(counters)) == CUPTI_OK;
}

/* Kinds that this version or this driver does not have are told once, in one line. Kernels are what
 * the source is for: without them it does not start. */
static uint32_t kinds_enable(void)
{
	char text[200];
	size_t at = text_append(text, sizeof(text), 0, "CUPTI refuses activity of the kinds");
	uint32_t refused = 0, first = CUPTI_OK;
	for (size_t i = 0; i < KINDS; i++) {
		if (!kind_is_wanted(kinds[i]))
			continue;
		if (kinds[i] == CUPTI_UNIFIED_MEMORY && !unified_memory_configure())
			continue; /* no device has it */
		uint32_t result = cupti.ActivityEnable(kinds[i]);
		if (result == CUPTI_OK)
			continue;
		if (!i)
			first = result;
		at = text_append(text, sizeof(text), at, refused++ ? ", " : " ");
		at = text_append_number(text, sizeof(text), at, kinds[i], 10);
	}
	if (refused && first == CUPTI_OK)
		session_note(text);
	return first;
}

static const uint8_t domains[] = {CUPTI_RUNTIME_API, CUPTI_DRIVER_API, CUPTI_RESOURCE};

static bool callbacks_enable(bool enable)
{
	uint32_t result = CUPTI_OK;
	for (size_t i = 0; i < sizeof(domains) && result == CUPTI_OK; i++)
		result = cupti.EnableDomain(enable, cuda.subscriber, domains[i]);
	return result == CUPTI_OK;
}

static bool activity_enable(void)
{
	return cupti.ActivityRegisterCallbacks(cuda_activity_requested, cuda_activity_completed) ==
		CUPTI_OK &&
		callbacks_enable(true);
}

static bool page_make(void)
{
	void *place;
	uint64_t offset = spool_file_take(CUDA_PAGE_BYTES, CUDA_PAGE_BYTES, &place);
	if (!offset)
		return false;
	cuda.page = place;
	__atomic_store_n(&session.spool->cuda_offset, offset, __ATOMIC_RELEASE);
	return true;
}

/* Otherwise CUPTI is not loaded. It keeps the driver, so it may stay. */
static bool driver_is_there(const char *file)
{
	return !file || dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static uint32_t driver_version(void)
{
	int version = 0;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	uint32_t (*get)(int *) = NULL;
	if (driver)
		*(void **)(void *)&get = libc.dlsym(driver, "cuDriverGetVersion");
	return get && !get(&version) && version > 0 ? (uint32_t)version : 0;
}

/* An attribute of CUPTI that is a size_t; 0 = this version does not have it. */
static uint64_t attribute(uint32_t number)
{
	size_t value = 0, bytes = sizeof(value);
	return cupti.ActivityGetAttribute &&
			cupti.ActivityGetAttribute(number, &bytes, &value) == CUPTI_OK
		? value
		: 0;
}

/* What is told of the start. */
struct setup {
	enum cuda_clock clock;
	uint32_t driver;
	uint64_t device_bytes, device_bytes_max;
};

static void setup_ask(struct setup *ret)
{
	uint64_t bytes = attribute(CUPTI_DEVICE_BUFFER_BYTES);
	ret->driver = driver_version();
	ret->device_bytes = bytes * attribute(CUPTI_DEVICE_BUFFERS_AT_START);
	ret->device_bytes_max = bytes * attribute(CUPTI_DEVICE_BUFFERS_MAX);
}

static enum cuda_state begin(struct setup *ret_setup)
{
	if (!page_make() || !cuda_api_start() || !cuda_activity_start()) {
		session_note("CUDA is not recorded: no memory");
		return CUDA_OFF;
	}
	if (!subscribe())
		return CUDA_OFF;
	if (cupti.SetThreadIdType)
		cupti.SetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
	ret_setup->clock = cuda_clock_start();
	uint32_t result = activity_enable() ? kinds_enable() : CUPTI_UNKNOWN;
	if (result != CUPTI_OK) {
		note_result(reason_of(result), cupti.path, result);
		cupti.Unsubscribe(cuda.subscriber);
		return CUDA_OFF;
	}
	if (cupti.ActivityFlushPeriod && session.config.cuda_flush_ns)
		cupti.ActivityFlushPeriod((uint32_t)(session.config.cuda_flush_ns / 1000000u));
	setup_ask(ret_setup);
	return CUDA_ON;
}

static void setup_tell(struct thread *t, const struct setup *setup)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {0};
	thread_enter(t);
	values[COLUMN_CUDA_SETUP_LIBRARY] = cuda_row_text(cupti.path);
	values[COLUMN_CUDA_SETUP_CUPTI_VERSION] = cupti.version;
	values[COLUMN_CUDA_SETUP_DRIVER_VERSION] = setup->driver;
	values[COLUMN_CUDA_SETUP_CLOCK] = setup->clock;
	values[COLUMN_CUDA_SETUP_CLOCK_ERROR_NS] = cuda_clock_error_ns();
	values[COLUMN_CUDA_SETUP_DEVICE_BYTES] = setup->device_bytes;
	values[COLUMN_CUDA_SETUP_DEVICE_BYTES_MAX] = setup->device_bytes_max;
	cuda_row_put(t, NUMBER_CUDA_SETUP, clock_monotonic_ns(), 0, values);
	chains_tell_modules(); /* faults of the CPU name an instruction */
	thread_leave(t);
}

/* Handlers registered last run first: those of the CUDA runtime are there already, and it is gone
 * when ours of the start runs. exit() may be called in a signal handler, too. */
static void at_exit(int status, void *unused)
{
	(void)status, (void)unused;
	cuda_flush_at_end(true);
}

static void start(struct thread *t, const char *file)
{
	uint64_t all = UINT64_MAX, before, begin_ns = clock_monotonic_ns();
	struct setup setup = {.clock = CUDA_CLOCK_NONE};
	thread_enter(t);
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	struct lane *lane = thread_mute(t);
	bool there = driver_is_there(file);
	enum cuda_state state = there ? begin(&setup) : CUDA_OFF;
	thread_unmute(t, lane);
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	thread_leave(t);
	if (state == CUDA_ON) {
		setup_tell(t, &setup);
		libc.on_exit(at_exit, NULL);
	} else if (!there) {
		session_note("CUDA is not recorded: there is no driver (libcuda.so.1)");
	}
	__atomic_add_fetch(&session.spool->tracer_ticks,
		osrt_ticks(clock_monotonic_ns() - begin_ns), __ATOMIC_RELAXED);
	state_set(state);
}

void cuda_start(const char *file)
{
	struct thread *t = &thread_self;
	uint32_t fresh = CUDA_NEW;
	if (!cuda_is_wanted() || t->busy || t->vfork_pid || t->muted ||
		(!t->lane && !thread_attach(t)))
		return;
	if (__atomic_compare_exchange_n(
		    &cuda.state, &fresh, CUDA_STARTING, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		start(t, file);
}

/* ---- end ---- */

static void kinds_disable(void)
{
	for (size_t i = 0; i < KINDS; i++)
		if (kind_is_wanted(kinds[i]))
			cupti.ActivityDisable(kinds[i]);
}

/* Is a call in progress that was recorded when it began? Its end is to be recorded, too. */
static bool calls_are_open(void)
{
	const struct spool_header *spool = session.spool;
	uint32_t count = __atomic_load_n(&spool->lane_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count && i < SPOOL_LANES_MAX; i++) {
		uint64_t offset = __atomic_load_n(&spool->lane_offset[i], __ATOMIC_ACQUIRE);
		const struct lane *lane = offset ? spool_file_at(offset) : NULL;
		if (lane && __atomic_load_n(&lane->cuda_open.tick, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

/* A subscriber whose kinds and callbacks are on slows the program down although nobody looks. What
 * was launched in the last window is given a second to end. */
#define OVER_NS 1000000000u

void cuda_look_over(void)
{
	static uint64_t seen_ns;
	uint64_t none = 0;
	if (state_of() != CUDA_ON || !capture_is_over(session.control))
		return;
	uint64_t now = clock_monotonic_ns();
	if (__atomic_compare_exchange_n(
		    &seen_ns, &none, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		now - none < OVER_NS || calls_are_open())
		return;
	cuda_flush_all(true);
	if (state_of() == CUDA_ENDED)
		callbacks_enable(false);
}

static void flush_note(uint32_t result)
{
	static uint32_t is_told;
	char text[120];
	if (result == CUPTI_OK)
		return;
	session_count_drop(DROP_CUPTI); /* nobody knows how many: one at least */
	if (__atomic_exchange_n(&is_told, 1, __ATOMIC_RELAXED))
		return;
	size_t at = text_append(text, sizeof(text), 0,
		"CUDA: CUPTI did not hand over what it had: records are missing (error ");
	at = text_append_number(text, sizeof(text), at, result, 10);
	text_append(text, sizeof(text), at, ")");
	session_note(text);
}

/* A handler may have interrupted a CUDA call of this thread, with CUPTI's locks held. */
void cuda_flush_all(bool is_last)
{
	struct thread *t = &thread_self;
	if (state_of() != CUDA_ON || t->busy || t->cuda_level)
		return;
	if (is_last && __atomic_exchange_n(&cuda.ended, 1, __ATOMIC_ACQ_REL))
		return;
	if (is_last)
		kinds_disable();
	flush_note(cupti.ActivityFlushAll(CUPTI_FLUSH_FORCED));
	if (is_last)
		state_set(CUDA_ENDED);
}

void cuda_flush_at_end(bool is_last)
{
	if (!registers_in_handler())
		cuda_flush_all(is_last);
	else if (!is_last || !__atomic_exchange_n(&cuda.ended, 1, __ATOMIC_ACQ_REL)) /* once */
		session_note("CUDA: the process ended within a signal handler: what CUPTI had not "
			     "handed over by then is not here");
}

void cuda_forked(void)
{
	uint32_t state = state_of();
	bool again = state == CUDA_ON && !cuda.used && page_make();
	if (!again)
		cuda.page = NULL;
	again = cuda_activity_forked(again);
	cuda_api_forked();
	cuda_module_forked();
	if (state != CUDA_NEW)
		state_set(again ? CUDA_ON : CUDA_OFF);
}
