/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planted.c - wastes time in one way, so that a rule of `trace analyze` has to find it; without an
 * argument it wastes none.
 *
 *     planted [convoy | waits | tiny | crowd | starts]
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
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

/* A thread that sleeps all its life, in a call that is recorded. */
static void waits(void)
{
	const struct timespec nap = {0, 20000000};
	for (int i = 0; i < 15; i++)
		nanosleep(&nap, NULL);
}

/* Bytes one by one through a pipe. */
static void tiny(void)
{
	int ends[2];
	char byte = 0;
	require(!pipe(ends), "a pipe");
	for (int i = 0; i < PIECES; i++)
		require(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1,
			"a byte goes through");
}

/* More threads that compute than there are processors. */
static void crowd(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	threads_run(processors < 16 ? (int)(3 * processors) : 48, spinner, CROWD_MS);
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
		{"starts", starts}};
	void (*run)(void) = calm;
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, argv[1]))
			run = modes[i].run;
	run();
	check(!app_failures, "all calls of the mode succeeded");
	return app_result();
}
