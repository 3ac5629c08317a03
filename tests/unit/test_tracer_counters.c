/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_counters.c - tests of the counters of instructions and cycles, with the kernel's part
 * made by the test: what is read from a page, when it is not known, and what a refusal leaves.
 */
#define _GNU_SOURCE
#include "tracer/sched/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/sys.h"
#include "machine/machine.h"
#include "tap.h"

#define LANE 3u

static struct perf_event_mmap_page *pages[2]; /* of cycles, instructions */
static int refuses[2];                        /* errno of each event; 0 = it can be opened */
static bool is_readable = true;
static unsigned opened;

/* Open an event whose page the test has, too. */
static bool make_event(long number, const long argument[6], long *ret_result)
{
	if (number != SYS_perf_event_open)
		return false;
	const struct perf_event_attr *attr = (const void *)argument[0];
	unsigned event = attr->config == PERF_COUNT_HW_INSTRUCTIONS;
	*ret_result = -refuses[event];
	if (refuses[event])
		return true;
	int fd = (int)syscall(SYS_memfd_create, "event", 0);
	if (fd < 0 || ftruncate(fd, MACHINE_PAGE_MAX))
		return false;
	pages[event] = mmap(NULL, MACHINE_PAGE_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pages[event]->cap_user_rdpmc = is_readable;
	pages[event]->time_enabled = pages[event]->time_running = 50;
	pages[event]->offset = event ? 700 : 300;
	opened++;
	*ret_result = fd;
	return true;
}

static bool is_known(void)
{
	struct counters counters;
	return counters_read(LANE, false, &counters);
}

static void counts_are_read(void)
{
	struct counters counters = {0, 0};
	check(counters_open(LANE, 1) == 0, "both events are opened");
	check(counters_read(LANE, false, &counters) && counters.cycles == 300 &&
			counters.instructions == 700,
		"the counts of a thread that does not run are those of its pages");
	check(!counters_read(LANE, true, &counters),
		"the calling thread has none, if its events are not on the processor");
	pages[1]->index = 1;
	check(!is_known(), "a thread that runs meanwhile has none");
	pages[1]->index = 0;
	pages[0]->time_running = 49;
	check(!is_known(), "nor one whose events had to give place to others");
	pages[0]->time_running = 50;
	pages[1]->lock = 7;
	check(!is_known(), "nor one whose page the kernel is changing");
	pages[1]->lock = 8;
	check(is_known(), "that changes nothing for later");
	counters_close(LANE);
	check(!is_known(), "a thread that has ended has none");
	counters_close(LANE);
}

static void a_forked_child_has_none(void)
{
	check(counters_open(LANE, 1) == 0, "opened again");
	counters_forked();
	check(!is_known(), "a forked child forgets them");
}

static void refusals_leave_nothing(void)
{
	refuses[0] = EACCES;
	check(counters_open(LANE, 1) == -EACCES, "the first event is refused");
	check(!is_known(), "and not read");
	refuses[0] = 0;
	refuses[1] = ENOENT;
	check(counters_open(LANE, 1) == -ENOENT, "the second event is refused");
	check(!is_known(), "and the first is not read");
	refuses[1] = 0;
	is_readable = false;
	check(counters_open(LANE, 1) == -EOPNOTSUPP, "counters that need a system call are left");
	check(!is_known(), "and not read");
	check(opened == 7, "each event was opened");
}

int main(void)
{
	if (!MACHINE_COUNTS) {
		check(counters_open(LANE, 1) == -EOPNOTSUPP, "this machine has no counters");
		return tap_done();
	}
	sys_override = make_event;
	counts_are_read();
	a_forked_child_has_none();
	refusals_leave_nothing();
	return tap_done();
}
