/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stepped_stacks.c - two stacks of a thread, each interrupted within a call: the first one at each
 * of its instructions in turn and the second one in the kernel's part, or the other way round.
 *
 * Then the call of the first stack ends and its next call, from the same stack pointer, is
 * interrupted in turn, before the call of the second stack continues: if the second one has taken
 * the first stack's call for open, this call has ended, and another one has its stack pointer. The
 * process ends on the second stack, so nothing on the first one closes what is left open. Each call
 * must be in the report at most once.
 *
 *     stepped_stacks first|second FIRST STRIDE
 *
 * Each trial is a child, whose calls are counted; trial n acts at instruction FIRST + n * STRIDE,
 * until the call has fewer.
 */
#include "app.h"
#include "stepping.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#define STACK_BYTES 65536
#define AFTER 30       /* calls after the trial, so that its calls are not the last ones */
#define IN_KERNEL (-1) /* stop at the instruction that enters the kernel for the call */
#define TOO_SHORT 3    /* status of a child whose call has fewer instructions */

static uint64_t *made; /* calls of the children */
static volatile int steps, target;
static volatile bool armed;
static int zero_fd;
static ucontext_t first, second;
static ucontext_t *volatile from, *volatile to;
static char stack[STACK_BYTES] __attribute__((aligned(4096)));

static __attribute__((noinline)) void one_call(void)
{
	char byte;
	__atomic_fetch_add(made, 1, __ATOMIC_RELAXED);
	if (armed)
		STEP_TRAP();
	require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
}

/* The first stop is the trap before the call. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	int error = errno;
	(void)number;
	(void)info;
	step_end(at);
	bool acts = target == IN_KERNEL ? step_is_call(at, SYS_pread64) : steps == target;
	steps++;
	if (armed && acts) {
		armed = false;
		swapcontext(from, to);
	} else if (armed) {
		step_next(at);
	}
	errno = error;
}

/* Make a call that is interrupted at instruction `at`: the thread then continues at `there`. */
static void stepped_call(int at, ucontext_t *here, ucontext_t *there)
{
	steps = 0;
	target = at;
	from = here;
	to = there;
	armed = true;
	one_call();
	if (armed)
		_exit(TOO_SHORT);
}

static int first_at, second_at;

/* At first, take the slow paths that block signals: they cannot be stepped. */
static void on_second(void)
{
	one_call();
	swapcontext(&second, &first);
	stepped_call(second_at, &second, &first);
	for (int i = 0; i < AFTER; i++)
		one_call();
	stepped_call(IN_KERNEL, &second, &first);
	one_call();
	_exit(app_result());
}

static void trial(void)
{
	getcontext(&second);
	second.uc_stack.ss_sp = stack;
	second.uc_stack.ss_size = STACK_BYTES;
	makecontext(&second, on_second, 0);
	one_call();
	stepped_call(IN_KERNEL, &first, &second);
	stepped_call(first_at, &first, &second);
	stepped_call(IN_KERNEL, &first, &second);
	swapcontext(&first, &second);
}

/* Return true if the call has that many instructions. */
static bool child(int at, bool is_first)
{
	int status;
	pid_t pid = fork();
	require(pid >= 0, "fork");
	if (pid == 0) {
		first_at = is_first ? at : IN_KERNEL;
		second_at = is_first ? IN_KERNEL : at;
		trial();
	}
	require(waitpid(pid, &status, 0) == pid, "waitpid");
	require(status == 0 || status == TOO_SHORT << 8, "a child ends by itself");
	return status == 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	bool is_first = argc < 2 || !strcmp(argv[1], "first");
	int at = argc > 2 ? atoi(argv[2]) : 0, stride = argc > 3 ? atoi(argv[3]) : 1, trials = 0;
	made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	zero_fd = open("/dev/zero", O_RDONLY);
	sigaction(SIGTRAP, &action, NULL);
	for (; child(at, is_first); at += stride)
		trials++;
	check(trials > 5 / stride, "the call was interrupted");
	if (app_facts())
		say("facts: call %llu trials %d", (unsigned long long)*made, trials);
	return app_result();
}
