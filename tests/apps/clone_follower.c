/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_follower.c - a debugger: starts a program, follows every process and thread that it starts,
 * and has all of them killed when the debugger ends (PTRACE_O_EXITKILL).
 *
 * The debugger must not see what the tracer starts beside the program: it follows as many tasks as
 * without the tracer. The report must exist although the debugger ends first.
 *
 *     clone_follower [PROGRAM ARGUMENT...]
 */
#include "app.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define OPTIONS (PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL)

static pid_t begin(char **argv)
{
	pid_t pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

int main(int argc, char **argv)
{
	static char *nothing[] = {"true", NULL};
	int status, followed = 1;
	pid_t program = begin(argc > 1 ? argv + 1 : nothing), pid;
	require(waitpid(program, &status, 0) == program && WIFSTOPPED(status), "stopped");
	require(!ptrace(PTRACE_SETOPTIONS, program, 0, OPTIONS), "PTRACE_SETOPTIONS");
	ptrace(PTRACE_CONT, program, 0, 0);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (pid == program && (WIFEXITED(status) || WIFSIGNALED(status)))
			break;
		if (!WIFSTOPPED(status))
			continue;
		int is_event = status >> 16, number = WSTOPSIG(status);
		followed += is_event != 0;
		ptrace(PTRACE_CONT, pid, 0,
			is_event || number == SIGTRAP || number == SIGSTOP ? 0 : number);
	}
	check(WIFEXITED(status) && !WEXITSTATUS(status), "the program ended well");
	say("tasks followed: %d", followed);
	return app_result();
}
