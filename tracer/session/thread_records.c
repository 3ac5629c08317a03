/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_records.c - records of a thread about itself: its start and its name.
 */
#define _GNU_SOURCE
#include "tracer/session/thread_records.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/lane.h"
#include "tracer/core/state.h"

uint32_t thread_names_given;

/* Return 20 plus the nice value of this thread. The system call returns 20 less the nice value. */
static uint32_t priority_now(void)
{
	long result = SYS2(SYS_getpriority, PRIO_PROCESS, 0);
	return result > 0 && result <= 40 ? (uint32_t)(40 - result) : 0;
}

void thread_put_start(struct thread *t, uint32_t pid, uint32_t tid, uint32_t flags)
{
	struct thread_start start = {
		.parent_tid = t->parent_tid, .parent_pid = session.pid, .flags = flags};
	if (!session.restricted && !(flags & THREAD_RESUMED))
		start.priority = priority_now();
	if (!t->name[0]) { /* else the creator's name, passed on */
		t->names_given = __atomic_load_n(&thread_names_given, __ATOMIC_RELAXED);
		SYS2(SYS_prctl, PR_GET_NAME, t->name);
	}
	bytes_copy(start.name, t->name, sizeof(t->name));
	lane_put(t, clock_ticks(), REC_THREAD_START, tid, pid, &start, sizeof(start));
}

void thread_put_name(struct thread *t, const char *name)
{
	uint64_t words[2] = {0, 0};
	text_append((char *)words, sizeof(words), 0, name);
	bytes_copy(t->name, words, sizeof(t->name));
	lane_put(t, clock_ticks(), REC_THREAD_NAME, words[0], words[1], NULL, 0);
}
