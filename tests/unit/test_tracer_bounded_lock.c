/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that is not given back holds nobody up twice, and can be had again when it is given back
 * after all.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/sys.h"
#include "tap.h"
#include "tracer/bounded_lock.h"

/* preload.c gives it; here no writer is ever started. */
int (*launch_clone)(int (*)(void *), void *, int, void *, ...);

static uint32_t lock, sleeps;

static bool count_sleeps(long number, const long argument[6], long *ret_result)
{
	(void)argument, (void)ret_result;
	if (number == SYS_nanosleep || number == SYS_clock_nanosleep)
		__atomic_add_fetch(&sleeps, 1, __ATOMIC_RELAXED);
	return false;
}

/* Gives the lock back when somebody has waited for it. */
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
	check(bounded_lock_take(&lock) && !sleeps, "a free one is had at once");
	if (pthread_create(&thread, NULL, hold_for_a_while, NULL))
		return 1;
	while (!bounded_lock_take(&lock)) /* its holder may be off the processor for long */
		usleep(100);
	check(sleeps != 0, "one that is held is waited for");
	pthread_join(thread, NULL);
	sleeps = 0;
	check(!bounded_lock_take(&lock) && sleeps, "not for ever");
	sleeps = 0;
	check(!bounded_lock_take(&lock) && !sleeps, "and not again");
	bounded_lock_give(&lock);
	check(bounded_lock_take(&lock) && !sleeps, "given back after all, it is to be had");
	return tap_done();
}
