/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated libcudart: opens libcuda.so.1 at the first call, as the real one does, and does
 * everything by calls of the driver API, so that each runtime call has driver calls inside. */
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

/* The driver's functions; NULL where there is no libcuda. Any thread. */
const struct driver_functions *driver(void);

/* What generated functions call around the work; without a driver sim_leave says "insufficient
 * driver". */
void sim_enter(struct sim_call *call);
uint32_t sim_leave(struct sim_call *call, uint32_t result);

/* The context of the thread's current device is made and current; called by all that needs one. */
cudaError_t runtime_ready(void);

/* A driver's result as one of the runtime: the numbers are the same for those that happen here,
 * besides two. */
cudaError_t runtime_error(CUresult result);

int runtime_device(void);
uint64_t runtime_option(enum sim_option option);

/* The kernel behind the host function that nvcc registered, loaded into the current context; NULL:
 * none. */
CUfunction runtime_function(const void *host_function);
const char *runtime_function_name(const void *host_function);

#define NEED_CONTEXT()                               \
	do {                                         \
		cudaError_t ready = runtime_ready(); \
		if (ready != cudaSuccess)            \
			return ready;                \
	} while (0)

#endif
