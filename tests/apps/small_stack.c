/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_stack.c - threads with small stacks: 64 KiB, PTHREAD_STACK_MIN, and a handler on the
 * smallest alternate stack.
 *
 * Wrappers, thread start and thread end must use so little stack that nothing overflows; guard
 * bytes below the stacks must stay unchanged.
 */
#include "app.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define CALLS 50
static int zero_fd;

static void calls(void)
{
	char byte;
	for (int i = 0; i < CALLS; i++)
		require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
}

static void *thread_main(void *unused)
{
	calls();
	return unused;
}

static void with_size(const char *name, size_t size)
{
	pthread_attr_t attributes;
	pthread_t thread[4];
	pthread_attr_init(&attributes);
	if (!check(!pthread_attr_setstacksize(&attributes, size), name))
		return;
	for (int i = 0; i < 4; i++)
		require(!pthread_create(&thread[i], &attributes, thread_main, NULL),
			"pthread_create");
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	pthread_attr_destroy(&attributes);
}

/* Run a thread on a stack of the caller, with a page of known bytes below it. */
static void with_own_stack(size_t size)
{
	pthread_attr_t attributes;
	pthread_t thread;
	unsigned char *memory =
		mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int intact = 1;
	memset(memory, 0x5a, 4096);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, memory + 4096, size);
	if (check(!pthread_create(&thread, &attributes, thread_main, NULL),
		    "thread on the caller's stack"))
		pthread_join(thread, NULL);
	for (int i = 0; i < 4096; i++)
		intact &= memory[i] == 0x5a;
	check(intact, "nothing written below it");
}

#define ROOM 1024 /* for a call in the handler */
static volatile int handled;
static unsigned char *signal_stack;

static __attribute__((noinline)) void handle(void)
{
	char byte;
	handled += pread(zero_fd, &byte, 1, 0) == 1;
}

/* Make a call with ROOM bytes of stack. _SC_MINSIGSTKSZ counts the registers of all units, but the
 * kernel stores those of some units (AMX: 8 KiB) only if they are in use; what it leaves free is
 * taken up here, so that the handler has as little room as on a machine where it leaves none. */
static void handler(int signal)
{
	unsigned char here;
	size_t room = (size_t)(&here - signal_stack);
	volatile unsigned char *surplus = room > ROOM ? __builtin_alloca(room - ROOM) : NULL;
	(void)signal;
	if (surplus)
		surplus[0] = 1;
	handle();
}

static void with_small_altstack(void)
{
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + ROOM;
	unsigned char *memory =
		mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal_stack = memory + 4096;
	stack_t stack = {.ss_sp = signal_stack, .ss_size = size};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	int intact = 1;
	memset(memory, 0x5a, 4096);
	check(!sigaltstack(&stack, NULL), "sigaltstack of the least size");
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < CALLS; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 4096; i++)
		intact &= memory[i] == 0x5a;
	check(handled == CALLS && intact, "handlers ran on it and stayed on it");
}

int main(void)
{
	zero_fd = open("/dev/zero", O_RDONLY);
	with_size("64 KiB stacks", 65536);
	with_size("PTHREAD_STACK_MIN stacks", (size_t)PTHREAD_STACK_MIN);
	with_own_stack(65536);
	with_own_stack((size_t)PTHREAD_STACK_MIN);
	with_small_altstack();
	say("expect %d pread", CALLS * 11);
	return app_result();
}
