/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refuse.c - runs a program whose perf_event_open() fails with EPERM, as behind the default filter
 * of containers, or timer_create(), too.
 *
 *     refuse perf|all PROGRAM [ARGUMENT...]
 */
#include "app.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
	unsigned timers =
		argc > 1 && !strcmp(argv[1], "all") ? SYS_timer_create : SYS_perf_event_open;
	struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, timers, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("refuse");
		return 99;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 98;
}
