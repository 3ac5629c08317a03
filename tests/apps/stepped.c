/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -lfunctions -Wl,-z,lazy
/*
 * stepped.c - interrupts a traced call at each of its instructions in turn: the handler forks,
 * switches to another stack, leaves by siglongjmp(), or only makes calls.
 *
 * The program must behave as it does untraced, and each call must be in the report once, or counted
 * as missing.
 *
 *     stepped fork|_Fork|bare|switch|cross|jump|call|calls CALL [FIRST STRIDE]
 *
 * The call is stopped after each instruction, in its wrapper and in libc. Trial n acts at the n-th
 * stop; the program ends when a call has fewer than n stops. A forked child makes
 * `trial % 3` calls in the handler, and AFTER calls when the handler has returned. cross: the call
 * on the other stack is interrupted, too, at each of its instructions, and continues after one more
 * call on the first stack. calls: two handlers interrupt the call, at any two of its instructions,
 * and make a call each.
 */
#include "app.h"
#include "functions.h"
#include "stepping.h"

#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#define AFTER 3
#define STACK_BYTES 65536

static uint64_t(*made); /* calls of the parent; of its children */
static volatile int is_child, steps, target, armed, other_target, other_armed, other_steps;
static volatile uint64_t trial;
static const char *how, *what;
static int zero_fd;
static sem_t semaphore;
static sigjmp_buf out;
static ucontext_t here, there;
static char stack[STACK_BYTES] __attribute__((aligned(4096)));

/* Count a call before it is made, so that a fork during the call counts it for the parent only. */
static void count(void)
{
	__atomic_fetch_add(&made[is_child], 1, __ATOMIC_RELAXED);
}

static void call_now(void)
{
	char byte;
	if (!strcmp(what, "pread"))
		require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
	else if (!strcmp(what, "sem_trywait"))
		require(sem_trywait(&semaphore) == -1, "sem_trywait");
	else if (!strcmp(what, "fcntl"))
		require(fcntl(zero_fd, F_GETFD) == 0, "fcntl");
	else if (!strcmp(what, "f_count"))
		f_count();
	else
		sched_yield();
}

static void one_call(void)
{
	count();
	call_now();
}

static void act_fork(void)
{
	int status;
	long pid;
	if (!strcmp(how, "fork"))
		pid = fork();
	else if (!strcmp(how, "_Fork"))
		pid = _Fork();
	else
		pid = step_raw_fork();
	if (pid == 0) {
		is_child = 1;
		for (uint64_t i = 0; i < trial % 3; i++)
			one_call();
		return;
	}
	require(pid > 0, "fork");
	require(syscall(SYS_wait4, pid, &status, 0, NULL) == pid && status == 0,
		"a child's status");
}

static void act(void)
{
	if (*how == 's' || !strcmp(how, "cross"))
		swapcontext(&here, &there);
	else if (*how == 'j')
		siglongjmp(out, 1);
	else if (!strncmp(how, "call", 4))
		one_call();
	else
		act_fork();
}

/* The first stop is the trap before the call. */
static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	int error = errno;
	(void)signal;
	(void)info;
	step_end(at);
	if (other_armed) {
		if (other_steps++ == other_target) {
			other_armed = 0;
			swapcontext(&there, &here);
		} else {
			step_next(at);
		}
	} else if (armed) {
		bool pair = !strcmp(how, "calls"), second = pair && steps == other_target;
		bool last = pair ? second : steps == target;
		bool acts = steps++ == target || second;
		armed = !last;
		if (acts)
			act();
		if (!last)
			step_next(at);
	}
	errno = error;
}

static volatile bool other_rests = true, other_is_over;

static void other(void)
{
	for (;;) {
		other_rests = false;
		if (!strcmp(how, "cross")) {
			other_steps = 0;
			other_armed = 1;
			count();
			STEP_TRAP();
			call_now();
			other_is_over = other_armed;
			other_armed = 0;
		}
		one_call();
		other_rests = true;
		swapcontext(&there, &here);
	}
}

/* Return false if the call has fewer instructions. */
static bool one_trial(void)
{
	steps = 0;
	armed = 1;
	other_is_over = false;
	if (sigsetjmp(out, 1) == 0) {
		count();
		STEP_TRAP();
		call_now();
	}
	bool done = !armed;
	armed = 0;
	if (*how == 'j')
		one_call();
	if (!other_rests) {
		one_call();
		swapcontext(&here, &there); /* the call on the other stack continues */
	}
	if (is_child) {
		for (int i = 0; i < AFTER; i++)
			one_call();
		_exit(app_result());
	}
	return done;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 0) : 0,
		 stride = argc > 4 ? strtoull(argv[4], NULL, 0) : 1;
	how = argc > 1 ? argv[1] : "fork";
	what = argc > 2 ? argv[2] : "pread";
	made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	zero_fd = open("/dev/zero", O_RDONLY);
	sem_init(&semaphore, 0, 0);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK_BYTES;
	makecontext(&there, other, 0);
	sigaction(SIGTRAP, &action, NULL);
	one_call();
	bool pairs = !strcmp(how, "calls") || !strcmp(how, "cross"), more = true;
	for (trial = 0; more; trial++) {
		target = (int)(first + trial * stride);
		other_target = *how == 'c' && how[1] == 'a' ? target + 1 : 0;
		more = one_trial();
		for (bool again = pairs && more; again;) {
			other_target += (int)stride;
			again = one_trial() && !other_is_over;
		}
	}
	check(trial > 5, "the call was interrupted");
	if (app_facts())
		say("facts: call %llu %llu trials %llu", (unsigned long long)made[0],
			(unsigned long long)made[1], (unsigned long long)trial);
	return app_result();
}
