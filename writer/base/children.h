/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.h - processes that keep a tree alive although they have no spool: forked children that
 * have made no traced call yet, programs between an exec and their first call, the first process.
 *
 * Each is identified by a pidfd; a process beyond PIDFDS_MAX, or whose pidfd cannot be opened, by
 * its pid and start time. Processes that have ended are dropped when the list has grown to twice
 * its size after the last sweep. All zero = empty. One thread; allocates.
 */
#ifndef WRITER_BASE_CHILDREN_H
#define WRITER_BASE_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>

struct child {
	uint32_t pid;
	int pidfd;         /* -1 = none */
	uint64_t start_ns; /* as in /proc; 0 = not known */
};

struct children {
	struct child *list;
	uint32_t count, capacity;
	uint32_t pidfds;   /* number of open pidfds */
	uint32_t sweep_at; /* count at which processes that have ended are dropped */
};

/* Keep the tree alive until this process has ended or is forgotten. A process that started before
 * `earliest_ns`, or later than `latest_ns`, is not the one that was meant, and is not watched.
 * Return 0, or -ENOMEM: the process is not watched. */
int children_watch(struct children *c, uint32_t pid, uint64_t earliest_ns, uint64_t latest_ns);

/* Stop watching the process, because its spool has been found. */
void children_forget(struct children *c, uint32_t pid);

/* Return true if one of the processes is alive. Drops those that have ended. */
bool children_live(struct children *c);

void children_release(struct children *c);

#endif
