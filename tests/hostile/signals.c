/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.c - actions in signal handlers, and on stacks of their own.
 *
 * The actions of the first half send their signals themselves, so the results are the same in each
 * run and are reported. The signals of a storm come from a timer, at any instruction: only the
 * counts of its calls, and how it ended, are compared.
 */
#include "actions.h"
#include "hostile.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES (128 << 10)

static void *stack_new(size_t bytes)
{
	return (void *)raw(
		SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* Send a signal to this thread, in one of several ways. */
static void send_signal(struct task *t, int number)
{
	switch (roll(t, 3)) {
	case 0:
		CALL(t, kill, kill(pid_now(), number));
		break;
	case 1:
		RAW3(tgkill, pid_now(), tid_now(), number);
		break;
	default:
		CALL(t, pthread_kill, pthread_kill(pthread_self(), number));
	}
}

static void handle(struct task *t, int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | flags};
	sigemptyset(&action.sa_mask);
	CALL(t, sigaction, sigaction(number, &action, NULL));
}

/* ---- handlers that return ---- */

static struct task *handler_task;

static void on_task(int number)
{
	int error = errno;
	struct task *t = handler_task;
	(void)number;
	task_run(t);
	errno = error;
}

void act_handler(struct task *t)
{
	struct task child, *before = handler_task;
	stack_t stack = {.ss_sp = NULL, .ss_size = STACK_BYTES}, old;
	int number = t->depth % 2 ? SIGUSR1 : SIGUSR2;
	bool alternate = roll(t, 2);
	task_make(&child, t, "h", 0, t->traits | BOUND);
	handler_task = &child;
	if (alternate) {
		stack.ss_sp = stack_new(STACK_BYTES);
		RAW2(sigaltstack, &stack, &old);
	}
	handle(t, number, on_task, alternate ? SA_ONSTACK : 0);
	send_signal(t, number);
	handle(t, number, SIG_DFL, 0);
	if (alternate && !(old.ss_flags & SS_ONSTACK)) {
		RAW2(sigaltstack, &old, NULL);
		RAW2(munmap, stack.ss_sp, STACK_BYTES);
	}
	handler_task = before;
}

/* ---- handlers that fork: the child returns from the handler, too ---- */

static volatile int forked_pid, fork_how;
static volatile bool is_child;
static struct task *fork_of; /* the task whose line the child may not continue */

static void on_fork(int number)
{
	int error = errno;
	(void)number;
	int pid = fork_how == 0 ? FORKED(fork, fork()) : (int)RAW0(fork);
	if (!pid) {
		/* The code that the handler interrupted may still count in the parent's book. */
		__atomic_fetch_add(&book->slack, 1, __ATOMIC_RELAXED);
		book_begin(2);
		is_child = true;
		if (fork_of)
			fork_of->traits |= MUTE;
	}
	forked_pid = pid;
	errno = error;
}

void act_handler_fork(struct task *t)
{
	struct task child;
	task_make(&child, t, "g", 0, t->traits & (FRAGILE | PURE));
	fork_how = (int)roll(t, 2);
	is_child = false;
	fork_of = t;
	handle(t, SIGUSR1, on_fork, 0);
	send_signal(t, SIGUSR1);
	if (is_child) {
		if (child.slot)
			child.slot->pid = pid_now();
		task_run(&child);
		process_end(&child);
	}
	handle(t, SIGUSR1, SIG_DFL, 0);
	reap(t, forked_pid);
}

/* ---- handlers that leave ---- */

static sigjmp_buf jump_to;
static struct task *volatile jump_task;

static void on_jump(int number)
{
	(void)number;
	task_calls(jump_task, 0, 3);
	siglongjmp(jump_to, 1);
}

void act_jump(struct task *t)
{
	volatile int times = 0;
	jump_task = t;
	handle(t, SIGUSR1, on_jump, 0);
	if (sigsetjmp(jump_to, 1))
		times++;
	if (times < 3) {
		call_rows[times].run(t);
		send_signal(t, SIGUSR1);
	}
	tell(t, " jumps=%d", times);
	handle(t, SIGUSR1, SIG_DFL, 0);
}

static ucontext_t swap_back, swap_there;
static struct task *volatile swap_task;

static void on_swap(int number)
{
	(void)number;
	task_calls(swap_task, 0, 2);
	swapcontext(&swap_there, &swap_back);
	task_calls(swap_task, 0, 2);
}

static void swap_body(void)
{
	task_calls(swap_task, 1, 3);
	send_signal(swap_task, SIGUSR1);
	task_calls(swap_task, 1, 3);
}

static void context_make(ucontext_t *context, void *stack, ucontext_t *next, void (*body)(void))
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK_BYTES;
	context->uc_link = next;
	makecontext(context, body, 0);
}

/* Switch from a handler to another stack, make calls there, and return to the handler. */
void act_swap(struct task *t)
{
	void *stack = stack_new(STACK_BYTES);
	swap_task = t;
	handle(t, SIGUSR1, on_swap, 0);
	context_make(&swap_there, stack, &swap_back, swap_body);
	swapcontext(&swap_back, &swap_there);
	task_calls(t, 1, 4);
	swapcontext(&swap_back, &swap_there);
	handle(t, SIGUSR1, SIG_DFL, 0);
	RAW2(munmap, stack, STACK_BYTES);
}

/* ---- coroutines ---- */

struct coroutine {
	ucontext_t context;
	struct task task;
	bool finished;
};
static struct coroutine *running;
static ucontext_t *scheduler;

static void coroutine_body(void)
{
	struct coroutine *own = running;
	ucontext_t *back = scheduler;
	for (int i = 0; i < 4; i++) {
		own->task.step = 40 + (unsigned)i;
		task_calls(&own->task, 1, 4);
		swapcontext(&own->context, back);
	}
	own->task.step = 0;
	task_run(&own->task);
	own->finished = true;
}

void act_coroutines(struct task *t)
{
	struct coroutine all[3];
	ucontext_t here;
	void *stacks = stack_new(sizeof(all) / sizeof(all[0]) * STACK_BYTES);
	for (unsigned i = 0; i < 3; i++) {
		task_make(&all[i].task, t, "u", i, t->traits | BOUND);
		all[i].finished = false;
		context_make(
			&all[i].context, (char *)stacks + i * STACK_BYTES, &here, coroutine_body);
	}
	for (unsigned left = 3; left;) {
		left = 0;
		for (unsigned i = 0; i < 3; i++) {
			if (all[i].finished)
				continue;
			left++;
			running = &all[i];
			scheduler = &here;
			swapcontext(&here, &all[i].context);
		}
	}
	RAW2(munmap, stacks, 3 * STACK_BYTES);
}

/* ---- storms ---- */

static struct task storm_task; /* the task of the handler */
static volatile unsigned storm_ticks;
static int storm_timer;

static long now_ms(void)
{
	struct timespec now;
	RAW2(clock_gettime, CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void storm_begin(struct task *t, void (*handler)(int))
{
	struct sigevent event = {.sigev_notify = 4, .sigev_signo = SIGALRM}; /* SIGEV_THREAD_ID */
	long interval = 150000 + 1000 * (long)roll(t, 400);
	struct itimerspec times = {{0, interval}, {0, interval}};
	event._sigev_un._tid = tid_now();
	handle(t, SIGALRM, handler, 0);
	storm_task = (struct task){.id = t->id, .traits = PURE | MUTE | BOUND};
	storm_ticks = 0;
	RAW3(timer_create, CLOCK_MONOTONIC, &event, &storm_timer);
	RAW4(timer_settime, storm_timer, 0, &times, NULL);
}

static void storm_end(struct task *t)
{
	RAW1(timer_delete, storm_timer);
	handle(t, SIGALRM, SIG_IGN, 0);
	handle(t, SIGALRM, SIG_DFL, 0);
}

/* Make calls until the handler has run `ticks` times, or a limit is reached. */
static void storm_calls(struct task *t, unsigned ticks)
{
	struct task mute = {.id = t->id + 1, .traits = PURE | MUTE | BOUND};
	long end = now_ms() + 1000;
	while (storm_ticks < ticks && !is_child && now_ms() < end) {
		mute.step++;
		mute.rolls = 0;
		task_calls(&mute, 1, 10);
	}
}

static void on_storm(int number)
{
	int error = errno;
	(void)number;
	storm_ticks++;
	storm_task.step++;
	storm_task.rolls = 0;
	task_calls(&storm_task, 1, 3);
	errno = error;
}

void act_storm(struct task *t)
{
	is_child = false;
	storm_begin(t, on_storm);
	storm_calls(t, 30);
	storm_end(t);
}

static void on_storm_jump(int number)
{
	on_storm(number);
	if (storm_ticks % 2)
		siglongjmp(jump_to, 1);
}

void act_storm_jump(struct task *t)
{
	is_child = false;
	storm_ticks = 0;
	if (sigsetjmp(jump_to, 1) == 0) /* before the first signal may arrive */
		storm_begin(t, on_storm_jump);
	storm_calls(t, 30);
	RAW1(timer_delete, storm_timer);
	sigsetjmp(jump_to, 1); /* the last signal may still arrive */
	storm_ticks++;
	storm_end(t);
}

static void on_storm_fork(int number)
{
	storm_ticks++;
	if (storm_ticks < 7 && !is_child)
		on_fork(number);
}

/* Fork in a handler, at any instruction. Each child returns from the handler and must run to its
 * end. */
static void storm_fork(struct task *t, int how)
{
	int status, bad = 0;
	long got;
	fork_how = how;
	is_child = false;
	fork_of = NULL;
	storm_begin(t, on_storm_fork);
	storm_calls(t, 8);
	if (is_child) {
		struct task mute = {.id = t->id + 2, .traits = PURE | MUTE | BOUND};
		task_calls(&mute, 10, 40);
		RAW1(exit_group, 7);
	}
	storm_end(t);
	while ((got = RAW4(wait4, -1, &status, 0, 0)) > 0 || got == -EINTR)
		if (got > 0 && status != 7 << 8)
			bad = status;
	tell(t, " bad=%x", (unsigned)bad);
}

void act_storm_fork(struct task *t)
{
	storm_fork(t, 0);
}

void act_storm_raw_fork(struct task *t)
{
	storm_fork(t, 1);
}

/* ---- preemptive coroutines ---- */

#define PREEMPTED 3

static struct {
	ucontext_t context[PREEMPTED], back;
	bool finished[PREEMPTED];
	int at;
} preempt;

static int preempt_next(void)
{
	for (int i = 1; i <= PREEMPTED; i++)
		if (!preempt.finished[(preempt.at + i) % PREEMPTED])
			return (preempt.at + i) % PREEMPTED;
	return -1;
}

static void on_preempt(int number)
{
	int error = errno, from = preempt.at, to = preempt_next();
	(void)number;
	storm_ticks++;
	if (to >= 0 && to != from) {
		preempt.at = to;
		swapcontext(&preempt.context[from], &preempt.context[to]);
	}
	errno = error;
}

static void preempt_mask(int how)
{
	uint64_t alarm_mask = 1ull << (SIGALRM - 1);
	RAW4(rt_sigprocmask, how, &alarm_mask, NULL, 8);
}

/* Start with SIGALRM blocked, as getcontext() found it: swapcontext() restores the mask before the
 * registers, and a switch between the two would save this context over itself. */
static void preempt_body(void)
{
	struct task mute = {
		.id = storm_task.id + (unsigned)preempt.at, .traits = PURE | MUTE | BOUND};
	preempt_mask(SIG_UNBLOCK);
	for (int i = 0; i < 200; i++) {
		mute.step++;
		mute.rolls = 0;
		task_calls(&mute, 1, 8);
	}
	preempt_mask(SIG_BLOCK);
	preempt.finished[preempt.at] = true;
	preempt.at = preempt_next();
	setcontext(preempt.at >= 0 ? &preempt.context[preempt.at] : &preempt.back);
}

void act_preempt(struct task *t)
{
	char *stacks = stack_new(PREEMPTED * STACK_BYTES);
	memset(&preempt, 0, sizeof(preempt));
	preempt_mask(SIG_BLOCK);
	for (int i = 0; i < PREEMPTED; i++)
		context_make(&preempt.context[i], stacks + i * STACK_BYTES, NULL, preempt_body);
	storm_begin(t, on_preempt);
	swapcontext(&preempt.back, &preempt.context[0]);
	storm_end(t);
	preempt_mask(SIG_UNBLOCK);
	tell(t, " finished=%d", preempt.finished[0] + preempt.finished[1] + preempt.finished[2]);
	RAW2(munmap, stacks, PREEMPTED * STACK_BYTES);
}
