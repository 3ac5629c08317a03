/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_in_malloc.c - ends in a signal handler that interrupts malloc(), by _exit() as crash handlers
 * do, or by exit().
 *
 * Usage: end_in_malloc [exit]
 *
 * Its malloc() has one lock, which is held at that time: a thread that allocates then waits
 * forever.
 */
#include "tests/cuda/did.h"

#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

struct did did;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile bool is_time;
static bool by_exit;

static void interrupted(int number)
{
	(void)number;
	if (by_exit)
		exit(7);
	_exit(7);
}

static void lock(void)
{
	pthread_mutex_lock(&mutex);
	if (is_time) {
		is_time = false;
		raise(SIGUSR1);
	}
}

void *malloc(size_t bytes)
{
	lock();
	void *made = __libc_malloc(bytes);
	pthread_mutex_unlock(&mutex);
	return made;
}

void *calloc(size_t count, size_t bytes)
{
	lock();
	void *made = __libc_calloc(count, bytes);
	pthread_mutex_unlock(&mutex);
	return made;
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUdeviceptr memory;

	by_exit = argc > 1 && !strcmp(argv[1], "exit");
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxPushCurrent(context));
	CHECK(cuMemAlloc(&memory, 4096));
	CHECK(cuMemsetD8(memory, 1, 4096));
	signal(SIGUSR1, interrupted);
	is_time = true;
	return malloc(10) ? 1 : 2;
}
