/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.c - start of CUPTI, when the program is about to use CUDA.
 */
#define _GNU_SOURCE
#include "tracer/cuda/cuda.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/base/libc.h"
#include "tracer/session/attach.h"
#include "tracer/core/chains.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/names.h"
#include "tracer/core/state.h"
#include "tracer/cuda/clock.h"
#include "tracer/cuda/functions.h"
#include "tracer/cuda/row.h"

bool cuda_is_wanted(void)
{
	return cuda_state() == CUDA_NEW && session.config.cuda && !session.restricted &&
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
	diagnostic_line(text);
}

static const char *reason_of(uint32_t result)
{
	switch (result) {
	case CUPTI_MULTIPLE_SUBSCRIBERS:
		return "another tool uses CUPTI";
	case CUPTI_INSUFFICIENT_PRIVILEGES:
		return "the driver permits it only to administrators";
	case CUPTI_NOT_INITIALIZED:
	case CUPTI_NOT_COMPATIBLE:
		return "CUPTI and the driver are incompatible";
	case CUPTI_UNKNOWN:
		return "CUPTI found no usable driver";
	default:
		return "CUPTI refused to start";
	}
}

/* Subscribe to CUPTI. A copy that does not fit the driver is skipped, and an older one is tried. */
static bool subscribe(void)
{
	const char *why = "cannot find CUPTI; set LIBTRACE_CUPTI to the path of libcupti.so";
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

static bool activity_enable(void)
{
	return cupti.ActivityRegisterCallbacks(cuda_activity_requested, cuda_activity_completed) ==
		CUPTI_OK &&
		cuda_callbacks_enable(true);
}

/* Load the driver and return true if there is one; otherwise CUPTI is not loaded. CUPTI keeps the
 * driver loaded, so it is not closed. */
static bool driver_is_there(const char *file)
{
	return !file || libc_dlopen()(file, RTLD_NOW | RTLD_LOCAL);
}

static uint32_t driver_version(void)
{
	int version = 0;
	void *driver = libc_dlopen()("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	uint32_t (*get)(int *) = NULL;
	if (driver)
		*(void **)(void *)&get = libc.dlsym(driver, "cuDriverGetVersion");
	return get && !get(&version) && version > 0 ? (uint32_t)version : 0;
}

/* Return an attribute of CUPTI that is a size_t; 0 = this version does not have it. */
static uint64_t attribute(uint32_t number)
{
	size_t value = 0, bytes = sizeof(value);
	return cupti.ActivityGetAttribute &&
			cupti.ActivityGetAttribute(number, &bytes, &value) == CUPTI_OK
		? value
		: 0;
}

/* Values of the CUDA_SETUP row. */
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
	if (!cuda_page_create() || !cuda_functions_start() || !cuda_activity_start()) {
		diagnostic_line("CUDA is not recorded: out of memory");
		return CUDA_OFF;
	}
	if (!subscribe())
		return CUDA_OFF;
	if (cupti.SetThreadIdType)
		cupti.SetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
	ret_setup->clock = cuda_clock_start();
	uint32_t result = activity_enable() ? cuda_kinds_enable() : CUPTI_UNKNOWN;
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

static void setup_put(struct thread *t, const struct setup *setup)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {0};
	thread_enter(t);
	values[COLUMN_CUDA_SETUP_LIBRARY] = names_ref_of(cupti.path);
	values[COLUMN_CUDA_SETUP_CUPTI_VERSION] = cupti.version;
	values[COLUMN_CUDA_SETUP_DRIVER_VERSION] = setup->driver;
	values[COLUMN_CUDA_SETUP_CLOCK] = setup->clock;
	values[COLUMN_CUDA_SETUP_CLOCK_ERROR_NS] = cuda_clock_error_ns();
	values[COLUMN_CUDA_SETUP_DEVICE_BYTES] = setup->device_bytes;
	values[COLUMN_CUDA_SETUP_DEVICE_BYTES_MAX] = setup->device_bytes_max;
	cuda_row_put(t, NUMBER_CUDA_SETUP, clock_monotonic_ns(), 0, values);
	chains_record_modules(); /* CPU faults carry the address of an instruction */
	thread_leave(t);
}

/* Flush at exit. Handlers registered last run first: this one is registered after those of the CUDA
 * runtime, so the runtime still exists when it runs. exit() may be called in a signal handler,
 * too. */
static void at_exit(int status, void *unused)
{
	(void)status, (void)unused;
	cuda_flush_at_end(true);
}

static void start(struct thread *t, const char *file)
{
	uint64_t before, begin_ns = clock_monotonic_ns();
	struct setup setup = {.clock = CUDA_CLOCK_NONE};
	thread_enter(t);
	before = sys_signals_block();
	struct lane *lane = thread_mute(t);
	bool there = driver_is_there(file);
	enum cuda_state state = there ? begin(&setup) : CUDA_OFF;
	thread_unmute(t, lane);
	sys_signals_set(before);
	thread_leave(t);
	if (state == CUDA_ON) {
		setup_put(t, &setup);
		libc.on_exit(at_exit, NULL);
	} else if (!there) {
		diagnostic_line("CUDA is not recorded: cannot find the driver (libcuda.so.1)");
	}
	__atomic_add_fetch(&session.spool->tracer_ticks,
		session_ticks(clock_monotonic_ns() - begin_ns), __ATOMIC_RELAXED);
	cuda_state_set(state);
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
