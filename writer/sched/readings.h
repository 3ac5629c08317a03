/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readings.h - readings of the kernel's counters of threads: those that threads recorded
 * themselves, and those that the writer takes from /proc while they live.
 *
 * For the contracts of records and lane ends, see lane/segment.h and lane/ending.h. One thread.
 */
#ifndef WRITER_SCHED_READINGS_H
#define WRITER_SCHED_READINGS_H

#include "writer/lane/ending.h"
#include "writer/lane/segment.h"

record_put thread_time_put;
lane_end_put thread_time_end_put;

/* Read the counters of all threads that are due. Takes at most a thousandth of the elapsed time.
 * Return 0, or a negative errno if the block is full and cannot be written. */
int readings_look(struct writer *w, uint64_t now_ns);

/* Read the counters of the threads of a process that waits for the writer before it ends. Return as
 * above. */
int readings_last(struct writer *w, struct spool *spool, uint64_t now_ns);

#endif
