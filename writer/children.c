/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.c - processes that keep a tree alive although they have no spool: forked children that
 * have not called anything yet, programs between an exec and their first call, the first process.
 *
 * Each is known by a pidfd, or beyond PIDFDS_MAX, and where there is none to be had, by its number
 * and the time it started. What has ended is forgotten when the list has grown to twice of what
 * lived at the last look.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/array.h"
#include "writer/writer.h"

#define PIDFDS_MAX 512u /* the others of our descriptors are for spools */
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

static void child_drop(struct writer *w, uint32_t index)
{
	if (w->children[index].pidfd >= 0) {
		close(w->children[index].pidfd);
		w->child_pidfds--;
	}
	w->children[index] = w->children[--w->child_count];
}

static void sweep(struct writer *w)
{
	for (uint32_t i = w->child_count; i-- > 0;)
		if (!is_alive(&w->children[i]))
			child_drop(w, i);
	w->child_sweep = w->child_count * 2 > SWEEP_FIRST ? w->child_count * 2 : SWEEP_FIRST;
}

void child_watch(struct writer *w, uint32_t pid, uint64_t latest_start_ns)
{
	struct child child = {.pid = pid, .pidfd = -1};
	char state;
	if (!pid || w->recovering || (kill((pid_t)pid, 0) && errno == ESRCH))
		return;
	if (w->child_count >= w->child_sweep)
		sweep(w);
	if (array_room(&w->children, w->child_count, &w->child_capacity, sizeof(*w->children))) {
		writer_note(w, pid, w->now.mono_ns,
			"no memory to wait for this process: it may be missing");
		return;
	}
	if (w->child_pidfds < PIDFDS_MAX)
		child.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (process_stat(pid, &state, &child.start_ns))
		child.start_ns = 0; /* cannot be asked */
	w->child_pidfds += child.pidfd >= 0;
	w->children[w->child_count++] = child;
	if (child.start_ns > latest_start_ns && child.start_ns - latest_start_ns > START_SLACK_NS)
		child_drop(w, w->child_count - 1); /* its number is another one's by now */
}

void children_forget(struct writer *w, uint32_t pid)
{
	for (uint32_t i = w->child_count; i-- > 0;)
		if (w->children[i].pid == pid)
			child_drop(w, i);
}

bool children_live(struct writer *w)
{
	while (w->child_count) {
		if (is_alive(&w->children[w->child_count - 1]))
			return true;
		child_drop(w, w->child_count - 1);
	}
	return false;
}

void children_release(struct writer *w)
{
	while (w->child_count)
		child_drop(w, w->child_count - 1);
	free(w->children);
	w->children = NULL;
}
