/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patience.h - how long a program may be held up by a writer that does not work.
 *
 * A thread whose lane is full waits for the writer. Waits for one that is stuck (stopped, a slow
 * disk), and waits in vain, cost a process PATIENCE_NS in all: each may take half of what is left
 * of that, so they become shorter and then none, and what has no room is dropped and counted.
 * Waiting for a writer at work until it makes room is not charged. Once nothing is left, waits
 * begin again only when the writer has been at work since: it has written 64 blocks, after the next
 * time 128, and so on. Each wait is bounded by the clock and by a number of rounds. Any thread;
 * allocates nothing.
 */
#ifndef TRACER_PATIENCE_H
#define TRACER_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define PATIENCE_NS 1000000000u     /* of a process, with a writer that does not work */
#define PATIENCE_ONCE_NS 400000000u /* of one wait, whatever the writer does */
#define PATIENCE_ROUND_NS 50000u    /* between two looks: what a round sleeps at least */

struct patience { /* of one wait */
	uint64_t begin_ns, quiet_since_ns, allowed_ns;
	uint32_t rounds, quiet_rounds; /* in all, and since the writer was last seen at work */
	uint32_t blocks;               /* control.blocks then */
};

/* False where no wait is due. */
bool patience_begin(struct patience *p);

/* After a round: may there be another? */
bool patience_left(struct patience *p);

/* The wait is over, with or without what was waited for. */
void patience_end(struct patience *p, bool in_vain);

/* In a new process. */
void patience_renew(void);

#endif
