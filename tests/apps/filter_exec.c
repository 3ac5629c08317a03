/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_exec.c - executes programs inside a system call filter that allows what a loader and a
 * bare program need, and kills the process for any other call. The program enters the filter by an
 * instruction of its own, so no wrapper sees it.
 *
 * The programs must run and end as they do untraced.
 *
 *     filter_exec              fork, filter, exec; and vfork, filter, exec
 *     filter_exec PROGRAM...   filter, exec
 *     filter_exec deny PROGRAM...   a filter like that of containers: refuses a few calls
 */
#include "app.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define ALLOW(call)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static long raw(long number, long a, long b, long c)
{
	long result;
#if defined(__x86_64__)
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
#else
	result = syscall(number, a, b, c, 0, 0);
#endif
	return result;
}

static int enter_filter(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), ALLOW(execve),
		ALLOW(brk), ALLOW(mmap), ALLOW(mprotect), ALLOW(munmap),
#ifdef SYS_access
		ALLOW(access), ALLOW(arch_prctl), ALLOW(readlink),
#endif
		ALLOW(faccessat), ALLOW(openat), ALLOW(read), ALLOW(pread64), ALLOW(close),
		ALLOW(fstat), ALLOW(newfstatat), ALLOW(set_tid_address), ALLOW(set_robust_list),
		ALLOW(rseq), ALLOW(prlimit64), ALLOW(getrandom), ALLOW(write), ALLOW(exit_group),
		ALLOW(exit), ALLOW(futex), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	return raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0) ||
		raw(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program);
}

static int enter_container_filter(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_reboot, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	return raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0) ||
		raw(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program);
}

static int inside(void)
{
	char byte = 1;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	check(fd >= 0 && read(fd, &byte, 1) == 1 && !byte && !close(fd), "inside: open and read");
	_exit(app_result() ? 1 : 7);
}

static int ended(pid_t pid)
{
	int status = -1;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static __attribute__((noinline)) pid_t by_vfork(char **arguments)
{
	pid_t pid = vfork();
	if (pid == 0) {
		if (!enter_filter())
			execv("/proc/self/exe", arguments);
		_exit(3);
	}
	return pid;
}

int main(int argc, char **argv)
{
	char *again[] = {argv[0], "inside", NULL};
	if (argc > 1 && !strcmp(argv[1], "inside"))
		return inside();
	if (argc > 2 && !strcmp(argv[1], "deny")) {
		if (!enter_container_filter())
			execvp(argv[2], argv + 2);
		return 3;
	}
	if (argc > 1) {
		if (!enter_filter())
			execvp(argv[1], argv + 1);
		return 3;
	}
	pid_t pid = fork();
	if (!pid) {
		if (!enter_filter())
			execv("/proc/self/exe", again);
		_exit(3);
	}
	check(ended(pid) == 7, "fork, filter and exec");
	check(ended(by_vfork(again)) == 7, "vfork, filter and exec");
	return app_result();
}
