/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_sim.h - the simulated libcupti. It opens libcuda.so.1 at the first call that needs it and
 * asks the driver to be notified of everything.
 */
#ifndef CUPTI_SIM_H
#define CUPTI_SIM_H

#include "tests/sim/sim.h"

#include <cupti.h>

/* Return the driver's table, or NULL if there is no libcuda or it is a real one. */
const struct sim_driver *cupti_driver(void);

/* Return what cuptiGetVersion returns; it decides the layout of records. 18: CUDA 11.8, 26:
 * 12.8, 130001: 13.0 Update 1. */
uint32_t cupti_version(void);

/* ---- callbacks (cupti_callbacks.c) ---- */
/* Return whether the thread is inside a callback of the client, where no call is reported. */
extern _Thread_local unsigned cupti_in_callback;
/* Return whether the thread is inside a callback other than of the driver or runtime API, where
 * flushing is forbidden. */
extern _Thread_local unsigned cupti_in_closed_callback;

/* ---- clock (cupti_clock.c) ---- */
/* Convert a time of the driver to the clock that the client registered (default:
 * CLOCK_REALTIME), linearly interpolated as CUPTI does. */
uint64_t cupti_time(uint64_t driver_ns);
/* Convert a time of a context: contexts that were created before a clock was registered keep the
 * default one. */
uint64_t cupti_time_in(uint32_t context, uint64_t driver_ns);
/* Read a new pair of both clocks. */
void cupti_clock_sample(void);

/* ---- activity (cupti_activity.c, cupti_buffers.c) ---- */
bool cupti_kind_on(CUpti_ActivityKind kind);
void cupti_op(const struct sim_op *op);
void cupti_api_record(const struct sim_call *call);
/* Write records of contexts, streams and modules. */
void cupti_resource_record(const struct sim_resource *resource);
void cupti_external_records(const struct sim_call *call);
/* Write the records of finished device operations to buffers. */
void cupti_collect(bool all);
uint32_t cupti_thread_id(void);

/* Append a record, given in the newest layout of `bytes`, with the length of its kind, to the
 * buffer of the thread or to the buffer for device operations. */
void cupti_put(const void *record, size_t bytes, bool of_device);
/* Count a record as dropped. */
void cupti_count_drop(void);
/* Return every begun buffer to the client. */
void cupti_flush_buffers(void);

/* Request a buffer from the client, with its size, and return it, or NULL. For recordings. */
uint8_t *cupti_ask_for_buffer(size_t *ret_bytes);
void cupti_hand_back(uint8_t *buffer, size_t bytes, size_t valid_bytes);

/* ---- profiler (cupti_profiler.c) ---- */
/* Count a kernel for the range profiler of its context, if there is one. */
void cupti_profiler_op(const struct sim_op *op);
enum { PROFILER_METRICS = 5 };
/* Values of ranges or samples, as a client allocates them. Ranges that a client pushed have the
 * names that it gave them; those of kernels are numbers. */
enum { PROFILER_NAMES = 512, PROFILER_NAME_BYTES = 24 };
struct profiler_image_of {
	uint64_t count;
	char names[PROFILER_NAMES][PROFILER_NAME_BYTES];
	double values[][PROFILER_METRICS];
};

/* ---- samples of counters (cupti_samples.c) ---- */
/* Count a kernel in the samples of its device, if it is sampled. */
void cupti_samples_op(const struct sim_op *op);

/* ---- recordings (cupti_replay.c) ---- */
/* Deliver the recorded buffers of SIM_REPLAY to the client, once. */
void cupti_replay(void);
/* Return the length of records of that kind in the recording, or 0 if it has none. */
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

/* Fill in the record of an operation, all fields of the newest layout. Return false if its kind is
 * disabled. */
bool cupti_record_of(const struct sim_op *op, union cupti_record *ret_record);

/* A kind that does not exist in any version: fault `unknown_every`. */
enum { CUPTI_SIM_UNKNOWN_KIND = 63, CUPTI_SIM_UNKNOWN_BYTES = 48 };

/* Return the length of a record of that kind in this version, or 0 if the kind is unknown. */
size_t cupti_record_bytes(CUpti_ActivityKind kind);

/* Return the error, if any, that SIM_FAULT=fail=... asks for: a function's first statement. */
#define CUPTI_MAY_FAIL()                                                                          \
	do {                                                                                      \
		uint32_t fault_ = cupti_driver() ? cupti_driver()->fault_result(__func__, 0) : 0; \
		if (fault_)                                                                       \
			return (CUptiResult)fault_;                                               \
	} while (0)

#define CUPTI_EXPORT SIM_EXPORT CUptiResult CUPTIAPI

#endif
