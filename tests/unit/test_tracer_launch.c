/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_launch.c - checks that the program's errno stays unchanged if the writer cannot be
 * started.
 *
 * A forked child starts one in the middle of a call of the program.
 */
#define _GNU_SOURCE
#include "tracer/base/launch.h"

#include <errno.h>
#include <sched.h>

#include "tap.h"

static volatile int calls, failing_call;

/* The second call is made by the child of the first, which runs on this memory. */
static int clone_or_fail(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
	if (++calls != failing_call)
		return clone(function, stack, flags, argument);
	errno = ENOMEM;
	return -1;
}

static void fails(int call, const char *name)
{
	calls = 0;
	failing_call = call;
	errno = 7;
	int result = launch_writer("/nonexistent", "/nonexistent", 2);
	int after = errno;
	check(result < 0 && calls == (call > 2 ? 2 : call),
		"%s: the failure is reported: %d, %d calls", name, result, calls);
	check(after == 7, "%s: errno stays unchanged: %d", name, after);
}

int main(void)
{
	launch_clone = clone_or_fail;
	fails(1, "no process in the middle");
	fails(2, "no process for the writer");
	fails(3, "no program of the writer");
	return tap_done();
}
