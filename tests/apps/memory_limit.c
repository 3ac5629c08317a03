/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_limit.c - runs under a small RLIMIT_AS, or under mlockall(MCL_FUTURE) with a small
 * RLIMIT_MEMLOCK, or starts under an RLIMIT_DATA of 1 MiB.
 *
 * The tracer must map little memory. When it gets no more, it must count the events that it cannot
 * record. The program's own allocations, threads and forks must work if the limits leave room for
 * them.
 *
 *     memory_limit as|lock|data
 */
#include "app.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define CALLS 20000
static int zero_fd;

static void work(void)
{
	char byte;
	for (int i = 0; i < CALLS; i++)
		require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
}

static void *thread_main(void *unused)
{
	work();
	return unused;
}

static size_t mapped_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (!f || fscanf(f, "%lu", &pages) != 1)
		pages = 1u << 20;
	fclose(f);
	return pages * 4096;
}

static void threads_and_fork(void)
{
	pthread_attr_t attributes;
	pthread_t thread[4];
	int status = 0;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	work();
	for (int i = 0; i < 4; i++)
		require(!pthread_create(&thread[i], &attributes, thread_main, NULL),
			"pthread_create");
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	check(1, "four threads run under the limit");
	pid_t pid = fork();
	if (!pid) {
		work();
		_exit(5);
	}
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5,
		"a forked child runs under the limit");
}

/* The limit does not apply to root as long as it has the capability. */
static void drop_lock_capability(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];
	if (syscall(SYS_capget, &header, data))
		return;
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	data[0].permitted &= ~(1u << CAP_IPC_LOCK);
	require(!syscall(SYS_capset, &header, data), "drop CAP_IPC_LOCK");
}

static void lock_memory(void)
{
	struct rlimit limit = {8u << 20, 8u << 20};
	drop_lock_capability();
	check(!setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit");
	check(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
}

/* The limit includes the data of the C library, the tracer and the program from the start. */
static int start_with_little_data(char **argv)
{
	struct rlimit limit = {1u << 20, 1u << 20};
	char *again[] = {argv[0], "started", NULL};
	check(!setrlimit(RLIMIT_DATA, &limit), "setrlimit");
	execv("/proc/self/exe", again);
	return 1;
}

static int live_with_little_data(void)
{
	work();
	void *p = malloc(400u << 10);
	check(p != NULL, "the program can allocate 400 KiB of 1 MiB of data");
	free(p);
	say("expect-at-most %d pread", CALLS);
	return app_result();
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "data"))
		return start_with_little_data(argv);
	zero_fd = open("/dev/zero", O_RDONLY);
	if (argc > 1 && !strcmp(argv[1], "started"))
		return live_with_little_data();
	if (argc > 1 && !strcmp(argv[1], "lock")) {
		lock_memory();
	} else {
		size_t room = mapped_bytes() + (12u << 20);
		struct rlimit limit = {room, room};
		check(!setrlimit(RLIMIT_AS, &limit), "setrlimit");
	}
	threads_and_fork();
	void *p = malloc(4u << 20);
	check(p != NULL, "the program can allocate 4 MiB of its own");
	free(p);
	say("expect-at-most %d pread", CALLS * 6);
	return app_result();
}
