/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys.c - the tracer's own system calls.
 */
#define _GNU_SOURCE
#include "common/sys.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <signal.h>

#include "machine/machine.h"

bool (*sys_override)(long number, const long argument[6], long *ret_result);

long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	if (__builtin_expect(sys_override != NULL, 0)) {
		const long argument[6] = {a, b, c, d, e, f};
		long result;
		if (sys_override(number, argument, &result))
			return result;
	}
	return machine_system_call(number, a, b, c, d, e, f);
}

int sys_openat(int dir, const char *path, int flags, unsigned mode)
{
	return (int)SYS4(SYS_openat, dir, path, flags | O_CLOEXEC, mode);
}

int sys_close(int fd)
{
	return (int)SYS1(SYS_close, fd);
}

int sys_mkdir(const char *path, unsigned mode)
{
	return (int)SYS3(SYS_mkdirat, AT_FDCWD, path, mode);
}

int sys_rename(const char *from, const char *to)
{
	return (int)SYS4(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int sys_unlink(const char *path)
{
	return (int)SYS3(SYS_unlinkat, AT_FDCWD, path, 0);
}

int sys_rmdir(const char *path)
{
	return (int)SYS3(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

long sys_readlink(const char *path, char *buffer, size_t bytes)
{
	return SYS4(SYS_readlinkat, AT_FDCWD, path, buffer, bytes);
}

long sys_pread(int fd, void *buffer, size_t bytes, uint64_t offset)
{
	return SYS4(SYS_pread64, fd, buffer, bytes, offset);
}

long sys_write(int fd, const void *buffer, size_t bytes)
{
	return SYS3(SYS_write, fd, buffer, bytes);
}

long sys_pwrite(int fd, const void *buffer, size_t bytes, uint64_t offset)
{
	return SYS4(SYS_pwrite64, fd, buffer, bytes, offset);
}

int sys_ftruncate(int fd, uint64_t bytes)
{
	return (int)SYS2(SYS_ftruncate, fd, bytes);
}

int sys_fallocate(int fd, int mode, uint64_t offset, uint64_t bytes)
{
	return (int)SYS4(SYS_fallocate, fd, mode, offset, bytes);
}

int sys_flock(int fd, int operation)
{
	return (int)SYS2(SYS_flock, fd, operation);
}

void *sys_mmap(void *address, size_t bytes, int protection, int flags, int fd, uint64_t offset,
	int *ret_error)
{
	long result =
		sys_call(SYS_mmap, (long)address, (long)bytes, protection, flags, fd, (long)offset);
	if (result < 0 && result > -4096) {
		if (ret_error)
			*ret_error = (int)result;
		return NULL;
	}
	return (void *)result;
}

static void *map_anonymous(size_t bytes, int more_flags)
{
	void *memory = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0, NULL);
	if (memory)
		SYS2(SYS_munlock, memory, bytes);
	return memory;
}

void *sys_mmap_private(size_t bytes)
{
	return map_anonymous(bytes, 0);
}

void *sys_mmap_beyond_data(size_t bytes)
{
	return map_anonymous(bytes, MAP_GROWSDOWN | MAP_NORESERVE);
}

/* Size of a mapping that several tables share: fork() copies each mapping, so there are few. */
#define TABLES_BYTES UINT64_C(0x100000)
static struct tables {
	struct tables *before;
	uint64_t used; /* bytes used, this header included; may exceed TABLES_BYTES */
} * tables;

static struct tables *tables_map(void)
{
	struct tables *map = sys_mmap_beyond_data(TABLES_BYTES);
	if (map)
		map->used = 64;
	return map;
}

static void *table_take(uint64_t bytes)
{
	struct tables *now = __atomic_load_n(&tables, __ATOMIC_ACQUIRE);
	while (bytes <= TABLES_BYTES - 64) {
		uint64_t at = now ? __atomic_fetch_add(&now->used, bytes, __ATOMIC_RELAXED)
				  : TABLES_BYTES;
		if (at + bytes <= TABLES_BYTES)
			return (char *)now + at;
		struct tables *more = tables_map();
		if (!more)
			return NULL;
		more->before = now;
		if (__atomic_compare_exchange_n(
			    &tables, &now, more, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			now = more;
		else
			sys_munmap(more, TABLES_BYTES);
	}
	return NULL;
}

void sys_unlock_tables(void)
{
	for (struct tables *t = __atomic_load_n(&tables, __ATOMIC_ACQUIRE); t; t = t->before)
		SYS2(SYS_munlock, t, TABLES_BYTES);
}

/* Allocate the table; if two threads do so at the same time, one of both tables remains unused. */
void *sys_mmap_table(void **place, size_t bytes)
{
	void *table = __atomic_load_n(place, __ATOMIC_ACQUIRE), *none = NULL;
	if (table)
		return table;
	table = table_take((bytes + 63) & ~UINT64_C(63));
	if (table &&
		!__atomic_compare_exchange_n(
			place, &none, table, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		return none;
	return table;
}

bool sys_memory_read(uint64_t address, void *ret_data, size_t bytes)
{
	return sys_memory_read_some(address, ret_data, bytes) == bytes;
}

#define PAGE_BYTES 4096u
#define PAGES_READ 3u /* of 8 KiB that begin within a page */

size_t sys_memory_read_some(uint64_t address, void *ret_data, size_t bytes)
{
	struct iovec to = {ret_data, bytes}, from[PAGES_READ];
	unsigned count = 0;
	for (size_t at = 0; at < bytes && count < PAGES_READ; count++) {
		const size_t rest = PAGE_BYTES - (address + at) % PAGE_BYTES;
		from[count].iov_base = (void *)(uintptr_t)(address + at);
		from[count].iov_len = rest < bytes - at ? rest : bytes - at;
		at += from[count].iov_len;
	}
	/* The kernel reads whole elements up to the first that is not mapped. */
	long read = SYS6(SYS_process_vm_readv, sys_getpid(), &to, 1, from, count, 0);
	return read > 0 ? (size_t)read : 0;
}

int sys_munmap(void *address, size_t bytes)
{
	return (int)SYS2(SYS_munmap, address, bytes);
}

int sys_madvise(void *address, size_t bytes, int advice)
{
	return (int)SYS3(SYS_madvise, address, bytes, advice);
}

uint64_t sys_signals_block(void)
{
	uint64_t all = UINT64_MAX, before = 0;
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	return before;
}

void sys_signals_set(uint64_t mask)
{
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

int sys_getpid(void)
{
	return (int)SYS0(SYS_getpid);
}

int sys_getppid(void)
{
	return (int)SYS0(SYS_getppid);
}

int sys_compare_memory(int pid, int other)
{
	return (int)SYS5(SYS_kcmp, pid, other, KCMP_VM, 0, 0);
}

int sys_compare_files(int pid, int other)
{
	return (int)SYS5(SYS_kcmp, pid, other, KCMP_FILES, 0, 0);
}

int sys_gettid(void)
{
	return (int)SYS0(SYS_gettid);
}

int sys_getuid(void)
{
	return (int)SYS0(SYS_getuid);
}

int sys_geteuid(void)
{
	return (int)SYS0(SYS_geteuid);
}

uint64_t sys_file_limit(void)
{
	struct rlimit limit;
	if (SYS4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) < 0)
		return UINT64_MAX;
	return limit.rlim_cur;
}

int sys_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec timeout = {
		(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
	return (int)SYS4(SYS_futex, word, FUTEX_WAIT, value, timeout_ns ? &timeout : NULL);
}

int sys_futex_wake(uint32_t *word, int count)
{
	return (int)SYS3(SYS_futex, word, FUTEX_WAKE, count);
}

void sys_sleep_ns(uint64_t ns)
{
	struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	SYS2(SYS_nanosleep, &time, NULL);
}

uint64_t sys_clock_ns(int clock_id)
{
	struct timespec time = {0, 0};
	SYS2(SYS_clock_gettime, clock_id, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

long sys_read_file(const char *path, char *buffer, size_t bytes)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return fd;
	long length = 0, got;
	while ((size_t)length < bytes - 1 &&
		(got = SYS3(SYS_read, fd, buffer + length, bytes - 1 - (size_t)length)) > 0)
		length += got;
	sys_close(fd);
	buffer[length] = 0;
	return length;
}
