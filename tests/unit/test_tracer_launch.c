/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the writer cannot be started, the program's errno stays: a forked child starts one in the
 * middle of a call of the program's.
 */
#define _GNU_SOURCE
#include "tracer/launch.h"

#include <errno.h>
#include <sched.h>

#include "tap.h"

int (*launch_clone)(int (*)(void *), void *, int, void *, ...);

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
	check(result < 0 && calls == (call > 2 ? 2 : call), "%s: that is told: %d, %d calls", name,
		result, calls);
	check(after == 7, "%s: errno stays: %d", name, after);
}

int main(void)
{
	launch_clone = clone_or_fail;
	fails(1, "no process in the middle");
	fails(2, "no process for the writer");
	fails(3, "no program of the writer");
	return tap_done();
}
