/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forked_threads.c - forked children whose second thread makes calls before the first one.
 *
 * The C library's own pthread_create() creates the thread, past the wrapper, as it does for
 * SIGEV_THREAD and asynchronous input. The first thread may still have its parent's lane then. Both
 * threads must live, and each call is recorded or counted as dropped.
 *
 *     forked_threads fork|bare [after|alone|beside]
 *
 * after: the first thread makes its calls when the other one has made some. alone: it makes none.
 * beside: both threads make their first calls at the same time.
 */
#include "app.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define ROUNDS 20
#define CALLS 300

typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static create_fn create_real;
static uint64_t *calls; /* calls of all processes */
static int zero_fd;
static bool is_bare, is_alone, is_beside;
static enum { NOTHING, READY, STARTED, CALLED } stage; /* of the thread */

static long raw(long number, long a, long b)
{
	long result;
	register long c __asm__("r10") = 0;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(0L), "r"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static void stage_set(unsigned to)
{
	__atomic_store_n(&stage, to, __ATOMIC_RELEASE);
}

static void stage_wait(unsigned for_stage)
{
	while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) < for_stage)
		if (!is_beside)
			raw(SYS_sched_yield, 0, 0);
}

static void preads(int count)
{
	char byte;
	for (int i = 0; i < count; i++) {
		require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
		__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
	}
}

static void *second(void *unused)
{
	stage_set(READY);
	stage_wait(STARTED);
	preads(CALLS);
	stage_set(CALLED);
	while (is_alone)
		raw(SYS_pause, 0, 0);
	preads(CALLS);
	return unused;
}

static int child(void)
{
	pthread_t thread;
	void *value;
	if (create_real(&thread, NULL, second, NULL))
		return 2;
	stage_wait(READY);
	stage_set(STARTED);
	if (!is_beside)
		stage_wait(CALLED);
	if (is_alone)
		raw(SYS_exit_group, app_result(), 0);
	preads(CALLS);
	return pthread_join(thread, &value) ? 3 : app_result();
}

static void one_round(void)
{
	int status = 0;
	long pid = is_bare ? raw(SYS_fork, 0, 0) : fork();
	if (pid == 0)
		_exit(child());
	preads(CALLS);
	require(pid > 0 && raw(SYS_wait4, pid, (long)&status) == pid, "wait");
	require(status == 0, "a child's status");
}

int main(int argc, char **argv)
{
	const char *when = argc > 2 ? argv[2] : "after";
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	create_real = libc ? (create_fn)(uintptr_t)dlsym(libc, "pthread_create") : NULL;
	if (argc < 2 || !create_real)
		return 2;
	is_bare = !strcmp(argv[1], "bare");
	is_alone = !strcmp(when, "alone");
	is_beside = !strcmp(when, "beside");
	calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	zero_fd = open("/dev/zero", O_RDONLY);
	preads(10);
	for (int i = 0; i < ROUNDS; i++)
		one_round();
	check(1, "all ended well");
	if (app_facts())
		say("facts: pread %llu", (unsigned long long)*calls);
	return app_result();
}
