/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liblttng.c - a library to preload that records the calls of calls.c as LTTng-UST events, one per
 * call. tests/bench/run builds it if LTTng's headers are installed.
 */
#include "../bench.h"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "probe.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_sched_yield)(void);
static int (*real_lock)(pthread_mutex_t *), (*real_unlock)(pthread_mutex_t *);

/*
 * Only calls that come from the program are recorded. LTTng locks and reads, too: if the lock of
 * its thread destructor were recorded, that would register the thread again while the lock is held.
 */
static uintptr_t program_start, program_end;

static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	program_start = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t end = info->dlpi_addr + header->p_vaddr + header->p_memsz;
		if (header->p_type == PT_LOAD && end > program_end)
			program_end = end;
	}
	return 1; /* the first one is the program */
}

static __attribute__((constructor)) void resolve(void)
{
	real_read = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	real_write = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	real_sched_yield = (int (*)(void))dlsym(RTLD_NEXT, "sched_yield");
	real_lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	real_unlock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	dl_iterate_phdr(find_program, NULL);
}

#define EVENT(type, name, real, params, args, object, number)                           \
	type name params                                                                \
	{                                                                               \
		if (!real)                                                              \
			resolve();                                                      \
		uintptr_t caller = (uintptr_t)__builtin_return_address(0);              \
		if (caller < program_start || caller >= program_end ||                  \
			!lttng_ust_tracepoint_enabled(libtrace_bench, call))            \
			return real args;                                               \
		uint64_t tick = bench_ticks();                                          \
		type value = real args;                                                 \
		lttng_ust_do_tracepoint(                                                \
			libtrace_bench, call, tick, number, value, (uint64_t)(object)); \
		return value;                                                           \
	}

EVENT(ssize_t, read, real_read, (int fd, void *buffer, size_t count), (fd, buffer, count), fd, 1)
EVENT(ssize_t, write, real_write, (int fd, const void *data, size_t count), (fd, data, count), fd,
	2)
EVENT(int, sched_yield, real_sched_yield, (void), (), 0, 3)
EVENT(int, pthread_mutex_lock, real_lock, (pthread_mutex_t * m), (m), (uintptr_t)m, 4)
EVENT(int, pthread_mutex_unlock, real_unlock, (pthread_mutex_t * m), (m), (uintptr_t)m, 5)
