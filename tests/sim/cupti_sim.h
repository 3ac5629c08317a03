/* SPDX-License-Identifier: Apache-2.0 */
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
/* The same for what is of a context: those that were made before a clock was registered keep the
 * default one. */
uint64_t cupti_time_in(uint32_t context, uint64_t driver_ns);
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

/* Appends a record as long as its kind is, of whose shape the newest `bytes` are given, to the
 * buffer of the thread, or to the one for what the device did. */
void cupti_put(const void *record, size_t bytes, bool of_device);
/* Counts a record as dropped. */
void cupti_count_drop(void);
/* Hands every begun buffer to the client. */
void cupti_flush_buffers(void);

/* A buffer of the client and its size, or NULL; and back to it. For recordings. */
uint8_t *cupti_ask_for_buffer(size_t *ret_bytes);
void cupti_hand_back(uint8_t *buffer, size_t bytes, size_t valid_bytes);

/* ---- recordings (cupti_replay.c) ---- */
/* Gives the client the recorded buffers of SIM_REPLAY, once. */
void cupti_replay(void);
/* How long records of that kind are in the recording; 0: there is none of it. */
size_t cupti_replayed_bytes(CUpti_ActivityKind kind);

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

/* A kind that no version has: fault `unknown_every`. */
enum { CUPTI_SIM_UNKNOWN_KIND = 63, CUPTI_SIM_UNKNOWN_BYTES = 48 };

/* How long a record of that kind is in this version; 0: unknown kind. */
size_t cupti_record_bytes(CUpti_ActivityKind kind);

/* The first statement of a function that SIM_FAULT=fail=... can make fail. */
#define CUPTI_MAY_FAIL()                                                                          \
	do {                                                                                      \
		uint32_t fault_ = cupti_driver() ? cupti_driver()->fault_result(__func__, 0) : 0; \
		if (fault_)                                                                       \
			return (CUptiResult)fault_;                                               \
	} while (0)

#define CUPTI_EXPORT SIM_EXPORT CUptiResult CUPTIAPI

#endif
