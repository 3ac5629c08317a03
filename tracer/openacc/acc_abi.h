/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acc_abi.h - the OpenACC Profiling Interface: its structures on a 64-bit machine (OpenACC 2.6,
 * chapter 5, published by openacc-standard.org), and the members that a runtime says are valid.
 */
#ifndef TRACER_OPENACC_ACC_ABI_H
#define TRACER_OPENACC_ACC_ABI_H

#include <stddef.h>
#include <stdint.h>

struct acc_prof_info {
	int32_t event, valid_bytes, version, device_type, device_number, thread;
	int64_t async, queue;
	const char *file, *function;
	int32_t line, end_line, function_line, function_end_line;
};

/* The first members of all kinds; then those of data and of launches. */
struct acc_event_info {
	int32_t event, valid_bytes, construct, implicit;
	void *tool;
	union {
		struct {
			const char *variable;
			uint64_t bytes;
			const void *host, *device;
		} data;
		struct {
			const char *kernel;
			uint64_t gangs, workers, vector_length;
		} launch;
	};
};

_Static_assert(sizeof(struct acc_prof_info) == 72 && sizeof(struct acc_event_info) == 56,
	"as compilers of C lay them out");

/* Return true if the runtime has filled the member in. */
#define ACC_HAS(info, member)             \
	((uint32_t)(info)->valid_bytes >= \
		offsetof(__typeof__(*(info)), member) + sizeof((info)->member))

typedef void acc_callback(
	const struct acc_prof_info *info, const struct acc_event_info *event, const void *api);
typedef void acc_register(int event, acc_callback *callback, int how);

#endif
