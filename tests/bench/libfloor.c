/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -ldl
// CFLAGS: -O2 -fvisibility=hidden -ftls-model=initial-exec
/*
 * libfloor.c - a library to preload that does the minimum work of a tracer: two readings of the
 * counter and a 32-byte record in a thread's ring.
 *
 * The tracer's figures are compared with those of this library. It writes no file and checks
 * nothing, and nobody reads the ring. With FLOOR=0 in the environment its wrappers only forward.
 */
#include "bench.h"
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#define RING_RECORDS 8192u
#define EXPORT __attribute__((visibility("default")))

struct floor_record {
	uint64_t tick, word, result, object;
};

static __thread struct {
	unsigned long position;
	struct floor_record ring[RING_RECORDS];
} self;

static int forward_only;
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_sched_yield)(void);
static int (*real_lock)(pthread_mutex_t *), (*real_unlock)(pthread_mutex_t *);

static __attribute__((constructor)) void resolve(void)
{
	const char *value = getenv("FLOOR");
	forward_only = value && *value == '0';
	real_read = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	real_write = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	real_sched_yield = (int (*)(void))dlsym(RTLD_NEXT, "sched_yield");
	real_lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	real_unlock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
}

#define FLOOR(type, name, real, params, args, object_of, number)                           \
	EXPORT type name params                                                            \
	{                                                                                  \
		if (!real)                                                                 \
			resolve();                                                         \
		if (forward_only)                                                          \
			return real args;                                                  \
		uint64_t tick = bench_ticks();                                             \
		type value = real args;                                                    \
		uint64_t ticks = bench_ticks() - tick;                                     \
		struct floor_record *r = &self.ring[self.position++ & (RING_RECORDS - 1)]; \
		r->tick = tick;                                                            \
		r->word = ticks << 16 | (number);                                          \
		r->result = (uint64_t)value;                                               \
		r->object = (uint64_t)(object_of);                                         \
		return value;                                                              \
	}

FLOOR(ssize_t, read, real_read, (int fd, void *buffer, size_t count), (fd, buffer, count), fd, 1)
FLOOR(ssize_t, write, real_write, (int fd, const void *data, size_t count), (fd, data, count), fd,
	2)
FLOOR(int, sched_yield, real_sched_yield, (void), (), 0, 3)
FLOOR(int, pthread_mutex_lock, real_lock, (pthread_mutex_t * m), (m), (uintptr_t)m, 4)
FLOOR(int, pthread_mutex_unlock, real_unlock, (pthread_mutex_t * m), (m), (uintptr_t)m, 5)
