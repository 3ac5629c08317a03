/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -fno-builtin
/*
 * own_malloc.c - a program that brings its own malloc, with a lock of its own and a background
 * thread started under that lock.
 *
 * No hook may allocate, so that an allocator that calls wrapped functions (mutex, mmap,
 * pthread_create, write) under its lock is never reentered. A nested call would deadlock and be
 * seen as a hang.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *next, *end;
static __thread int inside; /* the allocator's own depth on this thread: more than 1 means that the
			       allocator was called under its own lock */
static int nested, background_made, background_calls, making_thread;
static size_t allocations;

static void *background(void *unused)
{
	for (int i = 0; i < 10; i++) {
		sched_yield();
		__atomic_fetch_add(&background_calls, 1, __ATOMIC_RELAXED);
	}
	return unused;
}

/* Create a thread while the allocator's lock is held, as jemalloc does. Allocations for the thread
 * itself (TLS, stack) reenter the allocator: they are served without the lock and not counted. */
static void make_background(void)
{
	pthread_t thread;
	background_made = 1;
	making_thread = 1;
	if (!pthread_create(&thread, NULL, background, NULL))
		pthread_detach(thread);
	making_thread = 0;
}

static void *take(size_t size)
{
	size = (size + 31) / 16 * 16;
	if (next + size > end) {
		size_t chunk = size > (1u << 20) ? size + 4096 : 1u << 20;
		next = mmap(
			NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		end = next + chunk;
	}
	char *p = next + 16;
	memcpy(next, &size, sizeof(size));
	next += size;
	return p;
}

void *malloc(size_t size)
{
	if (inside && making_thread)
		return take(size);
	if (inside++)
		nested++;
	pthread_mutex_lock(&lock);
	if (++allocations == 50 && !background_made)
		make_background();
	void *p = take(size);
	pthread_mutex_unlock(&lock);
	inside--;
	return p;
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t n, size_t size)
{
	return memset(malloc(n * size), 0, n * size);
}

void *realloc(void *p, size_t size)
{
	size_t old;
	if (!p)
		return malloc(size);
	memcpy(&old, (char *)p - 16, sizeof(old));
	void *q = malloc(size);
	return memcpy(q, p, old - 16 < size ? old - 16 : size);
}

static void *allocate_much(void *unused)
{
	for (int i = 0; i < 2000; i++) {
		char *volatile p = malloc((size_t)(i % 300));
		free(p);
		sched_yield();
	}
	return unused;
}

int main(void)
{
	pthread_t thread[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, allocate_much, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	while (__atomic_load_n(&background_calls, __ATOMIC_RELAXED) < 10)
		sched_yield();
	check(background_made, "a thread created under the allocator's lock ran");
	check(nested == 0, "the allocator was not called under its own lock");
	return app_result();
}
