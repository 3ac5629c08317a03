/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_forks.c - forks, vforks and starts threads under fast timers whose handlers make wrapped
 * calls; every child sets its own timer first.
 *
 * A handler that runs in the first instructions of a forked child or a thread, or at the end of
 * either, must find the tracer in order: no hang, no wrong result, and every call is in the report
 * or counted as missing. The calls are counted in shared memory.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#define ROUNDS 120
static volatile uint64_t *calls;
static int zero_fd;

static void one_pread(void)
{
	char byte;
	int saved = errno;
	if (pread(zero_fd, &byte, 1, 0) != 1)
		_exit(80);
	__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
	errno = saved;
}

static void handler(int signal)
{
	(void)signal;
	one_pread();
}

static void start_timer(void)
{
	struct itimerval fast = {{0, 100}, {0, 100}};
	syscall(SYS_setitimer, ITIMER_REAL, &fast, NULL);
}

static void *thread_main(void *unused)
{
	for (int i = 0; i < 20; i++)
		one_pread();
	return unused;
}

static void with_thread(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, thread_main, NULL))
		_exit(81);
	one_pread();
	pthread_join(thread, NULL);
}

static void one_round(int round)
{
	int status = 0;
	pid_t pid = round % 4 == 3 ? vfork() : fork();
	if (!pid && round % 4 == 3) {
		execl("/bin/true", "true", NULL);
		_exit(82);
	}
	if (!pid) {
		start_timer();
		with_thread();
		if (round % 4 == 0)
			exit(0);
		_exit(0);
	}
	with_thread();
	while (waitpid(pid, &status, 0) != pid)
		require(errno == EINTR, "waitpid");
	require(pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child's status");
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	zero_fd = open("/dev/zero", O_RDONLY);
	sigaction(SIGALRM, &action, NULL);
	start_timer();
	for (int i = 0; i < ROUNDS; i++)
		one_round(i);
	struct itimerval off = {{0, 0}, {0, 0}};
	syscall(SYS_setitimer, ITIMER_REAL, &off, NULL);
	check(*calls > ROUNDS * 21, "all children ended well");
	if (app_facts())
		say("facts: pread %llu", (unsigned long long)*calls);
	return app_result();
}
