/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_fds.c - children that share their parent's descriptor table, which the parent watches.
 *
 * The child's first call is one that the tracer sees. No descriptor of the tracer may appear.
 */
#include "app.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ROUNDS 200

int main(void)
{
	unsigned long seen = 0;
	int next = dup(0), status;
	close(next);
	for (int i = 0; i < ROUNDS; i++) {
		long pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
		if (!pid) {
			usleep(1000);
			_exit(0);
		}
		while (!syscall(SYS_wait4, pid, &status, WNOHANG, 0))
			seen += syscall(SYS_fcntl, next, F_GETFD) >= 0;
	}
	check(!seen, "no descriptor of the tracer appears");
	return app_result();
}
