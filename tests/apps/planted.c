/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planted.c - wastes time in one way, so that a rule of `trace analyze` has to find it; without an
 * argument it wastes none.
 *
 *     planted [convoy | waits | tiny | crowd | rawsleep | starts | hot | even | faults | moves]
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define ROUNDS 20
#define WAITERS 3
#define HOLD_MS 3
#define CROWD_MS 400
#define PIECES 20000
#define STARTS 30

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;
static volatile int finished;
static volatile long taken; /* how often a thread took the lock */
static volatile int members = WAITERS;

__attribute__((noinline)) static void write_the_log(void)
{
	const struct timespec hold = {0, HOLD_MS * 1000000};
	nanosleep(&hold, NULL);
	__asm__ volatile("");
}

/* Each thread takes the lock, keeps it through a slow call, and lets the next one have it. */
static void *convoy_member(void *unused)
{
	pthread_barrier_wait(&together);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		long mine = ++taken;
		write_the_log();
		pthread_mutex_unlock(&lock);
		while (taken == mine && members > 1)
			__asm__ volatile("");
	}
	__atomic_fetch_sub(&members, 1, __ATOMIC_RELAXED);
	return unused;
}

static void *spinner(void *unused)
{
	while (!finished)
		__asm__ volatile("");
	return unused;
}

static void threads_run(int count, void *(*run)(void *), long ms)
{
	pthread_t threads[64];
	struct timespec start, now;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < count; i++)
		require(!pthread_create(&threads[i], NULL, run, NULL), "a thread starts");
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
	finished = 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void convoy(void)
{
	pthread_barrier_init(&together, NULL, WAITERS);
	threads_run(WAITERS, convoy_member, 0);
}

/* Sleep from start to end, in calls that are recorded. */
static void waits(void)
{
	const struct timespec nap = {0, 20000000};
	for (int i = 0; i < 15; i++)
		nanosleep(&nap, NULL);
}

/* Send bytes one by one through a pipe. */
static void tiny(void)
{
	int ends[2];
	char byte = 0;
	require(!pipe(ends), "a pipe");
	for (int i = 0; i < PIECES; i++)
		require(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1,
			"a byte goes through");
}

/* Compute in more threads than there are processors. */
static void crowd(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	threads_run(processors < 16 ? (int)(3 * processors) : 48, spinner, CROWD_MS);
}

/* Sleep in a call that no wrapper sees. */
static void *raw_sleeper(void *unused)
{
	const struct timespec nap = {0, CROWD_MS * 1000000};
	long result = SYS_nanosleep;
	__asm__ volatile("syscall" : "+a"(result) : "D"(&nap), "S"(NULL) : "rcx", "r11", "memory");
	return unused;
}

static void rawsleep(void)
{
	pthread_t threads[64];
	long count = 4 * sysconf(_SC_NPROCESSORS_ONLN);
	for (int i = 0; i < count && i < 64; i++)
		require(!pthread_create(&threads[i], NULL, raw_sleeper, NULL), "a thread starts");
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
}

static void starts(void)
{
	extern char **environ;
	char *const arguments[] = {(char *)"true", NULL};
	for (int i = 0; i < STARTS; i++) {
		pid_t child;
		int status = 0;
		if (require(!posix_spawnp(&child, "true", NULL, NULL, arguments, environ),
			    "a program starts"))
			waitpid(child, &status, 0);
	}
}

static uint64_t cpu_ms(void)
{
	struct timespec now;
	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

__attribute__((noinline)) static void spin(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
	__asm__ volatile("");
}

/* Compute in one function. */
static void hot(void)
{
	while (cpu_ms() < 1500)
		spin();
}

/* Compute for the same time in each of four functions. */
#define EVEN(name)                                        \
	__attribute__((noinline)) static void name(void)  \
	{                                                 \
		for (volatile int i = 0; i < 100000; i++) \
			;                                 \
		__asm__ volatile("");                     \
	}
EVEN(even_a)
EVEN(even_b)
EVEN(even_c)
EVEN(even_d)

static void even(void)
{
	while (cpu_ms() < 1500) {
		even_a();
		even_b();
		even_c();
		even_d();
	}
}

/* Allocate memory, touch each page once, and give it back, again and again. */
static void faults(void)
{
	const size_t bytes = 4u << 20;
	for (int i = 0; i < 60; i++) {
		char *memory = mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		require(memory != MAP_FAILED && !madvise(memory, bytes, MADV_NOHUGEPAGE), "mmap");
		for (size_t at = 0; at < bytes; at += 4096)
			((volatile char *)memory)[at] = 1;
		munmap(memory, bytes);
	}
}

/* Change the CPU every few ms. */
static void moves(void)
{
	cpu_set_t all, one;
	int cpu = 0;
	sched_getaffinity(0, sizeof(all), &all);
	while (cpu_ms() < 1500) {
		uint64_t until = cpu_ms() + 5;
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &all));
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		while (cpu_ms() < until)
			spin();
	}
}

/* Work for a while: few calls, large ones. */
static void calm(void)
{
	static char buffer[1 << 16];
	int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 2000; i++)
		require(read(file, buffer, sizeof(buffer)) == sizeof(buffer), "a large read");
	close(file);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"convoy", convoy}, {"waits", waits}, {"tiny", tiny}, {"crowd", crowd},
		{"starts", starts}, {"rawsleep", rawsleep}, {"hot", hot}, {"even", even},
		{"faults", faults}, {"moves", moves}};
	void (*run)(void) = calm;
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, argv[1]))
			run = modes[i].run;
	run();
	check(!app_failures, "all calls of the mode succeeded");
	return app_result();
}
