/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys.h - the tracer's own system calls, inside somebody else's process.
 *
 * The calls are raw: no libc function, no errno, nothing that another library could interpose.
 * Every call goes through sys_call(), so a test can replace it (sys_override) and let the n-th one
 * fail. All functions: any thread, async-signal-safe, allocate nothing; they return the kernel's
 * result, a negative errno on failure.
 */
#ifndef COMMON_SYS_H
#define COMMON_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

/* Set by tests only, before use; clocks are then read by a system call, too. The function returns
 * true if it handled the call and stored its result in *ret_result. */
extern bool (*sys_override)(long number, const long argument[6], long *ret_result);

/* Make the system call `number`. Blocks if that call does. */
long sys_call(long number, long a, long b, long c, long d, long e, long f);

#define SYS0(n) sys_call(n, 0, 0, 0, 0, 0, 0)
#define SYS1(n, a) sys_call(n, (long)(a), 0, 0, 0, 0, 0)
#define SYS2(n, a, b) sys_call(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS3(n, a, b, c) sys_call(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS4(n, a, b, c, d) sys_call(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SYS5(n, a, b, c, d, e) sys_call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define SYS6(n, a, b, c, d, e, f) \
	sys_call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Paths are absolute or relative to `dir` (AT_FDCWD). Descriptors are always O_CLOEXEC. */
int sys_openat(int dir, const char *path, int flags, unsigned mode);
int sys_close(int fd);
int sys_mkdir(const char *path, unsigned mode);
int sys_rename(const char *from, const char *to);
int sys_unlink(const char *path);
int sys_rmdir(const char *path);
long sys_readlink(const char *path, char *buffer, size_t bytes);
long sys_pread(int fd, void *buffer, size_t bytes, uint64_t offset);
long sys_write(int fd, const void *buffer, size_t bytes);
long sys_pwrite(int fd, const void *buffer, size_t bytes, uint64_t offset);
int sys_ftruncate(int fd, uint64_t bytes);
int sys_fallocate(int fd, int mode, uint64_t offset, uint64_t bytes);
int sys_flock(int fd, int operation);

/* Map memory. Return NULL on failure; *ret_error then is the negative errno (ret_error may be
 * NULL). */
void *sys_mmap(void *address, size_t bytes, int protection, int flags, int fd, uint64_t offset,
	int *ret_error);
/* Map private zeroed memory, which is not locked even if the process locks all its mappings
 * (mlockall): it would count against the program's limit of locked memory. Return NULL on
 * failure. */
void *sys_mmap_private(size_t bytes);
/* Map memory as sys_mmap_private() does, but not counted against the program's RLIMIT_DATA: the
 * kernel counts a mapping that may grow downwards as stack. */
void *sys_mmap_beyond_data(size_t bytes);
/*
 * Return a zeroed table of the process, mapped at its first use: *place is its address from then
 * on. Return NULL without memory. Not counted against RLIMIT_DATA, as .bss would be. At most 1
 * MiB.
 */
void *sys_mmap_table(void **place, size_t bytes);
void sys_unlock_tables(void); /* call after the program's mlockall() */
/* Read the process's own memory, which may not be mapped. Return false if it is not, or if a filter
 * of system calls forbids it. */
bool sys_memory_read(uint64_t address, void *ret_data, size_t bytes);
/* The same for memory of which only the beginning may be mapped, at most 8 KiB. Return how many
 * bytes could be read. */
size_t sys_memory_read_some(uint64_t address, void *ret_data, size_t bytes);
int sys_munmap(void *address, size_t bytes);
int sys_madvise(void *address, size_t bytes, int advice);

/* Block all signals in the calling thread. Return the mask before, bit n - 1 = signal n. */
uint64_t sys_signals_block(void);
/* Set the calling thread's mask of blocked signals. */
void sys_signals_set(uint64_t mask);

/* Return ids of the calling process, its parent and the calling thread, and the real and effective
 * user, asked of the kernel each time: libc's copies may be stale in a child of a bare fork. */
int sys_getpid(void);
int sys_getppid(void);
int sys_gettid(void);
int sys_getuid(void);
int sys_geteuid(void);
/* Return 0 if the two tasks share their memory, 1 or more if not, -errno if the kernel does not say
 * (kcmp). */
int sys_compare_memory(int pid, int other);
int sys_compare_files(int pid, int other); /* likewise, their descriptor tables */
/* Return the size to which a file may grow (RLIMIT_FSIZE); UINT64_MAX without a limit. */
uint64_t sys_file_limit(void);

/* Wait while *word == value, at most timeout_ns (0 = forever). Shared between processes. */
int sys_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns);
int sys_futex_wake(uint32_t *word, int count);
void sys_sleep_ns(uint64_t ns);
uint64_t sys_clock_ns(int clock_id);

/* Read a small file, at most bytes - 1, and terminate it. Return its length or a negative
 * errno. */
long sys_read_file(const char *path, char *buffer, size_t bytes);

#endif
