/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp_filter.c - enters a system call filter that kills the process at any call that the
 * program does not need, as sandboxed programs do.
 *
 * The tracer must make no system call that the program does not make itself: neither while
 * recording (more than a chunk is filled), nor in a new signal handler, nor at the end. The second
 * mode is SECCOMP_MODE_STRICT: read, write, exit, sigreturn.
 *
 *     seccomp_filter [strict]
 */
#include "app.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#define CALLS 300000 /* far more than a lane holds without growth */

#define ALLOW(call)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int enter_filter(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), ALLOW(read),
		ALLOW(write), ALLOW(pread64), ALLOW(exit_group), ALLOW(rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	int strict = argc > 1 && !strcmp(argv[1], "strict");
	int zero_fd = open("/dev/zero", O_RDONLY);
	char byte;
	check(strict ? !prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) : !enter_filter(),
		"filter in force");
	for (int i = 0; i < CALLS; i++)
		require(read(zero_fd, &byte, 1) == 1, "read");
	check(1, "reads under the filter");
	say("expect-at-most %d read", CALLS);
	if (strict)
		syscall(SYS_exit, app_result()); /* exit_group would be a forbidden call */
	_exit(app_result());
}
