/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_forks.c - forks by the bare instruction and by syscall(), repeatedly, with calls on both
 * sides.
 *
 * A child whose creation no wrapper saw must harm neither its parent's events nor itself: both end
 * well, and each call of either is in the report.
 *
 *     raw_forks bare|clone|clone3|syscall|threads|waiting
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define ROUNDS 60
#define CALLS 700 /* calls on each side, so that chunks are changed */

static uint64_t *calls; /* calls of all processes */
static int zero_fd;
static volatile int stop;

static long bare(long number, long a, long b)
{
	long result;
	register long c __asm__("r10") = 0;
	register long d __asm__("r8") = 0;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(0L), "r"(c), "r"(d)
			 : "rcx", "r11", "memory");
	return result;
}

static void one_pread(void)
{
	char byte;
	require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
	__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}

static void preads(int count)
{
	for (int i = 0; i < count; i++)
		one_pread();
}

static long fork_by(const char *how)
{
	uint64_t arguments[11] = {[4] = SIGCHLD}; /* struct clone_args */
	if (!strcmp(how, "clone"))
		return bare(SYS_clone, SIGCHLD, 0);
	if (!strcmp(how, "clone3"))
		return bare(435, (long)arguments, sizeof(arguments));
	if (!strcmp(how, "syscall"))
		return syscall(SYS_fork);
	return bare(SYS_fork, 0, 0);
}

static void *beside(void *unused)
{
	while (!stop)
		preads(10);
	return unused;
}

/* The child makes calls, and creates a child of its own; the parent makes calls at the same
 * time. */
static void one_round(int round, const char *how)
{
	int status = 0;
	long pid = fork_by(how);
	if (pid == 0) {
		preads(CALLS);
		long grandchild = fork_by(how);
		preads(10);
		if (grandchild && bare(SYS_wait4, grandchild, (long)&status) != grandchild)
			_exit(3);
		if (round % 2)
			_exit(WEXITSTATUS(status) | app_result());
		bare(SYS_exit_group, WEXITSTATUS(status) | app_result(), 0);
	}
	preads(CALLS);
	require(pid > 0 && bare(SYS_wait4, pid, (long)&status) == pid, "wait");
	require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child's status");
}

/* Fork a child that waits in a call while its parent makes others. */
static void one_wait(void)
{
	int fd[2], status = 0;
	char byte = 0;
	require(pipe(fd) == 0, "pipe");
	long pid = bare(SYS_fork, 0, 0);
	if (pid == 0)
		_exit(read(fd[0], &byte, 1) == 1 && byte == 'x' ? 0 : 4);
	app_sleep_ms(20);
	preads(3);
	require(write(fd[1], "x", 1) == 1, "write");
	require(bare(SYS_wait4, pid, (long)&status) == pid, "wait");
	require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's status");
	syscall(SYS_close, fd[0]);
	syscall(SYS_close, fd[1]);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "bare";
	pthread_t thread;
	calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	zero_fd = open("/dev/zero", O_RDONLY);
	bool threads = !strcmp(how, "threads");
	if (threads && pthread_create(&thread, NULL, beside, NULL))
		return 2;
	preads(10);
	for (int i = 0; i < ROUNDS && strcmp(how, "waiting"); i++)
		one_round(i, how);
	for (int i = 0; i < 10 && !strcmp(how, "waiting"); i++)
		one_wait();
	stop = 1;
	if (threads)
		pthread_join(thread, NULL);
	preads(10);
	check(1, "all ended well");
	if (app_facts())
		say("facts: pread %llu", (unsigned long long)*calls);
	return app_result();
}
