/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waited.h - children that processes of the tree have waited for: when, and how they ended.
 *
 * The latest are kept, a row per remainder of the pid. A process may claim any: the time is used as
 * a bound of an end that the writer itself has found, and the status where the kernel does not
 * report it. All zero = empty. One thread.
 */
#ifndef WRITER_BASE_WAITED_H
#define WRITER_BASE_WAITED_H

#include <stddef.h>
#include <stdint.h>

#include "writer/spool/spools.h"

#define WAITED_KEPT 1024u

struct waited {
	uint32_t pid; /* 0 = none */
	int32_t status;
	uint64_t tick; /* when the call returned */
	uint64_t ns;   /* ... as a time */
	uint64_t pid_namespace;
};

/* Return the row of a pid, which may be of another pid. */
static inline struct waited *waited_row(struct waited *rows, uint32_t pid)
{
	return &rows[pid % WAITED_KEPT];
}

/* Return what is known of the process of a spool; NULL = nobody is known to have waited for it. */
static inline const struct waited *waited_for(struct waited *rows, const struct spool *spool)
{
	const struct waited *row = waited_row(rows, spool->pid);
	return row->pid == spool->pid && row->pid_namespace == spool->pid_namespace &&
			row->tick >= spool_header(spool)->first.tick
		? row
		: NULL;
}

#endif
