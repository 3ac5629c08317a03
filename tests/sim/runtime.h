/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - the simulated libcudart. It opens libcuda.so.1 at the first call, as the real one
 * does, and implements everything by calls of the driver API, so that each runtime call has driver
 * calls inside.
 */
#ifndef SIM_RUNTIME_H
#define SIM_RUNTIME_H

#include "tests/sim/sim.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

/* As in cudaProfiler.h, which is not in every set of headers. */
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);

struct driver_functions {
#define X(name) __typeof__(&name) name;
#include "tests/sim/driver_functions.def"
#undef X
};

/* Return the driver's functions, or NULL if there is no libcuda. Thread-safe. */
const struct driver_functions *driver(void);

/* The functions that generated functions call before and after the work; without a driver sim_leave
 * returns "insufficient driver". */
void sim_enter(struct sim_call *call);
uint32_t sim_leave(struct sim_call *call, uint32_t result);

/* Create the context of the thread's current device and make it current; called by all functions
 * that need one. */
cudaError_t runtime_ready(void);

/* Convert a driver's result to a runtime result: the numbers are the same for the results that
 * occur here, except two. */
cudaError_t runtime_error(CUresult result);

int runtime_device(void);
uint64_t runtime_option(enum sim_option option);

/* Return the kernel of the host function that nvcc registered, loaded into the current context, or
 * NULL if there is none. */
CUfunction runtime_function(const void *host_function);
const char *runtime_function_name(const void *host_function);

#define NEED_CONTEXT()                               \
	do {                                         \
		cudaError_t ready = runtime_ready(); \
		if (ready != cudaSuccess)            \
			return ready;                \
	} while (0)

#endif
