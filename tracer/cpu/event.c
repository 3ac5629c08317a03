/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - the other trigger of CPU samples: perf's clock of the thread, which counts its
 * processor time finer than the kernel's tick.
 *
 * The event is opened in a task with a descriptor table of its own: the program sees no
 * descriptor. A mapping of one page keeps the event; unmapping it ends the event. It counts in user
 * mode only, which needs no right, and its signal arrives where code of the program runs.
 */
#define _GNU_SOURCE
#include "tracer/cpu/event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "common/sys.h"
#include "tracer/base/unshared_fds.h"

#define PAGE_BYTES 4096u

struct opening {
	uint32_t tid;
	uint64_t period_ns;
	void *page;
	int error;
};

/* Have the kernel send SIGURG to the thread each time the event counts a period. Return 0 or a
 * negative errno. */
static int event_signal(int fd, uint32_t tid)
{
	const struct f_owner_ex owner = {F_OWNER_TID, (pid_t)tid};
	int error = (int)SYS3(SYS_fcntl, fd, F_SETOWN_EX, &owner);
	if (!error)
		error = (int)SYS3(SYS_fcntl, fd, F_SETSIG, SIGURG);
	return error ? error : (int)SYS3(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK);
}

static void open_event(void *argument)
{
	struct opening *o = argument;
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = o->period_ns,
		.exclude_kernel = 1,
		.exclude_hv = 1};
	int fd = (int)SYS5(SYS_perf_event_open, &attr, o->tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	o->error = fd < 0 ? fd : event_signal(fd, o->tid);
	if (o->error)
		return;
	long page = SYS6(SYS_mmap, NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page < 0 && page > -4096)
		o->error = (int)page;
	else
		o->page = (void *)(uintptr_t)page;
}

void *cpu_event_open(uint32_t tid, uint64_t period_ns, int *ret_error)
{
	struct opening o = {.tid = tid, .period_ns = period_ns};
	if (!unshared_fds_run(open_event, &o))
		o.error = -EAGAIN;
	*ret_error = o.error;
	return o.page;
}

void cpu_event_close(void *event)
{
	sys_munmap(event, PAGE_BYTES);
}
