/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fn.h - all that is generated from a row of common/schema/libc.def: id, real function, wrapper.
 *
 * A wrapper is osrt_begin(), the real function, osrt_end() and nothing else. Real functions are
 * members of `real`. Those of generated rows start as boot functions, which look the function up
 * and call it, so a wrapper works even before our constructor and has nothing to test. Hand-written
 * wrappers call REAL(name), which tests.
 */
#ifndef INJECT_FN_H
#define INJECT_FN_H

#ifndef _GNU_SOURCE
#error "define _GNU_SOURCE first"
#endif

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/acct.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#if __has_include(<sys/io.h>)
#include <sys/io.h>
#else /* this machine has no ports: the functions do not exist, and nobody calls them */
int ioperm(unsigned long from, unsigned long count, int on);
int iopl(int level);
#endif
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "common/schema/fn_ids.h"
#include "common/schema/args.h"
#include "tracer/osrt/osrt.h"
#include "tracer/base/relocate.h"

typedef void *(*libtrace_start_fn)(void *);
typedef int (*libtrace_clone_fn)(void *);
struct dl_phdr_info; /* declared in <link.h> */
typedef int (*libtrace_phdr_fn)(struct dl_phdr_info *, size_t, void *);
typedef int libtrace_fd_pair[2];

/*
 * Open the definition of an interposed function. It has a C name of its own and the exported name
 * as its assembler name: headers may have inline bodies, macros or attributes (nonnull, noreturn)
 * for the plain name.
 */
#define WRAPPER(ret, name, params)                                                    \
	ret wrap_##name params __asm__(#name) __attribute__((visibility("default"))); \
	ret wrap_##name params

/* The functions after this library in the search order: libc's, or another interposer's. */
struct real {
#define FN(ret, name, version, group, rule, alias, ...) ret(*fn_##name) PARAMS(__VA_ARGS__);
#define FNV(name, version, group, rule, alias, ...) void(*fn_##name) PARAMS(__VA_ARGS__);
#define HAND(ret, name, version, group, rule, alias, ...) ret(*fn_##name) PARAMS(__VA_ARGS__);
#include "common/schema/libc.def"
};
extern struct real real __attribute__((visibility("hidden")));

/*
 * real_open() prepares the lookup, in the constructor; real_resolve() then looks one function up
 * when it is first called. Most processes call a tenth of them, and no lock of the loader is taken
 * for it. If real_open() finds unusual objects, it looks all functions up at once by dlsym. Any
 * thread, any number of times.
 */
void real_open(void);
void real_resolve(unsigned fn);

/* Return the function of that name after this library in the search order, for one that has no row;
 * NULL = there is none. */
void *real_next(const char *name);

/*
 * Start tracing before our constructor, at the first call that a constructor of another library
 * makes. Relocates the library first (relocate_check()). Return false if the start was tried
 * already, or if the C library has not set up its environment yet or lacks what
 * recording needs: libc_is_sufficient().
 */
bool preload_early(void);

/* Call osrt_begin(), perhaps as the first call of the process. */
static inline __attribute__((always_inline)) bool call_begin(struct call *call, unsigned fn)
{
	if (__builtin_expect(session.state == SESSION_NEW, 0))
		preload_early();
	return osrt_begin(call, fn);
}

#define REAL(name)                                                                          \
	(*(__builtin_expect(!real.fn_##name, 0) ? (real_resolve(FN_##name), real.fn_##name) \
						: real.fn_##name))

/* Return true for a result that refers to errno: -1, or NULL of a pointer. Not for functions that
 * return their error, or that do not change errno at end of file. */
static inline bool fn_failed(int64_t result, bool is_pointer)
{
	return result == -1 || (is_pointer && !result);
}
#define FN_FAILED(result) \
	fn_failed((int64_t)(intptr_t)(result), __builtin_classify_type(result) == 5 /* a pointer */)
#define FN_ERRNO(result) (__builtin_expect(FN_FAILED(result), 0) ? errno : 0)
#define FN_ERROR_LOCK(result) 0
#define FN_ERROR_WAIT(result) 0
#define FN_ERROR_THREAD(result) 0
#define FN_ERROR_STDIO(result) 0
#define FN_ERROR_SLEEP FN_ERRNO
#define FN_ERROR_EVENT FN_ERRNO
#define FN_ERROR_SIGNAL FN_ERRNO
#define FN_ERROR_PROCESS FN_ERRNO
#define FN_ERROR_OPEN FN_ERRNO
#define FN_ERROR_IO FN_ERRNO
#define FN_ERROR_SYNC FN_ERRNO
#define FN_ERROR_NET FN_ERRNO
#define FN_ERROR_IPC FN_ERRNO
#define FN_ERROR_MEMORY FN_ERRNO
#define FN_ERROR_ADMIN FN_ERRNO

/* True if errno belongs to the result, by the same groups. */
#define FN_BAD_LOCK(result) false
#define FN_BAD_WAIT(result) false
#define FN_BAD_THREAD(result) false
#define FN_BAD_STDIO(result) false
#define FN_BAD_SLEEP FN_FAILED
#define FN_BAD_EVENT FN_FAILED
#define FN_BAD_SIGNAL FN_FAILED
#define FN_BAD_PROCESS FN_FAILED
#define FN_BAD_OPEN FN_FAILED
#define FN_BAD_IO FN_FAILED
#define FN_BAD_SYNC FN_FAILED
#define FN_BAD_NET FN_FAILED
#define FN_BAD_IPC FN_FAILED
#define FN_BAD_MEMORY FN_FAILED
#define FN_BAD_ADMIN FN_FAILED

/* Waits for a semaphore return -1 and set errno, unlike the other functions of LOCK. A constant;
 * not for sem_trywait(), which fails by EAGAIN alone, and often. */
#define FN_IS_TIMED_SEMAPHORE(text) \
	(!__builtin_strcmp(text, "sem_timedwait") || !__builtin_strcmp(text, "sem_clockwait"))
#define FN_BAD(text, group, result) \
	(FN_IS_TIMED_SEMAPHORE(text) ? FN_FAILED(result) : FN_BAD_##group(result))
#define FN_ERROR(text, group, result) \
	(FN_IS_TIMED_SEMAPHORE(text) ? FN_ERRNO(result) : FN_ERROR_##group(result))

/* Functions that are only counted are not timed: both calls of a free lock cost a nanosecond. */
#define FN_QUIET_QUIET 1
#define FN_QUIET_OVER 0
#define FN_QUIET_ALWAYS 0
#define FN_QUIET_MADE 0
#define FN_QUIET_OPENS 0
#define FN_QUIET_CLOSES 0
#define FN_QUIET_CONTENDED 0

/* Rows whose calls are recorded however short they are if the descriptor is followed. */
#define FN_CLOSES_CLOSES true
#define FN_CLOSES_OPENS false
#define FN_CLOSES_MADE false
#define FN_CLOSES_QUIET false
#define FN_CLOSES_OVER false
#define FN_CLOSES_ALWAYS false
#define FN_CLOSES_CONTENDED false

/* Rows whose calls are recorded with the path that they opened. */
#define FN_OPENS_OPENS true
#define FN_OPENS_MADE false
#define FN_OPENS_CLOSES false
#define FN_OPENS_QUIET false
#define FN_OPENS_OVER false
#define FN_OPENS_ALWAYS false
#define FN_OPENS_CONTENDED false

/* The 48 bits of an object; addresses have no more. */
#define FN_OBJECT(...)                                                     \
	(OBJECT_KIND(__VA_ARGS__) == ARG_OBJECT_ADDR ? OBJECT(__VA_ARGS__) \
						     : OBJECT(__VA_ARGS__) & 0xffffffffffffull)

#define FN_BITS(value) ((uint64_t)(uintptr_t)(value))

#endif
