/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_launch.c - checks that the program's errno stays unchanged if the writer cannot be
 * started.
 *
 * A forked child starts a writer within a call of the program.
 */
#define _GNU_SOURCE
#include "tracer/base/launch.h"

#include <errno.h>
#include <sched.h>

#include "tap.h"

static volatile int calls, failing_call;

/* The child of the first call makes the second one. It shares this memory. */
static int clone_or_fail(int (*function)(void *), void *stack, int flags, void *argument)
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
	fails(1, "the intermediate process cannot be created");
	fails(2, "the writer's process cannot be created");
	fails(3, "the writer's program cannot be executed");
	return tap_done();
}
