/* SPDX-License-Identifier: Apache-2.0 */
/*
 * altstack_nested.c - handlers on alternate stacks above and below the program's stack make wrapped
 * calls while a wrapped call waits.
 *
 * A call that waits while a handler on another stack runs must be one call: recorded once, and not
 * taken for abandoned. The address of a stack does not say which flow of control has left the
 * other.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define ROUNDS 20
static int zero_fd, pipe_fd[2];

static void handler(int signal)
{
	char byte;
	(void)signal;
	require(pread(zero_fd, &byte, 1, 0) == 1, "pread in the handler");
	require(write(pipe_fd[1], "x", 1) == 1, "write in the handler");
}

static void *knock(void *thread)
{
	app_sleep_ms(10);
	pthread_kill(*(pthread_t *)thread, SIGUSR1);
	return NULL;
}

/* The read below waits until the handler has written, which runs on its own stack. */
static void one_round(void)
{
	pthread_t self = pthread_self(), knocker;
	char byte;
	pthread_create(&knocker, NULL, knock, &self);
	require(read(pipe_fd[0], &byte, 1) == 1, "read");
	pthread_join(knocker, NULL);
}

static void on_stack(char *memory, size_t size, const char *text)
{
	stack_t stack = {.ss_sp = memory, .ss_size = size};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < ROUNDS; i++)
		one_round();
	check(1, text);
}

struct place {
	char *memory;
	size_t size;
	const char *text;
};

static void *run_on(void *place)
{
	struct place *p = place;
	on_stack(p->memory, p->size, p->text);
	return NULL;
}

/* Start a thread whose stack and alternate stack are in one mapping, in the given order. */
static void thread_with(int handler_above)
{
	size_t half = 256 * 1024;
	char *memory =
		mmap(NULL, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;
	struct place p = {memory + (handler_above ? half : 0), half,
		handler_above ? "handler's stack above" : "handler's stack below"};
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, memory + (handler_above ? 0 : half), half);
	pthread_create(&thread, &attributes, run_on, &p);
	pthread_join(thread, NULL);
}

int main(void)
{
	zero_fd = open("/dev/zero", O_RDONLY);
	if (pipe(pipe_fd))
		return 1;
	thread_with(0);
	thread_with(1);
	say("expect %d pread", 2 * ROUNDS);
	say("expect %d read", 2 * ROUNDS);
	say("expect-abandoned 0 read");
	return app_result();
}
