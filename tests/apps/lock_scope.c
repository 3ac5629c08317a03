/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_scope.c - two threads that share a lock, which may be held longer than is necessary
 * (tests/proof/functions.py).
 *
 *     lock_scope narrow|wide ROUNDS
 *
 * In each round a thread updates what the lock protects, and waits 300 us for a device: after it
 * has released the lock, or ("wide") while it holds it. Both do the same work.
 */
#include "app.h"

#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long table[512];
static int rounds, is_wide;

static void device_wait(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
}

static void update(void)
{
	for (int pass = 0; pass < 100; pass++)
		for (int i = 0; i < 512; i++)
			table[i] += (unsigned long)i;
}

static void *work(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock);
		update();
		if (is_wide)
			device_wait();
		pthread_mutex_unlock(&lock);
		if (!is_wide)
			device_wait();
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t other;
	is_wide = argc > 1 && !strcmp(argv[1], "wide");
	rounds = argc > 2 ? atoi(argv[2]) : 100;
	if (pthread_create(&other, NULL, work, NULL))
		return 1;
	work(NULL);
	pthread_join(other, NULL);
	return 0;
}
