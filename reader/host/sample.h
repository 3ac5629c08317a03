/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.h - samples of the machine, ten times a second, as records for the writer
 * (common/machine/record.h).
 *
 * A read of a file of /sys, or a question to NVML, may hang in a driver. So GPUs, InfiniBand, and
 * the rest are sampled by a process each, and what hangs holds up nothing else. A process ends with
 * the one that started it.
 */
#ifndef READER_HOST_SAMPLE_H
#define READER_HOST_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/machine/record.h"

/* What is sampled, and from where. */
struct sample_source {
	const char *nvml; /* library to load */
	const char *root; /* put before /sys and /proc; "" but in tests */
};

/* Write samples to standard output, as long as they are read: of GPUs; of network interfaces of
 * InfiniBand; of other network interfaces and the CPUs. Return if there is nothing to sample. */
void sample_gpus(const struct sample_source *source);
void sample_infiniband(const struct sample_source *source);
void sample_host(const struct sample_source *source);

/* ---- for the samplers ---- */

/* Return CLOCK_MONOTONIC. */
uint64_t sample_now_ns(void);

/* Sleep until the next turn. */
void sample_wait(void);

/* Set a value, unless it is above `most`: what a driver then reports is not a measurement. */
void sample_set(struct machine_record *r, uint32_t index, uint64_t value, uint64_t most);

/* Write a record. Return false if the pipe is full; unless the record is of an interface, which
 * counts on, it is then counted as lost. End the process if nobody reads the pipe. */
bool sample_put(const struct machine_record *r);

/* Read a file as a text, cut to `bytes` - 1. Do not wait for data, as of a pipe. Return false if it
 * cannot be read or is empty. */
bool sample_read(const char *path, char *ret_text, size_t bytes);

/* Read the number at the start of a file. Return false if there is none. */
bool sample_read_number(const char *path, uint64_t *ret_number);

#endif
