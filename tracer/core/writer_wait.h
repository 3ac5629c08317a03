/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_wait.h - bounded waiting for the writer.
 *
 * A thread whose lane is full waits for the writer. Waits for a writer that is stuck (stopped, a
 * slow disk), and waits in vain, cost a process WRITER_WAIT_TOTAL_NS in all: each may take half of
 * what is left of that, so they become shorter and then none, and events without room are dropped
 * and counted. Waiting for a working writer is not charged. Once nothing is left, waits begin again
 * only when the writer has written 64 blocks since, the next time 128, and so on. Each wait is
 * bounded by the clock and by a number of rounds. Any thread; no allocation.
 */
#ifndef TRACER_CORE_WRITER_WAIT_H
#define TRACER_CORE_WRITER_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#define WRITER_WAIT_TOTAL_NS 1000000000u /* all waits of a process for a stuck writer */
#define WRITER_WAIT_ONCE_NS 400000000u   /* limit of one wait, whatever the writer does */
#define WRITER_WAIT_ROUND_NS 50000u      /* the least sleep of a round */

struct writer_wait { /* state of one wait */
	uint64_t begin_ns, quiet_since_ns, allowed_ns;
	uint32_t rounds, quiet_rounds; /* in total; since the writer was last seen at work */
	uint32_t blocks;               /* control.blocks at that time */
};

/* Begin a wait. Return false if none is allowed. */
bool writer_wait_begin(struct writer_wait *p);

/* Return true if another round may follow. */
bool writer_wait_goes_on(struct writer_wait *p);

/* End the wait; `in_vain`: there is still no room. */
void writer_wait_end(struct writer_wait *p, bool in_vain);

/* Reset all in a new process. */
void writer_wait_reset(void);

#endif
