/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_workload.c - counts its own calls, so that a report can be compared with the counts.
 *
 * Nothing captured may be lost. THREADS threads (the main one included) make wrapped calls as fast
 * as they can and count each one in a shared file, `begun` before and `done` after it. Whenever
 * and however the process dies, a complete report must contain between `done` and `begun` calls of
 * each thread and function.
 *
 *     counter_workload FILE THREADS MODE [DELAY_MS | told]
 *
 * MODE selects what the main thread does after DELAY_MS, or as soon as another process sets `told`
 * in FILE, while the others continue: wait (for ever) return exit _exit quick_exit exec abort segv
 * raw_exit. With "finish" every thread makes exactly
 * DELAY_MS * 100 rounds and the process ends normally.
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#define SLOTS 64
#define FUNCTIONS 4 /* pread write sched_yield read, in this order: tests/e2e/lib.py knows it */

struct slot {
	uint64_t tid;
	uint64_t begun[FUNCTIONS], done[FUNCTIONS];
	uint64_t pad[7];
};

struct books {
	uint64_t pid, threads_begun, told, pad[13]; /* lib.py knows the layout */
	struct slot slot[SLOTS];
};

static volatile struct books *books;
static int zero_fd, null_fd;
static volatile int *volatile nowhere;
static uint64_t rounds_max; /* 0 = no end */

#define COUNTED(slot, n, call)                     \
	do {                                       \
		(slot)->begun[n]++;                \
		__asm__ volatile("" ::: "memory"); \
		if ((call) < 0)                    \
			abort();                   \
		__asm__ volatile("" ::: "memory"); \
		(slot)->done[n]++;                 \
	} while (0)

static void one_round(volatile struct slot *slot)
{
	char byte[8];
	COUNTED(slot, 0, pread(zero_fd, byte, sizeof(byte), 0));
	COUNTED(slot, 1, write(null_fd, byte, sizeof(byte)));
	COUNTED(slot, 2, sched_yield());
	COUNTED(slot, 3, read(zero_fd, byte, sizeof(byte)));
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Run rounds until `end_ms` (0 = forever), or until it is told to end, or the limit of rounds. */
static void work(volatile struct slot *slot, uint64_t end_ms)
{
	slot->tid = (uint64_t)app_tid();
	__atomic_fetch_add(&books->threads_begun, 1, __ATOMIC_SEQ_CST);
	for (uint64_t n = 0; !rounds_max || n < rounds_max; n++) {
		one_round(slot);
		if (end_ms && (books->told || now_ms() >= end_ms))
			return;
	}
}

static void *worker(void *slot)
{
	work(slot, 0);
	return NULL;
}

static void end_by(const char *mode)
{
	if (!strcmp(mode, "exit"))
		exit(3);
	if (!strcmp(mode, "_exit"))
		_exit(3);
	if (!strcmp(mode, "quick_exit"))
		quick_exit(3);
	if (!strcmp(mode, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 3", NULL);
	if (!strcmp(mode, "abort"))
		abort();
	if (!strcmp(mode, "segv"))
		*nowhere = 0;
	if (!strcmp(mode, "raw_exit"))
		syscall(SYS_exit_group, 3);
}

static void open_books(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct books)))
		exit(100);
	books = mmap(NULL, sizeof(struct books), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (books == MAP_FAILED)
		exit(101);
	close(fd);
	books->pid = (uint64_t)getpid();
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 102;
	int threads = atoi(argv[2]);
	const char *mode = argv[3];
	uint64_t delay_ms = argc > 4 ? strtoull(argv[4], NULL, 10) : 0, end_ms = 0;
	pthread_t thread[SLOTS];

	open_books(argv[1]);
	if (!strcmp(mode, "finish"))
		rounds_max = delay_ms * 100;
	else if (argc > 4 && !strcmp(argv[4], "told"))
		end_ms = UINT64_MAX;
	else if (strcmp(mode, "wait"))
		end_ms = now_ms() + delay_ms;
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread[i], NULL, worker, (void *)&books->slot[i]))
			return 103;
	work(&books->slot[0], end_ms);
	end_by(mode);
	if (rounds_max)
		for (int i = 1; i < threads; i++)
			pthread_join(thread[i], NULL);
	return 3;
}
