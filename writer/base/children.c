/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.c - processes that keep a tree alive although they have no spool.
 */
#define _GNU_SOURCE
#include "writer/base/children.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/array.h"
#include "writer/spool/liveness.h"

#define PIDFDS_MAX 512u /* the other descriptors are for spools */
#define SWEEP_FIRST 64u
#define START_SLACK_NS UINT64_C(50000000) /* /proc counts start times in 10 ms */

static bool is_alive(const struct child *c)
{
	struct pollfd poll_fd = {c->pidfd, POLLIN, 0};
	uint64_t start_ns;
	char state;
	if (c->pidfd >= 0)
		return poll(&poll_fd, 1, 0) == 0;
	if (kill((pid_t)c->pid, 0) && errno == ESRCH)
		return false;
	return process_stat(c->pid, &state, &start_ns) || !c->start_ns ||
		(state != 'Z' && state != 'X' && start_ns == c->start_ns);
}

static void child_drop(struct children *c, uint32_t index)
{
	if (c->list[index].pidfd >= 0) {
		close(c->list[index].pidfd);
		c->pidfds--;
	}
	c->list[index] = c->list[--c->count];
}

static void sweep(struct children *c)
{
	for (uint32_t i = c->count; i-- > 0;)
		if (!is_alive(&c->list[i]))
			child_drop(c, i);
	c->sweep_at = c->count * 2 > SWEEP_FIRST ? c->count * 2 : SWEEP_FIRST;
}

/* Return true if the process may have started in that time. */
static bool began_between(const struct child *child, uint64_t earliest_ns, uint64_t latest_ns)
{
	uint64_t start_ns = child->start_ns;
	return !start_ns ||
		(start_ns + START_SLACK_NS >= earliest_ns &&
			(start_ns <= latest_ns || start_ns - latest_ns <= START_SLACK_NS));
}

int children_watch(struct children *c, uint32_t pid, uint64_t earliest_ns, uint64_t latest_ns)
{
	struct child child = {.pid = pid, .pidfd = -1};
	char state;
	if (!pid || (kill((pid_t)pid, 0) && errno == ESRCH))
		return 0;
	if (c->count >= c->sweep_at)
		sweep(c);
	if (array_room(&c->list, c->count, &c->capacity, sizeof(*c->list)))
		return -ENOMEM;
	if (c->pidfds < PIDFDS_MAX)
		child.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (process_stat(pid, &state, &child.start_ns))
		child.start_ns = 0; /* not known */
	c->pidfds += child.pidfd >= 0;
	c->list[c->count++] = child;
	if (!began_between(&child, earliest_ns, latest_ns))
		child_drop(c, c->count - 1);
	return 0;
}

void children_forget(struct children *c, uint32_t pid)
{
	for (uint32_t i = c->count; i-- > 0;)
		if (c->list[i].pid == pid)
			child_drop(c, i);
}

bool children_live(struct children *c)
{
	while (c->count) {
		if (is_alive(&c->list[c->count - 1]))
			return true;
		child_drop(c, c->count - 1);
	}
	return false;
}

void children_release(struct children *c)
{
	while (c->count)
		child_drop(c, c->count - 1);
	free(c->list);
	c->list = NULL;
}
