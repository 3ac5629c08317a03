/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stepcount.c - counts the instructions that a program retires between two marks (STEP_MARK of
 * bench.h).
 *
 *     stepcount PROGRAM [ARGUMENT...]
 *
 * The program runs at full speed up to the first mark, then instruction by instruction to the
 * second, then at full speed to its end. Only its first thread is stepped; children run freely.
 * Only user instructions count; a system call is one. Prints "steps N" on stderr. The exit status
 * is 1 if there was no pair of marks.
 */
#include "bench.h"
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Return whether the program stopped at a mark; it then continues after the mark. A stop after a
 * single step has another code. */
static int at_mark(pid_t pid)
{
	siginfo_t info;
	if (ptrace(PTRACE_GETSIGINFO, pid, 0, &info))
		return 0;
#if defined(__x86_64__)
	return info.si_code == SI_KERNEL; /* int3: the stop is after it */
#else
	struct user_regs_struct regs;
	struct iovec place = {&regs, sizeof(regs)};
	if (info.si_code != TRAP_BRKPT)
		return 0;
	ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &place);
	regs.pc += 4;
	ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &place);
	return 1;
#endif
}

/* Step to the next mark. Return -1 if the program ended or was signaled before it. */
static long count_steps(pid_t pid)
{
	int status;
	for (long steps = 0;; steps++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) || waitpid(pid, &status, 0) != pid)
			return -1;
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			return -1;
		if (at_mark(pid))
			return steps;
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	pid_t pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	long steps = -1;
	int status, status_at_exec = 1;
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		int signal_number = WSTOPSIG(status);
		if (signal_number == SIGTRAP) {
			signal_number = 0;
			if (status_at_exec)
				ptrace(PTRACE_SETOPTIONS, pid, 0,
					PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC);
			else if (steps < 0 && at_mark(pid))
				steps = count_steps(pid);
			status_at_exec = 0;
		}
		ptrace(PTRACE_CONT, pid, 0, signal_number);
	}
	if (steps < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		return 1;
	fprintf(stderr, "steps %ld\n", steps);
	return 0;
}
