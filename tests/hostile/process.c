/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - actions that change the process or execute another program.
 */
#include "actions.h"
#include "hostile.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx.h"

#define MANY_VARIABLES 1500

static unsigned child_traits(const struct task *t)
{
	return (t->traits & FRAGILE) | (t->traits & MANY ? FRAGILE : 0);
}

/* ---- exec ---- */

void act_exec(struct task *t)
{
	struct again again;
	struct task child;
	bool by_vfork = roll(t, 2);
	task_make(&child, t, "e", 0, 0);
	again_make(&again, &child, 0);
	int pid = by_vfork ? FORKED(vfork, vfork()) : FORKED(fork, fork());
	if (!pid) {
		if (!by_vfork)
			book_begin(0);
		else
			book_member(pid_now());
		BEGUN(execve, 1);
		execve(self_path, again.argv, environ);
		RAW1(exit_group, 99);
	}
	reap(t, pid);
}

/* Return an environment with the program's variables and many more. */
static char **variables_many(void)
{
	static char *variables[MANY_VARIABLES + 300], text[16] = "HOSTILE=x";
	unsigned count = 0;
	for (char **at = environ; *at && count < 200; at++)
		variables[count++] = *at;
	for (unsigned i = 0; i < MANY_VARIABLES; i++)
		variables[count++] = text;
	variables[count] = NULL;
	return variables;
}

struct spawn {
	struct again again;
	char **environment;
	int pid, error;
};

static void *spawn_body(void *argument)
{
	struct spawn *s = argument;
	s->error = COUNTED(posix_spawn,
		posix_spawn(&s->pid, self_path, NULL, NULL, s->again.argv, s->environment));
	return NULL;
}

/* Call posix_spawn(), sometimes from a thread with the smallest stack and a large environment. */
void act_spawn(struct task *t)
{
	struct task child;
	static struct spawn s;
	pthread_t thread;
	pthread_attr_t attributes;
	unsigned how = roll(t, 4);
	task_make(&child, t, "s", 0, 0);
	again_make(&s.again, &child, 0);
	s.environment = how & 1 ? variables_many() : environ;
	s.pid = 0;
	if (how < 2 || t->traits & FRAGILE) {
		spawn_body(&s);
	} else {
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, how == 3 ? 16 << 10 : 64 << 10);
		CALL(t, pthread_create, pthread_create(&thread, &attributes, spawn_body, &s));
		CALL(t, pthread_join, pthread_join(thread, NULL));
	}
	tell(t, " spawn=%d", s.error);
	reap(t, s.pid);
}

void act_exec_fails(struct task *t)
{
	char *arguments[] = {(char *)"none", NULL};
	if (roll(t, 2)) {
		CALL(t, execve, execve("/nowhere/at/all", arguments, environ));
		return;
	}
	/* An environment without a NULL at its end. */
	char *pages = (char *)raw(
		SYS_mmap, 0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	RAW3(mprotect, pages + 4096, 4096, PROT_NONE);
	char **variables = (char **)(void *)pages;
	for (unsigned i = 0; i < 4096 / sizeof(*variables); i++)
		variables[i] = (char *)"HOSTILE=x";
	CALL(t, execve, execve(self_path, arguments, variables));
	RAW2(munmap, pages, 8192);
}

void act_shell(struct task *t)
{
	CALL(t, system, system("exit 5"));
}

/* ---- libraries ---- */

static void nothing(struct task *t)
{
	(void)t;
}

/* Look functions up in ways that depend on the caller, call one, and compare their addresses. */
static void look_up(struct task *t, void *library)
{
	typedef void (*through)(void (*run)(struct task * t), struct task *t);
	void *(*from_there)(const char *, int) =
		(void *(*)(const char *, int))dlsym(library, "hostile_found");
	through here = (through)dlsym(RTLD_DEFAULT, "hostile_through");
	through next = (through)dlsym(RTLD_NEXT, "hostile_through");
	if (!from_there || !here)
		return;
	here(nothing, t);
	tell(t, " found=%d%d%d%d%d%d", here == next, here == from_there("hostile_through", 0),
		from_there("hostile_through", 1) != NULL, from_there("hostile_found", 0) != NULL,
		dlsym(RTLD_DEFAULT, "hostile_found") != NULL,
		dlvsym(library, "hostile_found", "HOSTILE_1") != NULL);
}

void act_dlopen(struct task *t)
{
	for (unsigned times = 1 + roll(t, 2); times; times--) {
		void *library = dlopen("libhostile.so", RTLD_NOW | RTLD_LOCAL);
		int (*plugin)(int) =
			library ? (int (*)(int))dlsym(library, "hostile_plugin") : NULL;
		/* The library does not count its calls: count them here. */
		BEGUN(open, 1);
		BEGUN(read, 10);
		BEGUN(close, 1);
		tell(t, " plugin=%d", plugin ? plugin(10) : -1);
		if (library) {
			DONE(open, 1);
			DONE(read, 10);
			look_up(t, library);
			CALL(t, dlclose, dlclose(library));
		}
	}
}

/* ---- descriptors ---- */

void act_closefrom(struct task *t)
{
	int first = 3 + (int)roll(t, 3);
	unsigned how = roll(t, 3);
	if (how == 0)
		COUNTED_VOID(closefrom, closefrom(first));
	else if (how == 1)
		CALL(t, close_range, close_range((unsigned)first, ~0U, 0));
	else
		for (int i = first; i < 40; i++)
			RAW1(close, i);
	if (first == 3)
		descriptors_open();
}

static void *churn_body(void *argument)
{
	struct task *t = argument;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	for (int i = 0; i < 20; i++) {
		COUNTED(pthread_mutex_lock, pthread_mutex_lock(&mutex));
		COUNTED(sched_yield, sched_yield());
		COUNTED(pthread_mutex_unlock, pthread_mutex_unlock(&mutex));
	}
	return t;
}

/* Start threads that use no descriptor, while this thread closes and opens the lowest one. */
void act_churn(struct task *t)
{
	pthread_t thread[2];
	unsigned wrong = 0, made;
	for (int round = 0; round < 8; round++) {
		made = 0;
		while (made < 2 &&
			!COUNTED(
				pthread_create, pthread_create(&thread[made], NULL, churn_body, t)))
			made++;
		for (int i = 0; i < 10; i++) {
			int lowest = (int)RAW1(dup, 0);
			RAW1(close, lowest);
			int fd = COUNTED(open, open("/dev/null", O_RDWR));
			wrong += fd != lowest;
			if (i % 2)
				COUNTED(close, close(fd));
			else
				COUNTED_VOID(closefrom, closefrom(fd));
			wrong += RAW3(fcntl, fd, F_GETFD, 0) != -EBADF;
		}
		while (made)
			COUNTED(pthread_join, pthread_join(thread[--made], NULL));
	}
	tell(t, " wrong=%u", wrong);
	if (RAW3(fcntl, zero_fd, F_GETFD, 0) < 0 || RAW3(fcntl, null_fd, F_GETFD, 0) < 0)
		descriptors_open();
}

/* Check that the tracer keeps a POSIX lock on the program's own file: the kernel releases it when
 * the process closes any descriptor of that file. */
void act_file_lock(struct task *t)
{
	struct again again;
	struct task child;
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int fd = (int)RAW3(open, self_path, O_RDONLY | O_CLOEXEC, 0), pid = 0;
	if (fd < 0)
		return;
	CALL(t, fcntl, fcntl(fd, F_SETLK, &lock));
	task_make(&child, t, "l", 0, 0);
	child.budget = 0;
	again_make(&again, &child, 0);
	int error =
		COUNTED(posix_spawn, posix_spawn(&pid, self_path, NULL, NULL, again.argv, environ));
	tell(t, " spawn=%d", error);
	int asker = (int)RAW0(fork);
	if (!asker) {
		lock.l_type = F_WRLCK;
		RAW3(fcntl, fd, F_GETLK, &lock);
		RAW1(exit_group, lock.l_type == F_RDLCK);
	}
	int status = 0;
	RAW4(wait4, asker, &status, 0, 0);
	tell(t, " locked=%x", (unsigned)status);
	reap(t, pid);
	RAW1(close, fd);
}

/* ---- limits ---- */

/* Return the size of the address space that the process has mapped, plus `bytes`. */
static uint64_t mapped_and(uint64_t bytes)
{
	char text[64] = "";
	int fd = (int)RAW3(open, "/proc/self/statm", O_RDONLY, 0);
	if (fd < 0)
		return RLIM_INFINITY;
	RAW3(read, fd, text, sizeof(text) - 1);
	RAW1(close, fd);
	return strtoull(text, NULL, 10) * 4096 + bytes;
}

static void limit(int what, uint64_t value)
{
	struct rlimit64 both = {value, value};
	RAW4(prlimit64, 0, what, &both, NULL);
}

/* Less than the stack of a thread, and much more than all else. */
#define DATA_ROOM (4u << 20)

/* Return the private memory that is mapped, as RLIMIT_DATA counts it; 0 = not known. */
static uint64_t data_mapped(void)
{
	char text[4096] = "";
	int fd = (int)RAW3(open, "/proc/self/status", O_RDONLY, 0);
	if (fd < 0)
		return 0;
	RAW3(read, fd, text, sizeof(text) - 1);
	RAW1(close, fd);
	const char *line = strstr(text, "\nVmData:");
	return line ? strtoull(line + sizeof("\nVmData:"), NULL, 10) * 1024 : 0;
}

void data_limit_renew(void)
{
	struct rlimit64 limit;
	uint64_t data = data_mapped();
	if (!data || RAW4(prlimit64, 0, RLIMIT_DATA, NULL, &limit) ||
		limit.rlim_cur == RLIM_INFINITY)
		return;
	limit.rlim_cur = data + DATA_ROOM < limit.rlim_max ? data + DATA_ROOM : limit.rlim_max;
	RAW4(prlimit64, 0, RLIMIT_DATA, &limit, NULL);
}

/* Limit the data memory of the program that is executed next. It can give itself room again. */
static void limit_data(uint64_t value)
{
	struct rlimit64 limit;
	if (RAW4(prlimit64, 0, RLIMIT_DATA, NULL, &limit) || limit.rlim_max < value)
		return;
	limit.rlim_cur = value;
	RAW4(prlimit64, 0, RLIMIT_DATA, &limit, NULL);
}

void act_limits(struct task *t)
{
	struct task child;
	task_make(&child, t, "m", 0, child_traits(t));
	unsigned what = roll(t, 7);
	int pid = FORKED(fork, fork());
	if (!pid) {
		switch (what) {
		case 0:
			limit(RLIMIT_NOFILE, 8);
			break;
		case 1:
			limit(RLIMIT_NOFILE, 3);
			break;
		case 2:
			limit(RLIMIT_FSIZE, 0);
			break;
		case 3:
			limit(RLIMIT_MEMLOCK, 0);
			break;
		case 4:
			limit(RLIMIT_AS, mapped_and(256 << 20));
			break;
		case 5:
			limit(RLIMIT_NPROC, 1);
			break;
		default:
			limit(RLIMIT_STACK, 256 << 10);
		}
		process_run(&child, 0);
	}
	reap(t, pid);
}

/* Start a program under limits. */
void act_limits_exec(struct task *t)
{
	struct again again;
	struct task child;
	unsigned what = roll(t, 4);
	task_make(&child, t, "n", 0, 0);
	again_make(&again, &child, 0);
	int pid = FORKED(fork, fork());
	if (!pid) {
		book_begin(0);
		if (what == 0)
			limit_data(1 << 20);
		else if (what == 1)
			limit(RLIMIT_NOFILE, 6);
		else if (what == 2)
			limit(RLIMIT_FSIZE, 0);
		else
			limit(RLIMIT_STACK, 128 << 10);
		BEGUN(execve, 1);
		execve(self_path, again.argv, environ);
		RAW1(exit_group, 99);
	}
	reap(t, pid);
}

/* ---- filters and users ---- */

/* The system calls that a FILTERED task needs, and those that the start of a program needs. */
static const int allowed[] = {SYS_read, SYS_write, SYS_pread64, SYS_readv, SYS_writev, SYS_poll,
	SYS_sched_yield, SYS_close, SYS_getpid, SYS_gettid, SYS_rt_sigprocmask, SYS_sigaltstack,
	SYS_rt_sigreturn, SYS_exit_group, SYS_exit};
static const int allowed_start[] = {SYS_execve, SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect,
	SYS_open, SYS_openat, SYS_fstat, SYS_newfstatat, SYS_stat, SYS_access, SYS_arch_prctl,
	SYS_set_tid_address, SYS_set_robust_list, 334, SYS_prlimit64, SYS_getrandom, SYS_futex,
	SYS_readlink, SYS_lseek, SYS_madvise, SYS_fcntl, SYS_wait4};

static unsigned filter_add(
	struct sock_filter *code, unsigned length, const int *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		code[length++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	return length;
}

static void filter_enter(unsigned how, uint32_t otherwise, bool start)
{
	struct sock_filter code[120];
	unsigned length = 0;
	code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	length = filter_add(code, length, allowed, sizeof(allowed) / sizeof(int));
	if (start)
		length = filter_add(
			code, length, allowed_start, sizeof(allowed_start) / sizeof(int));
	code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	struct sock_fprog program = {(unsigned short)length, code};
	RAW4(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
	if (how == 0)
		COUNTED(prctl, prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	else if (how == 1)
		COUNTED(syscall, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
	else
		RAW3(seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static const uint32_t refusals[] = {
	SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ERRNO | 38};

void act_seccomp(struct task *t)
{
	struct task child;
	unsigned how = roll(t, 3), refusal = roll(t, 4);
	task_make(&child, t, "y", 0, PURE | FILTERED);
	int pid = FORKED(fork, fork());
	if (!pid) {
		book_begin(0);
		if (child.slot)
			child.slot->pid = pid_now();
		filter_enter(how, refusals[refusal], false);
		task_run(&child);
		process_end(&child);
	}
	reap(t, pid);
}

#define LOADER_FDS 8 /* more than the loader opens beside those of the program */

/* Start a program inside a filter. Not without descriptors: the loader would then print that it
 * cannot open the preloaded library, which the filter may forbid; nothing of the tracer runs. */
void act_seccomp_exec(struct task *t)
{
	struct rlimit most;
	if (RAW2(getrlimit, RLIMIT_NOFILE, &most) || most.rlim_cur <= LOADER_FDS)
		return;
	struct task child;
	struct again again;
	unsigned how = roll(t, 3), refusal = roll(t, 4);
	task_make(&child, t, "z", 0, 0);
	again_make(&again, &child, PURE | FILTERED);
	int pid = FORKED(fork, fork());
	if (!pid) {
		book_begin(0);
		filter_enter(how, refusals[refusal], true);
		if (roll(t, 2)) {
			BEGUN(execve, 1);
			execve(self_path, again.argv, environ);
		} else {
			RAW3(execve, self_path, again.argv, environ);
		}
		RAW1(exit_group, 99);
	}
	reap(t, pid);
}

void act_setuid(struct task *t)
{
	struct task child;
	task_make(&child, t, "w", 0, child_traits(t));
	int pid = FORKED(fork, fork());
	if (!pid) {
		if (roll(t, 2)) {
			RAW3(setresgid, 65534, 65534, 65534);
			RAW3(setresuid, 65534, 65534, 65534);
		} else {
			tell(&child, " setuid=%d", setgid(65534) == 0 && setuid(65534) == 0);
		}
		process_run(&child, 0);
	}
	reap(t, pid);
}

/* ---- NVTX ---- */

void act_ranges(struct task *t)
{
	unsigned long first = 0, last = 0;
	unsigned kept = 2100;
	for (unsigned i = 0; i < kept; i++) {
		BEGUN(nvtx_start_end, 1);
		last = nvtxRangeStartA("open");
		first = first ? first : last;
	}
	DONE(nvtx_start_end, kept);
	if (roll(t, 2))
		nvtxRangeEnd(last);
}
