/* The simulated libcupti. It opens libcuda.so.1 at the first call that needs it and tells the
 * driver to be told of everything. */
#ifndef CUPTI_SIM_H
#define CUPTI_SIM_H

#include "tests/sim/sim.h"

#include <cupti.h>

/* The driver's table; NULL where there is no libcuda, or a real one. */
const struct sim_driver *cupti_driver(void);

/* What cuptiGetVersion says; the shapes of records go by it. 18: CUDA 11.8, 26: 12.8, 130001: 13.0
 * Update 1. */
uint32_t cupti_version(void);

/* ---- callbacks (cupti_callbacks.c) ---- */
/* The thread is inside a callback of the client: no call that is made there is told. */
extern _Thread_local unsigned cupti_in_callback;
/* The same for a callback other than of the driver or runtime API, where flushing is forbidden. */
extern _Thread_local unsigned cupti_in_closed_callback;

/* ---- clock (cupti_clock.c) ---- */
/* A time of the driver in the clock that the client registered (default: CLOCK_REALTIME), linearly
 * interpolated as CUPTI does. */
uint64_t cupti_time(uint64_t driver_ns);
/* Takes a new pair of both clocks. */
void cupti_clock_sample(void);

/* ---- activity (cupti_activity.c, cupti_buffers.c) ---- */
bool cupti_kind_on(CUpti_ActivityKind kind);
void cupti_op(const struct sim_op *op);
void cupti_api_record(const struct sim_call *call);
/* Records of contexts, streams and modules. */
void cupti_resource_record(const struct sim_resource *resource);
void cupti_external_records(const struct sim_call *call);
/* Moves what the device has finished into buffers. */
void cupti_collect(bool all);
uint32_t cupti_thread_id(void);

/* Appends a record to the buffer of the thread, or to the one for what the device did. */
void cupti_put(const void *record, size_t bytes, bool of_device);
/* Counts a record as dropped. */
void cupti_count_drop(void);
/* Hands every begun buffer to the client. */
void cupti_flush_buffers(void);

/* ---- records (cupti_records.c) ---- */
union cupti_record {
	CUpti_Activity any;
	CUpti_ActivityAPI api;
	CUpti_ActivityKernel10 kernel;
	CUpti_ActivityMemcpy6 copy;
	CUpti_ActivityMemcpyPtoP4 peer_copy;
	CUpti_ActivityMemset4 set;
	CUpti_ActivitySynchronization2 sync;
	CUpti_ActivityCudaEvent2 event;
	CUpti_ActivityGraphTrace2 graph;
	CUpti_ActivityUnifiedMemoryCounter3 unified;
	CUpti_ActivityMemory4 memory;
	CUpti_ActivityMemoryPool3 pool;
	CUpti_ActivityOverhead3 overhead;
	CUpti_ActivityJit2 jit;
	CUpti_ActivityContext3 context;
	CUpti_ActivityStream stream;
	CUpti_ActivityModule module;
	CUpti_ActivityDevice5 device;
	CUpti_ActivityDeviceAttribute attribute;
	CUpti_ActivityExternalCorrelation external;
};

/* The record of an operation, all fields of the newest shape; false where its kind is off. */
bool cupti_record_of(const struct sim_op *op, union cupti_record *ret_record);

/* How long a record of that kind is in this version; 0: unknown kind. */
size_t cupti_record_bytes(CUpti_ActivityKind kind);

#define CUPTI_EXPORT SIM_EXPORT CUptiResult CUPTIAPI

#endif
