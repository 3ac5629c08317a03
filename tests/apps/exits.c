/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exits.c - every way for a process to end.
 *
 * The exit status, output and the order of exit handlers must be the program's own, and every call
 * made before the end must be in the report. Each mode makes CALLS preads first; modes with
 * threads leave some running.
 *
 *     exits MODE     return exit _exit _Exit quick_exit abort abort_caught segv kill term
 * pthread_exit exec thread_exit raw handler_exit atexit_calls last_thread
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#define CALLS 11
static int zero_fd;
static sigjmp_buf back;
static volatile int *volatile nowhere;

static void work(int calls)
{
	char byte;
	for (int i = 0; i < calls; i++)
		require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
}

static void at_exit(void)
{
	work(1);
	say("pass: exit handler");
}

static void *sleeper(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *exiter(void *unused)
{
	work(1);
	exit(14);
	return unused;
}

static void *late_worker(void *unused)
{
	app_sleep_ms(30);
	work(1);
	return unused;
}

static void start(void *(*function)(void *))
{
	pthread_t thread;
	check(!pthread_create(&thread, NULL, function, NULL), "pthread_create");
	pthread_detach(thread);
}

static void leave(int signal)
{
	(void)signal;
	work(1);
	_exit(15);
}

static void jump(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static void abort_caught(void)
{
	signal(SIGABRT, jump);
	if (!sigsetjmp(back, 1))
		abort();
	say("pass: abort caught by siglongjmp");
	exit(16);
}

static void announce(const char *mode)
{
	static const char *const one_more[] = {"exit", "return", "quick_exit", "thread_exit",
		"handler_exit", "pthread_exit", "last_thread"};
	int calls = CALLS;
	for (size_t i = 0; i < sizeof(one_more) / sizeof(one_more[0]); i++)
		calls += !strcmp(mode, one_more[i]);
	if (!strcmp(mode, "thread_exit") || !strcmp(mode, "abort_caught") ||
		!strcmp(mode, "pthread_exit") || !strcmp(mode, "last_thread"))
		calls++; /* so does the exit handler */
	/* The end of the last thread ends the process: its exit handlers run when the tracer
	 * considers that thread ended. */
	say("%s %d pread",
		!strcmp(mode, "pthread_exit") || !strcmp(mode, "last_thread") ? "expect-at-most"
									      : "expect",
		calls);
}

static int end_by(const char *mode)
{
	if (!strcmp(mode, "exit"))
		exit(10);
	if (!strcmp(mode, "_exit"))
		_exit(11);
	if (!strcmp(mode, "_Exit"))
		_Exit(12);
	if (!strcmp(mode, "quick_exit")) {
		at_quick_exit(at_exit);
		quick_exit(13);
	}
	if (!strcmp(mode, "abort"))
		abort();
	if (!strcmp(mode, "abort_caught"))
		abort_caught();
	if (!strcmp(mode, "segv"))
		*nowhere = 1;
	if (!strcmp(mode, "kill"))
		syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
	if (!strcmp(mode, "term"))
		raise(SIGTERM);
	if (!strcmp(mode, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 17", NULL);
	if (!strcmp(mode, "raw"))
		syscall(SYS_exit_group, 18);
	if (!strcmp(mode, "thread_exit")) {
		start(exiter);
		sleeper(NULL);
	}
	if (!strcmp(mode, "handler_exit")) {
		signal(SIGUSR1, leave);
		raise(SIGUSR1);
	}
	return 19;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "return";
	zero_fd = open("/dev/zero", O_RDONLY);
	atexit(at_exit);
	announce(mode);
	work(CALLS);
	if (!strcmp(mode, "pthread_exit") || !strcmp(mode, "last_thread")) {
		start(late_worker);
		pthread_exit(NULL); /* the process ends, with 0, when the other thread has ended */
	}
	if (strcmp(mode, "return") && strcmp(mode, "thread_exit"))
		start(sleeper);
	return end_by(mode);
}
