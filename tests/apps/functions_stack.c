/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: machine x86_64
// LINK: -lfunctions -Wl,-z,now
/*
 * functions_stack.c - calls a library where there is little stack: in handlers on small alternate
 * stacks, and at the upper end of a stack, from code without unwind information.
 *
 * Prints the number of calls.
 */
#define _GNU_SOURCE
#include "functions.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096u
#define STACK_BYTES (8 * PAGE)
#define LOCAL_BYTES 2400u
#define ROOM_BYTES 2048u
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static int sum, made;

/* Return a stack with pages around it that cannot be read. */
static char *guarded_stack(void)
{
	char *at =
		mmap(NULL, STACK_BYTES + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || mprotect(at + PAGE, STACK_BYTES, PROT_READ | PROT_WRITE))
		exit(2);
	return at + PAGE;
}

static void call(int signal)
{
	(void)signal;
	sum += f_identity(1);
	made++;
}

static void call_from_large_frame(int signal)
{
	volatile char local[LOCAL_BYTES];
	local[signal] = 1;
	sum += f_identity(local[signal]);
	made++;
}

static void *with_small_stack(void *handler)
{
	size_t least = getauxval(AT_MINSIGSTKSZ);
	stack_t stack = {.ss_sp = guarded_stack(),
		.ss_size = (least ? least : 2 * PAGE) + ROOM_BYTES +
			(handler == call ? 0 : LOCAL_BYTES)};
	struct sigaction action = {.sa_flags = SA_ONSTACK};
	*(void **)&action.sa_handler = handler;
	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		exit(2);
	for (int i = 0; i < 10; i++)
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
	action.sa_handler(0); /* memory and unwind rule are known now */
	for (int i = 0; i < 10; i++)
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
	return NULL;
}

#if defined(__x86_64__)
static jmp_buf above;

void came_back(void);
void came_back(void)
{
	made++;
	longjmp(above, 1);
}

/* Nothing is known of its frame, which is the last one of the stack. */
__asm__(".text\n\t.type unknown, @function\nunknown:\n"
	"\tsubq $8, %rsp\n\tmovl $1, %edi\n\tcall f_identity@plt\n"
	"\taddq $8, %rsp\n\tcall came_back\n\t.size unknown, . - unknown\n");

static void at_upper_end(void)
{
	char *end = guarded_stack() + STACK_BYTES;
	for (volatile int i = 0; i < 10; i++)
		if (!setjmp(above))
			__asm__ volatile("movq %0, %%rsp\n\tjmp unknown"
					 :
					 : "r"(end - 8)
					 : "memory");
}
#else
static void at_upper_end(void)
{
}
#endif

int main(void)
{
	void *handlers[] = {call, call_from_large_frame};
	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, with_small_stack, handlers[i]))
			return 2;
		pthread_join(thread, NULL);
	}
	at_upper_end();
	printf("%d %d\n", made, sum);
	return 0;
}
