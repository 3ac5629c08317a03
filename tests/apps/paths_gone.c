/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths_gone.c - arguments that a call does not touch, or no longer: the path of an open that waits
 * in the kernel is unmapped, or stays, streams of functions that are asked for nothing are none.
 * Calls of accept() that fail, in a handler that interrupts a call.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define PAGE 4096
#define ACCEPTS 20
#define LONG_PATH 700

static char *path;
static int opener, listener;

static void *open_fifo(void *unused)
{
	(void)unused;
	__atomic_store_n(&opener, app_tid(), __ATOMIC_RELEASE);
	require(!close(open(path, O_RDONLY)), "open() of a FIFO");
	return NULL;
}

/* Return true if the thread waits in the kernel. */
static int is_asleep(int tid)
{
	char name[64], text[256] = "";
	snprintf(name, sizeof(name), "/proc/self/task/%d/stat", tid);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY);
	long bytes = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	const char *end = bytes > 0 ? strrchr(text, ')') : NULL;
	return end && end[2] == 'S';
}

/* Open a FIFO in another thread, by a path whose first `split` bytes end a page; the rest is in the
 * next one. If `unmaps`, both pages are unmapped while open() waits. */
static void open_waiting(const char *fifo, size_t split, int unmaps)
{
	char *page =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	path = strcpy(page + PAGE - split, fifo);
	__atomic_store_n(&opener, 0, __ATOMIC_RELEASE);
	pthread_create(&thread, NULL, open_fifo, NULL);
	while (!__atomic_load_n(&opener, __ATOMIC_ACQUIRE) || !is_asleep(opener))
		sched_yield();
	if (unmaps)
		munmap(page, 2 * PAGE);
	check(!close(open(fifo, O_WRONLY)), "the other end");
	pthread_join(thread, NULL);
}

/* Open it by a long path that stays mapped, in two pages. */
static void open_by_long_path(const char *folder)
{
	char name[LONG_PATH + 8];
	size_t bytes = strlen(strcpy(name, folder));
	while (bytes < LONG_PATH)
		bytes += strlen(strcpy(name + bytes, "/."));
	strcpy(name + bytes, "/fifo");
	open_waiting(name, LONG_PATH / 2, 0);
}

static void accept_nothing(int unused)
{
	(void)unused;
	require(accept(listener, NULL, NULL) == -1 && errno == EAGAIN, "accept() fails");
}

int main(void)
{
	char folder[] = "/tmp/paths_gone.XXXXXX", fifo[64], buffer[1];
	FILE *volatile none = (FILE *)1;
	volatile size_t nothing = 0;
	require(mkdtemp(folder) != NULL, "folder");
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	require(!mkfifo(fifo, 0600), "mkfifo");
	open_waiting(fifo, strlen(fifo) + 1, 1);
	open_waiting(fifo, strlen(fifo) + 1, 0);
	open_by_long_path(folder);
	unlink(fifo);
	rmdir(folder);

	check(!fread(buffer, nothing, 1, none) && !fwrite(buffer, 1, nothing, none) &&
			!fgets(buffer, (int)nothing, none),
		"streams that are not used");

	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	require(!bind(listener, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)) &&
			!listen(listener, 1),
		"listen");
	signal(SIGUSR1, accept_nothing);
	for (int i = 0; i < ACCEPTS; i++)
		require(!kill(getpid(), SIGUSR1), "kill");
	return app_result();
}
