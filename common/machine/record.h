/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - records that libtrace-host writes to its standard output, a pipe to the
 * writer: samples of the machine. A record is written whole or not at all.
 */
#ifndef COMMON_MACHINE_RECORD_H
#define COMMON_MACHINE_RECORD_H

#include <stdint.h>

#define MACHINE_VALUES_MAX 12u
#define MACHINE_NAME_BYTES 64u
#define MACHINE_PERIOD_NS UINT64_C(100000000)

enum machine_record_kind {
	MACHINE_GPU_ASKED = 1, /* NVML was loaded, and is asked for the first time */
	MACHINE_LOST,          /* values[0] records were not written: the pipe was full */
	MACHINE_GPU_DEVICE,    /* device; name, uuid and bus */
	MACHINE_GPU_SAMPLE,    /* device; values are the fields from UTILIZATION on */
	MACHINE_NIC_SAMPLE,    /* device: the port; name; values are the fields from LINK on */
	MACHINE_HOST_SAMPLE,   /* values are the fields from BUSY on */
	MACHINE_KINDS
};

/* Texts end with NUL, but may hold any other byte. */
struct machine_record {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint64_t duration_ns;
	uint32_t kind;
	uint32_t device;
	uint64_t reported; /* bit i: values[i] is known */
	uint64_t values[MACHINE_VALUES_MAX];
	char name[MACHINE_NAME_BYTES], uuid[MACHINE_NAME_BYTES], bus[MACHINE_NAME_BYTES];
};

#endif
