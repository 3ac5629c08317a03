/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switches.h - context switches of threads, recorded by the kernel (perf_event_open).
 *
 * The writer opens an event for each thread, so the program makes no system call and sees no
 * descriptor. The kernel writes the switches to a ring that the writer has mapped; they survive the
 * thread. Switches before the writer has found the thread are not recorded. One thread.
 */
#ifndef WRITER_SCHED_SWITCHES_H
#define WRITER_SCHED_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "writer/lane/ending.h"

/* Open events for new threads, and add the rows of the switches since the last call. Set *ret_busy
 * if a ring had a quarter of its records: call again soon, before records are lost. Return 0, or a
 * negative errno if the block is full and cannot be written. */
int switches_look(struct writer *w, bool *ret_busy);

/* Add the rows of the last switches of the thread. */
lane_end_put switches_end_put;

#endif
