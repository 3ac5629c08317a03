/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_spool.h - the OpenCL source's data in a spool, in addition to spool.h.
 *
 * The device's times of a command are as the driver gave them, with the readings of the system's
 * clocks that tell which clock they are of: the writer converts them.
 */
#ifndef COMMON_OPENCL_SPOOL_H
#define COMMON_OPENCL_SPOOL_H

#include <stdint.h>

/* Clocks that a driver may take times of commands from. */
enum opencl_clock {
	OPENCL_NO_TIMES,
	OPENCL_MONOTONIC_RAW,
	OPENCL_MONOTONIC,
	OPENCL_REALTIME,
	OPENCL_OTHER_CLOCK
};

/* Payload of REC_OPENCL_COMMAND. Texts are names, as in records. */
struct opencl_command {
	uint64_t call_tick, call_end_tick; /* of the call that enqueued it */
	uint64_t clock_tick;               /* when the clocks were read */
	uint64_t clock_ns[3];              /* enum opencl_clock, from OPENCL_MONOTONIC_RAW on */
	uint64_t queued, submitted, start, end; /* the device's; all 0 = not known */
	uint64_t queue, context, kernel, bytes;
	uint64_t global[3], local[3];
	uint32_t name, device_name;
	uint32_t type; /* cl_command_type */
	uint32_t operation, dimensions;
	uint32_t queue_number, context_number, device_number;
	uint32_t number; /* of the command */
	uint32_t tid;    /* of the call */
	int32_t status;
	uint32_t pad;
};

#endif
