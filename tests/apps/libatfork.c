/*
 * libatfork - a library whose constructor, before the tracer's, registers a handler for forked
 * children that makes wrapped calls and starts a thread, as sanitizers and thread pools do.
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

static void in_child(void)
{
	char byte;
	for (int i = 0; i < 2; i++)
		if (pread(zero_fd, &byte, 1, 0) != 1)
			_exit(90);
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
	pthread_atfork(0, 0, in_child);
}
