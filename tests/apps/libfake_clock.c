/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfake_clock.c - a library to preload beside the tracer: a clock_gettime() that returns another
 * time, as libfaketime's does.
 *
 * FAKE_CLOCK selects the time: "frozen", "behind" (by 1,000 s), "stepping" (back by 1,000 s and
 * ahead again, from call to call); without it the time is the kernel's. Each call reads it by
 * getenv(), a function that the tracer wraps, so the tracer must not call this clock within its own
 * work.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BEHIND_S 1000

static struct timespec frozen;

int clock_gettime(clockid_t id, struct timespec *ret_time)
{
	static unsigned calls;
	if (syscall(SYS_clock_gettime, id, ret_time))
		return -1;
	const char *what = getenv("FAKE_CLOCK");
	if (!what)
		return 0;
	if (!strcmp(what, "frozen")) {
		if (!frozen.tv_sec)
			frozen = *ret_time;
		*ret_time = frozen;
	}
	if (!strcmp(what, "behind") ||
		(!strcmp(what, "stepping") && __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) & 1))
		ret_time->tv_sec -= ret_time->tv_sec > BEHIND_S ? BEHIND_S : 0;
	return 0;
}
