/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - streams, events and their timelines.
 */
#include "tests/sim/driver.h"
#include "impl.h"

#include <cupti_callbacks.h>
#include <cupti_activity.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic uint32_t last_event_id;
static _Atomic uint64_t last_event_sync;

/* ---- timelines ---- */

CUstream stream_of(CUstream handle)
{
	CUcontext context = driver_context();

	if ((uintptr_t)handle > 2)
		return handle;
	return context ? &context->null_stream : NULL;
}

/* Return the earliest start of the stream's next work, after the work of the streams for which it
 * waits. */
static uint64_t ordered_after(CUstream stream)
{
	CUcontext context = stream->context;
	uint64_t latest = stream->busy_until_ns;

	if (stream->flags & CU_STREAM_NON_BLOCKING)
		return latest;
	if (stream != &context->null_stream)
		return context->null_stream.busy_until_ns > latest
			? context->null_stream.busy_until_ns
			: latest;
	for (CUstream other = context->streams; other; other = other->next)
		if (!(other->flags & CU_STREAM_NON_BLOCKING) && other->busy_until_ns > latest)
			latest = other->busy_until_ns;
	return latest;
}

void stream_enqueue(CUstream stream, struct sim_op *op, uint64_t duration_ns)
{
	uint64_t start = sim_now_ns() + sim_option(SIM_OPTION_launch_latency_ns);
	uint64_t after;

	pthread_mutex_lock(&driver_mutex);
	after = ordered_after(stream);
	op->start_ns = start > after ? start : after;
	op->end_ns = op->start_ns + duration_ns;
	stream->busy_until_ns = op->end_ns;
	pthread_mutex_unlock(&driver_mutex);
	op->device = stream->context->device->facts.ordinal;
	op->context = stream->context->id;
	op->stream = stream->id;
	op->correlation = sim_correlation();
}

uint64_t stream_busy_until(CUstream stream)
{
	uint64_t until;

	pthread_mutex_lock(&driver_mutex);
	until = ordered_after(stream);
	pthread_mutex_unlock(&driver_mutex);
	return until;
}

uint64_t context_busy_until(CUcontext context)
{
	uint64_t latest;

	pthread_mutex_lock(&driver_mutex);
	latest = context->null_stream.busy_until_ns;
	for (CUstream stream = context->streams; stream; stream = stream->next)
		if (stream->busy_until_ns > latest)
			latest = stream->busy_until_ns;
	pthread_mutex_unlock(&driver_mutex);
	return latest;
}

void sync_until(CUcontext context, CUstream stream, uint32_t type, CUevent event, uint64_t until_ns)
{
	struct sim_op op = {.kind = SIM_SYNC,
		.start_ns = sim_now_ns(),
		.device = context->device->facts.ordinal,
		.context = context->id,
		.stream = stream ? stream->id : CUPTI_SYNCHRONIZATION_INVALID_VALUE,
		.correlation = sim_correlation(),
		.sync = {.type = type, .event = CUPTI_SYNCHRONIZATION_INVALID_VALUE}};
	const struct sim_tool *tool = sim_tool();

	if (event) {
		op.sync.event = event->id;
		op.sync.event_sync = event->sync_id;
	}
	sim_wait_until(until_ns);
	op.end_ns = sim_now_ns();
	sim_log_op(&op);
	if (!tool)
		return;
	if (type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE)
		tool->synchronized(CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, context, stream);
	else if (type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE)
		tool->synchronized(CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, context, NULL);
}

CUresult impl_cuCtxSynchronize_v2(CUcontext context)
{
	if (!context)
		context = driver_context();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	sync_until(context, NULL, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, NULL,
		context_busy_until(context));
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxSynchronize(void)
{
	return impl_cuCtxSynchronize_v2(NULL);
}

/* ---- streams ---- */

static void log_stream(CUstream stream, uint32_t cbid)
{
	bool null = stream->id == SIM_NULL_STREAM_ID;
	struct sim_resource resource = {.cbid = cbid,
		.context = stream->context,
		.stream = null ? NULL : stream,
		.context_id = stream->context->id,
		.device_id = stream->context->device->facts.ordinal,
		.stream_id = stream->id,
		.stream_priority = (uint32_t)stream->priority,
		.stream_flag = null ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
			: stream->flags & CU_STREAM_NON_BLOCKING
			? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
			: CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT,
		.correlation = sim_correlation()};

	sim_log_resource(&resource);
}

void context_add_stream(CUcontext context)
{
	log_stream(&context->null_stream, CUPTI_CBID_RESOURCE_STREAM_CREATED);
}

CUresult impl_cuStreamCreateWithPriority(CUstream *ret_stream, unsigned int flags, int priority)
{
	CUcontext context = driver_context();
	CUstream stream;

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	stream = calloc(1, sizeof *stream);
	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->context = context;
	stream->flags = flags;
	stream->priority = priority;
	pthread_mutex_lock(&driver_mutex);
	stream->id = context->next_stream_id++;
	stream->next = context->streams;
	context->streams = stream;
	pthread_mutex_unlock(&driver_mutex);
	log_stream(stream, CUPTI_CBID_RESOURCE_STREAM_CREATED);
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamCreate(CUstream *ret_stream, unsigned int flags)
{
	return impl_cuStreamCreateWithPriority(ret_stream, flags, 0);
}

/* Keep the stream in its context's list, because its timeline still orders later work. */
CUresult impl_cuStreamDestroy_v2(CUstream stream)
{
	if ((uintptr_t)stream <= 2)
		return CUDA_ERROR_INVALID_HANDLE;
	log_stream(stream, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamSynchronize(CUstream handle)
{
	CUstream stream = stream_of(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	sync_until(stream->context, stream, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
		NULL, stream_busy_until(stream));
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamQuery(CUstream handle)
{
	CUstream stream = stream_of(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	return stream_busy_until(stream) > sim_now_ns() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult impl_cuStreamGetPriority(CUstream handle, int *ret_priority)
{
	CUstream stream = stream_of(handle);

	*ret_priority = stream ? stream->priority : 0;
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetFlags(CUstream handle, unsigned int *ret_flags)
{
	CUstream stream = stream_of(handle);

	*ret_flags = stream ? stream->flags : 0;
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetId(CUstream handle, unsigned long long *ret_id)
{
	CUstream stream = stream_of(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_id = stream->id;
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetCtx(CUstream handle, CUcontext *ret_context)
{
	CUstream stream = stream_of(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_context = stream->context;
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetCtx_v2(CUstream handle, CUcontext *ret_context, CUgreenCtx *ret_green)
{
	if (ret_green)
		*ret_green = NULL;
	return impl_cuStreamGetCtx(handle, ret_context);
}

/* ---- events ---- */

CUresult impl_cuEventCreate(CUevent *ret_event, unsigned int flags)
{
	CUevent event = calloc(1, sizeof *event);

	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->id = ++last_event_id;
	event->flags = flags;
	event->context = driver_context();
	*ret_event = event;
	return CUDA_SUCCESS;
}

CUresult impl_cuEventDestroy_v2(CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	free(event);
	return CUDA_SUCCESS;
}

CUresult impl_cuEventRecord(CUevent event, CUstream handle)
{
	struct sim_op op = {.kind = SIM_EVENT};
	CUstream stream = stream_of(handle);

	if (!event || !stream)
		return CUDA_ERROR_INVALID_HANDLE;
	event->stream = stream;
	event->capture = stream->capture;
	event->captured_after = stream->last_captured;
	if (stream->capture)
		return CUDA_SUCCESS;
	event->sync_id = ++last_event_sync;
	op.event.event = event->id;
	op.event.event_sync = event->sync_id;
	stream_enqueue(stream, &op, 0);
	event->time_ns = op.end_ns;
	event->recorded = true;
	sim_log_op(&op);
	return CUDA_SUCCESS;
}

CUresult impl_cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned int flags)
{
	(void)flags;
	return impl_cuEventRecord(event, handle);
}

CUresult impl_cuEventQuery(CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	return event->recorded && event->time_ns > sim_now_ns() ? CUDA_ERROR_NOT_READY
								: CUDA_SUCCESS;
}

CUresult impl_cuEventSynchronize(CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!event->recorded)
		return CUDA_SUCCESS;
	sync_until(event->stream->context, event->stream,
		CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, event, event->time_ns);
	return CUDA_SUCCESS;
}

CUresult impl_cuEventElapsedTime_v2(float *ret_ms, CUevent start, CUevent end)
{
	if (!start || !end || !start->recorded || !end->recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	if (start->time_ns > sim_now_ns() || end->time_ns > sim_now_ns())
		return CUDA_ERROR_NOT_READY;
	*ret_ms = (float)((double)(int64_t)(end->time_ns - start->time_ns) / 1e6);
	return CUDA_SUCCESS;
}

CUresult impl_cuEventElapsedTime(float *ret_ms, CUevent start, CUevent end)
{
	return impl_cuEventElapsedTime_v2(ret_ms, start, end);
}

CUresult impl_cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
	CUstream stream = stream_of(handle);
	uint64_t now = sim_now_ns();
	struct sim_op op = {.kind = SIM_SYNC, .start_ns = now, .end_ns = now};

	(void)flags;
	if (!stream || !event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->capture) { /* the stream joins the capture */
		if (stream->capture)
			stream->also_after = event->captured_after;
		else
			stream->last_captured = event->captured_after;
		stream->capture = event->capture;
		return CUDA_SUCCESS;
	}
	if (!event->recorded)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&driver_mutex);
	if (event->time_ns > stream->busy_until_ns)
		stream->busy_until_ns = event->time_ns;
	pthread_mutex_unlock(&driver_mutex);
	op.device = stream->context->device->facts.ordinal;
	op.context = stream->context->id;
	op.stream = stream->id;
	op.correlation = sim_correlation();
	op.sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
	op.sync.event = event->id;
	op.sync.event_sync = event->sync_id;
	sim_log_op(&op);
	return CUDA_SUCCESS;
}
