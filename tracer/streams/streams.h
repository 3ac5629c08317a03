/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.h - what the program writes to standard output and error, as records.
 *
 * Nothing is put between the program and its descriptors: inject/streams.c calls streams_wrote()
 * after a successful write. Any thread; async-signal-safe; raw system calls only, and none unless
 * a descriptor may have been replaced since the last record.
 */
#ifndef TRACER_STREAMS_STREAMS_H
#define TRACER_STREAMS_STREAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

/* Record that `bytes` bytes of `data`, which the kernel has just read there, were written to the
 * descriptor. Does nothing unless it is 1 or 2. */
void streams_wrote(int fd, const void *data, uint64_t bytes);

/* The same for the first `bytes` bytes of a vector. */
void streams_wrote_vector(int fd, const struct iovec *vector, int count, uint64_t bytes);

/* Note that the descriptor may lead to something else now; -1 = any may. */
void streams_replaced(int fd);

/* Return true if descriptor n + 1 does not lead to what it led to at the start. One system call if
 * it may have been replaced. */
bool stream_is_redirected(unsigned n);

/* Note that what the C library's stdio writes cannot be seen. Once, at the start. */
void streams_without_stdio(void);

#endif
