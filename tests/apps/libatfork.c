/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libatfork.c - a library whose constructor, before the tracer's, registers fork handlers. They
 * make wrapped calls before the fork and on both sides after it, as allocators do with their locks;
 * the child's handler starts a thread, as sanitizers and thread pools do.
 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

int atfork_thread_calls;
static int zero_fd;

static void *thread_main(void *unused)
{
	char byte;
	for (int i = 0; i < 4000; i++) /* more than a chunk: the spool has to grow */
		__atomic_fetch_add(
			&atfork_thread_calls, pread(zero_fd, &byte, 1, 0) == 1, __ATOMIC_RELAXED);
	return unused;
}

static pthread_t thread;

static void read_some(int calls)
{
	char byte;
	for (int i = 0; i < calls; i++)
		if (pread(zero_fd, &byte, 1, 0) != 1)
			_exit(90);
}

static void before_fork(void)
{
	read_some(3);
}

static void in_parent(void)
{
	read_some(200);
}

static void in_child(void)
{
	read_some(200);
	if (pthread_create(&thread, 0, thread_main, 0))
		_exit(91);
}

void atfork_join(void)
{
	pthread_join(thread, 0);
}

__attribute__((constructor)) static void begin(void)
{
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	pthread_atfork(before_fork, in_parent, in_child);
}
