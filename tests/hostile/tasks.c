/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks.c - actions that start tasks: threads, and processes of every kind.
 */
#include "actions.h"
#include "hostile.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "nvtx.h"

#define MANY_STACK (256 << 10)

/* Return the traits that limit what a child process of this task may do. */
static unsigned child_traits(const struct task *t)
{
	return (t->traits & (FRAGILE | BOUND | PURE)) | (t->traits & MANY ? FRAGILE : 0);
}

/* ---- threads ---- */

static void *thread_body(void *argument)
{
	struct task *t = argument;
	task_run(t);
	if (roll(t, 4) == 0)
		pthread_exit(argument);
	return argument;
}

void act_threads(struct task *t)
{
	struct task child[4];
	pthread_t thread[4];
	unsigned count = 1 + roll(t, 4), before = t->traits, made = 0;
	static const size_t stack_bytes[] = {0, 0, 16 << 10, 64 << 10};
	for (unsigned i = 0; i < count; i++) {
		pthread_attr_t attributes;
		size_t bytes = stack_bytes[roll(t, 4)];
		pthread_attr_init(&attributes);
		if (bytes)
			pthread_attr_setstacksize(&attributes, bytes);
		t->traits |= MANY;
		task_make(&child[i], t, "t", i, t->traits | (bytes && bytes < 64 << 10 ? PURE : 0));
		if (CALL(t, pthread_create,
			    pthread_create(&thread[i], &attributes, thread_body, &child[i])))
			break;
		made++;
		pthread_attr_destroy(&attributes);
	}
	task_calls(t, 0, 5);
	for (unsigned i = 0; i < made; i++)
		CALL(t, pthread_join, pthread_join(thread[i], NULL));
	t->traits = before;
}

/* Threads that wait for one another. */
struct contended {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	pthread_barrier_t barrier;
	sem_t semaphore;
	unsigned turn, threads, sum;
};
struct contender {
	struct contended *shared;
	unsigned number;
};

static void *contend(void *argument)
{
	struct contender *of = argument;
	struct contended *c = of->shared;
	for (unsigned i = 0; i < 20; i++) {
		COUNTED(pthread_mutex_lock, pthread_mutex_lock(&c->mutex));
		while (c->turn != of->number)
			COUNTED(pthread_cond_wait, pthread_cond_wait(&c->condition, &c->mutex));
		c->turn = (c->turn + 1) % c->threads;
		COUNTED(pthread_cond_broadcast, pthread_cond_broadcast(&c->condition));
		COUNTED(pthread_mutex_unlock, pthread_mutex_unlock(&c->mutex));
		COUNTED(sem_wait, sem_wait(&c->semaphore));
		c->sum++;
		COUNTED(sem_post, sem_post(&c->semaphore));
		if (i % 5 == 0)
			COUNTED(pthread_barrier_wait, pthread_barrier_wait(&c->barrier));
	}
	return NULL;
}

void act_contend(struct task *t)
{
	struct contended c = {.mutex = PTHREAD_MUTEX_INITIALIZER,
		.condition = PTHREAD_COND_INITIALIZER,
		.threads = 3};
	struct contender of[3];
	pthread_t thread[3];
	pthread_barrier_init(&c.barrier, NULL, c.threads);
	sem_init(&c.semaphore, 0, 1);
	for (unsigned i = 0; i < c.threads; i++) {
		of[i] = (struct contender){&c, i};
		if (COUNTED(pthread_create, pthread_create(&thread[i], NULL, contend, &of[i])))
			abort();
	}
	for (unsigned i = 0; i < c.threads; i++)
		CALL(t, pthread_join, pthread_join(thread[i], NULL));
	pthread_barrier_destroy(&c.barrier);
	tell(t, " sum=%u", c.sum);
}

static struct {
	int fd, kind;
	volatile int waits;
} waiting;

static void *wait_for_ever(void *argument)
{
	char byte;
	sem_t never;
	struct timespec long_time = {1000, 0};
	struct pollfd entry = {waiting.fd, POLLIN, 0};
	(void)argument;
	sem_init(&never, 0, 0);
	waiting.waits = 1;
	switch (waiting.kind) {
	case 0:
		COUNTED(read, read(waiting.fd, &byte, 1));
		break;
	case 1:
		COUNTED(sem_wait, sem_wait(&never));
		break;
	case 2:
		COUNTED(poll, poll(&entry, 1, -1));
		break;
	default:
		COUNTED(nanosleep, nanosleep(&long_time, NULL));
	}
	return NULL;
}

void act_cancel(struct task *t)
{
	int fds[2];
	void *value = NULL;
	pthread_t thread;
	if (CALL(t, pipe, pipe(fds)))
		return;
	waiting.fd = fds[0];
	waiting.kind = (int)roll(t, 4);
	waiting.waits = 0;
	if (!CALL(t, pthread_create, pthread_create(&thread, NULL, wait_for_ever, NULL))) {
		while (!waiting.waits)
			RAW0(sched_yield);
		if (roll(t, 2))
			call_rows[0].run(t);
		CALL(t, pthread_cancel, pthread_cancel(thread));
		CALL(t, pthread_join, pthread_join(thread, &value));
		tell(t, " cancelled=%d", value == PTHREAD_CANCELED);
	}
	CALL(t, close, close(fds[0]));
	CALL(t, close, close(fds[1]));
}

/* ---- processes ---- */

void act_fork(struct task *t)
{
	struct task child;
	task_make(&child, t, "f", 0, child_traits(t));
	int pid = FORKED(fork, fork());
	if (!pid)
		process_run(&child, 0);
	if (roll(t, 2))
		task_calls(t, 1, 4);
	reap(t, pid);
}

/* Fork by the raw system call, and by libc's syscall(). */
void act_raw_fork(struct task *t)
{
	struct task child;
	unsigned how = roll(t, 3);
	task_make(&child, t, "r", 0, child_traits(t) | (t->traits & MANY ? PURE : 0));
	long pid = how == 0 ? RAW0(fork)
		: how == 1  ? RAW4(clone, SIGCHLD, 0, 0, 0)
			    : FORKED(syscall, syscall(SYS_fork));
	if (!pid)
		process_run(&child, how == 2);
	if (roll(t, 2))
		task_calls(t, 1, 4);
	reap(t, (int)pid);
}

static _Noreturn __attribute__((noinline)) void vfork_child(struct task *t)
{
	book_member(pid_now());
	if (t->slot)
		t->slot->pid = pid_now();
	task_run(t);
	process_end(t);
}

void act_vfork(struct task *t)
{
	struct task child;
	task_make(&child, t, "v", 0, PURE | BORROWED | (t->traits & BOUND));
	int pid = FORKED(vfork, vfork());
	if (!pid)
		vfork_child(&child);
	reap(t, pid);
}

void act_orphan(struct task *t)
{
	struct task child;
	task_make(&child, t, "o", 0, child_traits(t));
	int pid = FORKED(fork, fork());
	if (!pid) {
		RAW0(setsid);
		book_begin(0);
		if (FORKED(fork, fork()) == 0)
			process_run(&child, 0);
		RAW1(exit_group, 0);
	}
	reap(t, pid);
}

static volatile unsigned crash_calls;

static void *crash_body(void *argument)
{
	struct task *t = argument;
	for (;;) {
		t->step++;
		t->rolls = 0;
		task_calls(t, 1, 3);
		crash_calls++;
	}
	return NULL;
}

/* Start a process that dies while its threads make calls. */
void act_crash(struct task *t)
{
	struct task child[3];
	pthread_t thread;
	int pid = FORKED(fork, fork());
	if (pid) {
		reap(t, pid);
		return;
	}
	struct task own = *t; /* *t may be on the stack of a thread that is not in this process: a
			       * new thread may get that stack */
	t = &own;
	book_begin(0);
	crash_calls = 0;
	unsigned end = roll(t, 5), threads = 0;
	for (unsigned i = 0; i < 3; i++) {
		task_make(&child[i], t, "c", i, PURE | MANY | MUTE);
		if (COUNTED(pthread_create, pthread_create(&thread, NULL, crash_body, &child[i])))
			break;
		threads++;
	}
	while (threads && crash_calls < 100)
		RAW0(sched_yield);
	if (end == 0)
		RAW2(kill, pid_now(), SIGKILL);
	if (end == 1)
		*(volatile int *)16 = 1;
	if (end == 2)
		abort();
	if (end == 3)
		exit(33);
	BEGUN(_exit, 1);
	_exit(44);
}

/* ---- clone ---- */

struct cloned {
	struct task task;
	unsigned flags;
	int tid;
};

static int cloned_body(void *argument)
{
	struct cloned *of = argument;
	struct task *t = &of->task;
	if (!(of->flags & CLONE_VM))
		process_run(t, 0);
	book_member(of->flags & CLONE_THREAD ? tid_now() : pid_now());
	task_run(t);
	if (of->flags & CLONE_THREAD)
		return 0;
	if (roll(t, 3) == 0) {
		BEGUN(_exit, 1);
		_exit(55);
	}
	if (roll(t, 2))
		RAW1(exit_group, 56);
	return 57;
}

/* Clone by the raw system call: return in the parent, call fn(argument) in the child. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
__attribute__((naked, noinline)) static long raw_clone(
	unsigned long flags, void *stack, int *tid, int (*fn)(void *), void *argument, void *tls)
{
	__asm__("and $-16, %rsi\n\t"
		"sub $16, %rsi\n\t"
		"mov %rcx, (%rsi)\n\t"
		"mov %r8, 8(%rsi)\n\t"
		"mov %rdx, %r10\n\t"
		"mov %r9, %r8\n\t"
		"mov $56, %eax\n\t"
		"syscall\n\t"
		"test %rax, %rax\n\t"
		"jnz 1f\n\t"
		"xor %ebp, %ebp\n\t"
		"pop %rax\n\t"
		"pop %rdi\n\t"
		"call *%rax\n\t"
		"mov %eax, %edi\n\t"
		"mov $60, %eax\n\t"
		"syscall\n\t"
		"1: ret");
}
#pragma GCC diagnostic pop

#define THREAD_LIKE                                                                         \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
		CLONE_CHILD_CLEARTID)

static const unsigned clone_flags[] = {
	CLONE_VM | SIGCHLD,
	CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD,
	CLONE_VM,
	THREAD_LIKE,
	CLONE_VM | CLONE_VFORK | SIGCHLD,
	CLONE_FILES | SIGCHLD,
	SIGCHLD,
};

static void cloned_wait(struct task *t, struct cloned *of, int pid)
{
	if (!(of->flags & CLONE_THREAD)) {
		int status = 0;
		long got;
		do
			got = RAW4(wait4, pid, &status, 0x40000000, 0); /* __WALL */
		while (got == -EINTR);
		tell(t, " child=%d status=%x", got == pid, (unsigned)status);
		return;
	}
	while (__atomic_load_n(&of->tid, __ATOMIC_ACQUIRE))
		RAW4(futex, &of->tid, 0, 1, 0); /* FUTEX_WAIT */
}

/* Start a child by clone(), of libc or as a raw system call. With `beside`, parent and child make
 * calls at the same time, with the same thread-local variables. */
static void clone_with(struct task *t, bool beside)
{
	struct cloned of = {
		.flags = clone_flags[roll(t, beside ? 4 : sizeof(clone_flags) / sizeof(int))]};
	bool copies = !(of.flags & CLONE_VM), by_libc = roll(t, 2);
	unsigned before = t->traits;
	task_make(&of.task, t, "k", 0,
		copies ? child_traits(t) | (t->traits & MANY ? PURE : 0)
		       : PURE | BORROWED | (beside ? MUTE : 0) | (t->traits & BOUND));
	of.task.budget = copies ? of.task.budget : 0;
	char *stack = (char *)raw(
		SYS_mmap, 0, MANY_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *top = stack + MANY_STACK;
	of.tid = 1;
	long pid = by_libc
		? COUNTED(clone, clone(cloned_body, top, (int)of.flags, &of, NULL, NULL, &of.tid))
		: raw_clone(of.flags, top, &of.tid, cloned_body, &of, NULL);
	if (beside) {
		t->traits |= PURE | MUTE;
		task_calls(t, 5, 20);
	}
	if (pid > 0)
		cloned_wait(t, &of, (int)pid);
	t->traits = before;
	RAW2(munmap, stack, MANY_STACK);
}

void act_clone(struct task *t)
{
	clone_with(t, false);
}

void act_clone_beside(struct task *t)
{
	clone_with(t, true);
}
