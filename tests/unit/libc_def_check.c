/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc_def_check.c - compares schema/libc.def with the C library: types with the headers (at
 * compile time), names, versions and omitted versions with libc.so.6 (at run time). It also tests
 * the expansions of schema/args.h that the wrappers consist of.
 *
 * Build: cc -std=gnu11 -Wall -Wextra -Werror -I. tests/unit/libc_def_check.c -ldl
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
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
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/io.h>
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
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include <wchar.h>

#pragma GCC diagnostic ignored \
	"-Wdeprecated-declarations" /* sigset is deprecated, but programs still call it */

#include "common/schema/args.h"
#include "common/spool.h"

typedef void *(*libtrace_start_fn)(void *);
typedef int (*libtrace_clone_fn)(void *);
typedef int (*libtrace_phdr_fn)(struct dl_phdr_info *, size_t, void *);
typedef int libtrace_fd_pair[2];

/*
 * Prototypes that no header declares without _FORTIFY_SOURCE, or at all. They are written a second
 * time here, from glibc's sources, so that a mistake in a row conflicts with a type here.
 */
extern ssize_t __read_chk(int fd, void *buffer, size_t count, size_t buffer_bytes);
extern ssize_t __pread_chk(int fd, void *buffer, size_t count, off_t offset, size_t buffer_bytes);
extern ssize_t __pread64_chk(
	int fd, void *buffer, size_t count, off64_t offset, size_t buffer_bytes);
extern ssize_t __recv_chk(int fd, void *buffer, size_t count, size_t buffer_bytes, int flags);
extern ssize_t __recvfrom_chk(int fd, void *buffer, size_t count, size_t buffer_bytes, int flags,
	struct sockaddr *address, socklen_t *size);
extern int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t fds_bytes);
extern int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
	const sigset_t *mask, size_t fds_bytes);
extern size_t __fread_chk(void *buffer, size_t buffer_bytes, size_t size, size_t count, FILE *file);
extern size_t __fread_unlocked_chk(
	void *buffer, size_t buffer_bytes, size_t size, size_t count, FILE *file);
extern char *__fgets_chk(char *buffer, size_t buffer_bytes, int size, FILE *file);
extern char *__fgets_unlocked_chk(char *buffer, size_t buffer_bytes, int size, FILE *file);
extern wchar_t *__fgetws_chk(wchar_t *buffer, size_t buffer_bytes, int size, FILE *file);
extern wchar_t *__fgetws_unlocked_chk(wchar_t *buffer, size_t buffer_bytes, int size, FILE *file);
extern int __open_2(const char *path, int flags);
extern int __open64_2(const char *path, int flags);
extern int __openat_2(int directory, const char *path, int flags);
extern int __openat64_2(int directory, const char *path, int flags);
extern mqd_t __mq_open_2(const char *name, int flags);
extern int _IO_getc(FILE *file);
extern int _IO_putc(int character, FILE *file);
extern int arch_prctl(int option, unsigned long address);
extern int pivot_root(const char *path, const char *put_old);

/*
 * The compile-time check: the name must be declared (typeof) and the row must redeclare it with a
 * compatible type. Exceptions, where the header has a transparent union and the row the pointer
 * (compatible to gcc and clang): accept accept4 bind connect recvfrom sendto.
 */
#define FN(ret, name, version, group, rule, alias, ...) \
	typedef __typeof__(name) declared_##name;       \
	extern ret(name) PARAMS(__VA_ARGS__);
#define FNV(name, version, group, rule, alias, ...) \
	FN(void, name, version, group, rule, alias, __VA_ARGS__)
#define HAND(ret, name, version, group, rule, alias, ...) \
	FN(ret, name, version, group, rule, alias, __VA_ARGS__)
#include "common/schema/libc.def"

/* Groups and rules must be known words, and an alias must be a name: an unknown word does not
 * compile. */
enum {
	GROUP_LOCK,
	GROUP_WAIT,
	GROUP_SLEEP,
	GROUP_EVENT,
	GROUP_SIGNAL,
	GROUP_PROCESS,
	GROUP_THREAD,
	GROUP_OPEN,
	GROUP_IO,
	GROUP_SYNC,
	GROUP_STDIO,
	GROUP_NET,
	GROUP_IPC,
	GROUP_MEMORY,
	GROUP_ADMIN
};
enum { RULE_OVER, RULE_CONTENDED, RULE_ALWAYS, RULE_MADE, RULE_OPENS, RULE_CLOSES, RULE_QUIET };

struct row {
	const char *name, *version, *alias;
	int group, rule, object_kind, object_count, is_hand;
};

static const struct row rows[] = {
#define ROW(name, version, group, rule, alias, is_hand, ...)                           \
	{#name, version, #alias, GROUP_##group, RULE_##rule, OBJECT_KIND(__VA_ARGS__), \
		OBJECT_COUNT(__VA_ARGS__), is_hand},
#define FN(ret, name, version, group, rule, alias, ...) \
	ROW(name, version, group, rule, alias, 0, __VA_ARGS__)
#define FNV(name, version, group, rule, alias, ...) \
	ROW(name, version, group, rule, alias, 0, __VA_ARGS__)
#define HAND(ret, name, version, group, rule, alias, ...) \
	ROW(name, version, group, rule, alias, 1, __VA_ARGS__)
#include "common/schema/libc.def"
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(ROWS <= FN_MAX, "libc.def has more rows than a lane has sums");

static int test_number, failures;

static void ok(int good, const char *what)
{
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++test_number, what);
	failures += !good;
}

/* Count the versions of a name in libc.so.6 that are another function than `latest`. */
static int versions_that_differ(void *libc, const char *name, void *latest)
{
	static const char *const versions[] = {"2.2.5", "2.2.6", "2.3", "2.3.2", "2.3.3", "2.3.4"};
	char version[32];
	int differ = 0;

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]) + 60; i++) {
		void *address;

		if (i < sizeof(versions) / sizeof(versions[0]))
			snprintf(version, sizeof(version), "GLIBC_%s", versions[i]);
		else
			snprintf(version, sizeof(version), "GLIBC_2.%zu",
				i - sizeof(versions) / sizeof(versions[0]) + 4);
		address = dlvsym(libc, name, version);
		differ += address && address != latest;
	}
	return differ;
}

static void check_libc(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	int missing = 0, wrong_version = 0, unversioned = 0, needless = 0;

	for (size_t i = 0; libc && i < ROWS; i++) {
		const struct row *row = &rows[i];
		void *latest = dlsym(libc, row->name);

		if (!latest) {
			printf("# not in libc.so.6: %s\n", row->name);
			missing++;
			continue;
		}
		if (row->version && dlvsym(libc, row->name, row->version) != latest) {
			printf("# %s: %s is not the default version\n", row->name, row->version);
			wrong_version++;
		}
		if (!row->version && versions_that_differ(libc, row->name, latest)) {
			printf("# %s: has versions that differ, but the row gives none\n",
				row->name);
			unversioned++;
		}
		if (row->version && !versions_that_differ(libc, row->name, latest)) {
			printf("# %s: %s given, but all versions are one\n", row->name,
				row->version);
			needless++;
		}
	}
	ok(libc && !missing, "the symbol of every row is in libc");
	ok(libc && !wrong_version, "the version of a row is the default version in libc");
	ok(libc && !unversioned,
		"all versions of a symbol behave alike where its row names no version");
	ok(libc && !needless, "the versions of a symbol differ where its row names a version");
}

static int find(const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return (int)i;
	return -1;
}

static void check_rows(void)
{
	int twice = 0, objects = 0, unsorted = 0, contended = 0;

	for (size_t i = 0; i < ROWS; i++) {
		objects += rows[i].object_count > 1;
		unsorted += i && rows[i].group < rows[i - 1].group;
		twice += find(rows[i].name) != (int)i;
		contended += rows[i].rule == RULE_CONTENDED &&
			(!rows[i].is_hand || rows[i].object_kind != ARG_OBJECT_ADDR);
	}
	ok(!twice, "no name has two rows");
	ok(!objects, "a row has at most one object");
	ok(!unsorted, "rows are sorted by group");
	ok(!contended, "CONTENDED rows are HAND rows and have an address as object");
}

/* The expansion of a wrapper for 0, 1, 3 and 8 arguments. The real function records the
 * arguments that reach it. */
static uint64_t seen;

static int real_none(void)
{
	return 40;
}
static void real_one(int t_fd)
{
	seen = (uint64_t)t_fd;
}
static ssize_t real_three(int t_fd, void *t_buffer, size_t t_count)
{
	return t_buffer ? t_fd + (ssize_t)t_count : -1;
}
static int real_eight(
	int t_a, int t_b, int t_c, int t_d, const char *t_e, int t_f, size_t t_g, void *t_h)
{
	return t_a + 2 * t_b + 3 * t_c + 4 * t_d + (t_e != NULL) + 5 * t_f + (int)t_g +
		(t_h != NULL);
}

#define WRAPPER(ret, name, ...)                               \
	static ret wrap_##name PARAMS(__VA_ARGS__)            \
	{                                                     \
		seen = OBJECT(__VA_ARGS__);                   \
		ret(*real) PARAMS(__VA_ARGS__) = real_##name; \
		return real NAMES(__VA_ARGS__);               \
	}
#define WRAPPER_VOID(name, ...)                     \
	static void wrap_##name PARAMS(__VA_ARGS__) \
	{                                           \
		real_##name NAMES(__VA_ARGS__);     \
	}
#define EIGHT                                                                      \
	(SKIP, int, t_a), (SKIP, int, t_b), (SKIP, int, t_c), (MODE, int, t_d),    \
		(PATH, const char *, t_e), (FLAGS, int, t_f), (SIZE, size_t, t_g), \
		(ADDR, void *, t_h)

WRAPPER(int, none, (NONE, void, t_none))
WRAPPER_VOID(one, (FD, int, t_fd))
WRAPPER(ssize_t, three, (FD, int, t_fd), (SKIP, void *, t_buffer), (SIZE, size_t, t_count))
WRAPPER(int, eight, EIGHT)

static int wrap_more PARAMS(
	(FD, int, t_fd), (PATH, const char *, t_path), (FLAGS, int, t_flags), (MORE, ..., t_more))
{
	return (int)OBJECT((FD, int, t_fd), (PATH, const char *, t_path), (FLAGS, int, t_flags),
		       (MORE, ..., t_more)) +
		(PATH_OF((FD, int, t_fd), (PATH, const char *, t_path), (MORE, ..., t_more)) ==
			t_path) +
		t_flags;
}

static int details(
	int t_a, int t_b, int t_c, int t_d, const char *t_e, int t_f, size_t t_g, void *t_h)
{
	return PATH_OF(EIGHT) == t_e && FLAGS_OF(EIGHT) == 6 && MODE_OF(EIGHT) == 4 &&
		OBJECT(EIGHT) == (uint64_t)(uintptr_t)t_h && t_a + t_b + t_c + t_d + t_f + (int)t_g;
}

_Static_assert(OBJECT_KIND(EIGHT) == ARG_OBJECT_ADDR &&
		OBJECT_KIND((NONE, void, t_none)) == ARG_OBJECT_NONE,
	"constants");
_Static_assert(OBJECT_COUNT((FD, int, t_a), (PID, int, t_b)) == 2, "a second object is noticed");

static void check_expansion(void)
{
	char place;

	seen = 1;
	ok(wrap_none() == 40 && seen == 0,
		"a function without arguments is called and has no object");
	wrap_one(9);
	ok(seen == 9, "the argument of a void function reaches it");
	ok(wrap_three(3, &place, 100) == 103 && seen == 3,
		"a function with three arguments is called, its object is the descriptor");
	wrap_three(-100, &place, 0);
	ok((int64_t)seen == AT_FDCWD, "a negative descriptor keeps its sign");
	ok(wrap_eight(1, 1, 1, 1, "", 1, 1, &place) == 18 && seen == (uint64_t)(uintptr_t)&place,
		"a function with eight arguments is called, its object is the address");
	ok(wrap_more(5, "path", 10, 1) == 16,
		"a variadic function gets its parameters, its object and path are found");
	ok(details(1, 2, 3, 4, "path", 6, 7, &place),
		"path, flags, mode and size of a row are found");
}

int main(void)
{
	printf("1..15\n# %zu rows, %u possible\n", ROWS, FN_MAX);
	check_libc();
	check_rows();
	check_expansion();
	return failures != 0;
}
