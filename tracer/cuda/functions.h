/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - the functions of the CUDA APIs by CUPTI's numbers: names, and the treatment of
 * their calls; and the ids of calls that were recorded.
 */
#ifndef TRACER_CUDA_FUNCTIONS_H
#define TRACER_CUDA_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct name;

enum treatment {
	TREAT_UNKNOWN = 0, /* the function has not been seen yet */
	TREAT_RECORD,
	TREAT_COUNT, /* calls are only counted */
	TREAT_FLUSH, /* ends a context: its records are fetched from CUPTI first */
	TREAT_START, /* starts the program's own profiling window */
	TREAT_STOP   /* ends that window */
};

enum launch {
	LAUNCH_NONE = 0,
	LAUNCH_KERNEL,
	LAUNCH_GRAPH,
	LAUNCH_CAPTURE_BEGINS, /* launches in a stream are captured from now on, */
	LAUNCH_CAPTURE_ENDS    /* or no longer: functions of the driver */
};

struct function {
	struct name *name;
	uint8_t treatment;
	uint8_t class;    /* enum chain_class */
	uint16_t counted; /* index in cuda_page.counted */
	uint8_t memory;   /* enum memory_call */
	uint8_t launch;   /* enum launch */
};

/* Map the memory, which only programs with CUDA have. Once, before any other function. Return
 * false without memory. */
bool cuda_functions_start(void);

/* Forget, in a forked child, what refers to the parent's spool. */
void cuda_functions_forked(void);

/* Return the function `cbid` of `domain` (CUPTI_RUNTIME_API, CUPTI_DRIVER_API); its treatment is
 * TREAT_UNKNOWN until cuda_function_learn(). Any thread. */
struct function *cuda_function_at(uint32_t domain, uint32_t cbid);

/* Ask CUPTI for the function's name and decide on its treatment. If the lock is not available, the
 * function stays unknown, and this call has no name. Any thread, with a lane and thread.busy
 * set. */
void cuda_function_learn(struct function *f, uint32_t domain, uint32_t cbid);

/* Remember, for the last million calls, whether events were recorded at the time of the call. */
void cuda_call_set_recorded(uint32_t correlation, bool recorded);
bool cuda_call_is_recorded(uint32_t correlation);

#endif
