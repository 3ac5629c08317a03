/* SPDX-License-Identifier: Apache-2.0 */
/* libearly.c - a library of the program whose constructor runs before a preloaded library's: it
 * reads, starts a thread and forks. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

int early_calls;
static int zero_fd;

static void *thread_main(void *unused)
{
	char byte;
	for (int i = 0; i < 10; i++)
		early_calls += pread(zero_fd, &byte, 1, 0) == 1;
	return unused;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;
	int status = 0;
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	thread_main(0);
	if (!pthread_create(&thread, 0, thread_main, 0))
		pthread_join(thread, 0);
	pid_t pid = fork();
	if (!pid) {
		thread_main(0);
		_exit(5);
	}
	early_calls += waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5;
}

__attribute__((destructor)) static void end(void)
{
	thread_main(0);
	close(zero_fd);
}
