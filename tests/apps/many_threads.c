/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_threads.c - 1500 threads alive at once: more than a spool has lanes.
 *
 * Every thread must work. Calls of the threads that get no lane must be counted as missing, the
 * others must be recorded, and memory must stay bounded.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>

#define THREADS 1500
#define CALLS 4
static int zero_fd;
static pthread_barrier_t all;

static void *thread_main(void *unused)
{
	char byte;
	for (int i = 0; i < CALLS; i++)
		require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
	pthread_barrier_wait(&all);
	return unused;
}

int main(void)
{
	static pthread_t thread[THREADS];
	pthread_attr_t attributes;
	zero_fd = open("/dev/zero", O_RDONLY);
	pthread_barrier_init(&all, NULL, THREADS + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	for (int i = 0; i < THREADS; i++)
		if (!require(!pthread_create(&thread[i], &attributes, thread_main, NULL),
			    "pthread_create"))
			return 1;
	pthread_barrier_wait(&all);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	check(1, "1500 threads at once");
	say("expect-at-most %d pread", THREADS * CALLS);
	return app_result();
}
