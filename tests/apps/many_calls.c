/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_calls.c - makes exactly COUNT wrapped calls in a loop and nothing else, to measure the cost
 * of one call.
 *
 * A recorded call must make no system call, take no lock and allocate no heap memory of its own
 * (tests/e2e/no_cost.py).
 *
 *     many_calls COUNT [THREADS]
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>

static int zero_fd;
static long count;

static void *calls(void *unused)
{
	char byte;
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	for (long i = 0; i < count; i++)
		switch (i % 4) {
		case 0:
			require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
			break;
		case 1:
			sched_yield();
			break;
		case 2:
			pthread_mutex_lock(&mutex);
			break;
		case 3:
			pthread_mutex_unlock(&mutex);
			break;
		}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[16];
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	count = argc > 1 ? atol(argv[1]) : 100000;
	zero_fd = open("/dev/zero", O_RDONLY);
	for (int i = 1; i < threads; i++)
		require(!pthread_create(&thread[i], NULL, calls, NULL), "pthread_create");
	calls(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	check(1, "calls made");
	return app_result();
}
