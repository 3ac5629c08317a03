/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.h - records of threads, and of the processes that they start.
 *
 * The record_put functions follow the contract of lane/segment.h, thread_end_of_dead_put() that of
 * lane/ending.h.
 */
#ifndef WRITER_LANE_THREADS_H
#define WRITER_LANE_THREADS_H

#include "writer/lane/ending.h"
#include "writer/lane/segment.h"

record_put thread_start_put, thread_end_put, thread_name_put, child_put, exec_put, waited_put;
lane_end_put thread_end_of_dead_put;

/* Set the thread of the lane to the thread that the lane names now, for records of a thread whose
 * start was not read. */
void thread_guess(struct segment *s);

#endif
