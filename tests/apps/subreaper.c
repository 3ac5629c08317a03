/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subreaper.c - adopts orphans (PR_SET_CHILD_SUBREAPER) and waits for every child by wait(-1).
 *
 * No process of the tracer may ever become a child of the program: wait(-1) returns the program's
 * own processes and orphans, each once, then ECHILD, and SIGCHLD arrives for those only. The same
 * must be true if the program is pid 1 of a namespace.
 */
#include "app.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define CHILDREN 6
static volatile sig_atomic_t child_signals;

static void on_child(int signal)
{
	(void)signal;
	child_signals++;
}

static int reap_all(void)
{
	int reaped = 0, status;
	for (;;) {
		pid_t pid = wait(&status);
		if (pid > 0)
			reaped += WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 1 : 1000;
		else if (errno != EINTR)
			return errno == ECHILD ? reaped : -1;
	}
}

static void make_children(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		if (pid)
			continue;
		if (fork() == 0)
			app_sleep_ms(20); /* the orphan */
		_exit(5);
	}
}

int main(void)
{
	signal(SIGCHLD, on_child);
	check(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "no child at the start");
	check(!prctl(PR_SET_CHILD_SUBREAPER, 1), "subreaper");
	make_children();
	check(reap_all() == 2 * CHILDREN, "the program's children and orphans, each once");
	app_sleep_ms(50);
	check(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "and no other, later");
	check(system("true") == 0 && waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD,
		"none after system");
	return app_result();
}
