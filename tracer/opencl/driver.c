/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - calls of OpenCL by the tracer, and its records.
 */
#define _GNU_SOURCE
#include "tracer/opencl/opencl.h"

#include "common/sys.h"
#include "common/text.h"
#include "tracer/base/libc.h"
#include "tracer/core/bounded_lock.h"
#include "tracer/core/lane.h"
#include "tracer/core/lease.h"
#include "tracer/core/state.h"

struct opencl_driver opencl_driver;

#define TEXT_BYTES 1024u

bool opencl_driver_find(uint64_t real)
{
	static uint32_t state; /* 1 being looked up or incomplete, 2 complete */
	uint32_t none = 0;
	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 2)
		return true;
	if (!__atomic_compare_exchange_n(
		    &state, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		return none == 2;
	/* The library stays loaded: its functions may be called as long as commands are known. */
	const char *file = NULL;
	void *library = NULL;
	if (!libc_library_of(real, NULL, &library, &file))
		return false;
	struct opencl_driver *d = &opencl_driver;
	libc_function_find(library, "clGetEventInfo", &d->event_info);
	libc_function_find(library, "clGetEventProfilingInfo", &d->profiling_info);
	libc_function_find(library, "clGetCommandQueueInfo", &d->queue_info);
	libc_function_find(library, "clGetDeviceInfo", &d->device_info);
	libc_function_find(library, "clGetPlatformInfo", &d->platform_info);
	libc_function_find(library, "clGetKernelInfo", &d->kernel_info);
	libc_function_find(library, "clGetImageInfo", &d->image_info);
	libc_function_find(library, "clGetProgramInfo", &d->program_info);
	libc_function_find(library, "clGetKernelWorkGroupInfo", &d->group_info);
	libc_function_find(library, "clRetainEvent", &d->retain_event);
	libc_function_find(library, "clReleaseEvent", &d->release_event);
	if (!d->event_info || !d->profiling_info || !d->queue_info || !d->device_info ||
		!d->platform_info || !d->kernel_info || !d->image_info || !d->program_info ||
		!d->group_info || !d->retain_event || !d->release_event)
		return false;
	__atomic_store_n(&state, 2, __ATOMIC_RELEASE);
	return true;
}

uint64_t opencl_number(opencl_query *query, uint64_t object, uint32_t what)
{
	uint64_t value = 0;
	return query(object, what, sizeof(value), &value, NULL) == CL_SUCCESS ? value : 0;
}

struct name *opencl_text(opencl_query *query, uint64_t object, uint32_t what)
{
	char text[TEXT_BYTES] = "";
	if (query(object, what, sizeof(text), text, NULL) != CL_SUCCESS)
		return NULL;
	text[sizeof(text) - 1] = '\0';
	return names_intern(false, NULL, text, (uint32_t)text_length(text), false, NULL);
}

/* ---- records ---- */

static uint32_t lane_lock;        /* bounded */
static struct thread lane_thread; /* owner of the lane, guarded by the lock */

bool opencl_record(
	uint64_t tick, uint32_t kind, uint64_t a, uint64_t b, const void *payload, uint64_t bytes)
{
	if (!bounded_lock_take(&lane_lock))
		return false;
	if (!lane_thread.lane)
		lane_thread = (struct thread){.busy = 1, .lane = lease_for_device()};
	bool done = lane_thread.lane && lane_put(&lane_thread, tick, kind, a, b, payload, bytes);
	bounded_lock_give(&lane_lock);
	return done;
}

void opencl_row(uint32_t event, uint64_t tick, uint64_t ticks, const uint64_t *columns,
	uint32_t count, uint32_t names)
{
	opencl_record(tick, REC_ROW, (uint64_t)event << 32 | names, ticks, columns,
		count * sizeof(*columns));
}

void opencl_records_forked(void)
{
	lane_lock = LOCK_FREE;
	lane_thread.lane = NULL;
}
