/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_bounded_lock.c - tests of the bounded lock: if its holder does not release it,
 * waiters wait once, not twice; after a late release it can be taken again.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/sys.h"
#include "tap.h"
#include "tracer/core/bounded_lock.h"

static uint32_t lock, sleeps;

static bool count_sleeps(long number, const long argument[6], long *ret_result)
{
	(void)argument, (void)ret_result;
	if (number == SYS_nanosleep || number == SYS_clock_nanosleep)
		__atomic_add_fetch(&sleeps, 1, __ATOMIC_RELAXED);
	return false;
}

/* Release the lock when somebody has waited for it. */
static void *hold_for_a_while(void *unused)
{
	while (!__atomic_load_n(&sleeps, __ATOMIC_ACQUIRE))
		usleep(100);
	bounded_lock_give(&lock);
	return unused;
}

int main(void)
{
	pthread_t thread;
	sys_override = count_sleeps;
	check(bounded_lock_take(&lock) && !sleeps, "a free lock is taken at once");
	if (pthread_create(&thread, NULL, hold_for_a_while, NULL))
		return 1;
	while (!bounded_lock_take(&lock)) /* the holder may be off the processor for long */
		usleep(100);
	check(sleeps != 0, "a held lock is waited for");
	pthread_join(thread, NULL);
	sleeps = 0;
	check(!bounded_lock_take(&lock) && sleeps, "the wait for a lock that is not released ends");
	sleeps = 0;
	check(!bounded_lock_take(&lock) && !sleeps,
		"a lock that was not released is not waited for again");
	bounded_lock_give(&lock);
	check(bounded_lock_take(&lock) && !sleeps,
		"a lock that is released after all can be taken again");
	return tap_done();
}
