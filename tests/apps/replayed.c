/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replayed.c - a program that its arguments describe, for predictions of `trace what-if`.
 *
 * Usage: replayed SCRIPT... [-- SCRIPT...]...
 *
 * Each script is a thread; those after a `--` are of another process, which is forked. A script
 * has steps with commas between them:
 *
 *   sN:US   stage N (0 to 7), a function of its own, sleeps for US microseconds
 *   lN uN   lock and unlock mutex N of the process
 *   wN rN   write a byte to pipe N, read one from it; all processes have the same pipes
 *   gN      set flag N of the process
 *   tN:US   wait for flag N, in steps of US microseconds
 *   b       barrier of all threads of the process
 *   iKB     read KB kilobytes of random numbers from a file
 *   cUS     compute for US microseconds
 *   [N ]    begin and end the NVTX range rangeN
 */
// NEEDS: nvtx
#include "app.h"

#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STAGES = 8, LOCKS = 8, PIPES = 32, THREADS = 16, PROCESSES = 8 };

/* A stage, which a callchain names. */
#define STAGE(number)                                                    \
	__attribute__((noinline)) static void stage##number(unsigned us) \
	{                                                                \
		usleep(us);                                              \
		__asm__ volatile("" ::: "memory"); /* not a tail call */ \
	}
STAGE(0)
STAGE(1)
STAGE(2)
STAGE(3)
STAGE(4)
STAGE(5)
STAGE(6)
STAGE(7)
static void (*const stages[STAGES])(unsigned) = {
	stage0, stage1, stage2, stage3, stage4, stage5, stage6, stage7};

static pthread_mutex_t locks[LOCKS];
static int pipes[PIPES][2];
static pthread_barrier_t barrier;
static int file;

static pthread_mutex_t flag_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flag_set = PTHREAD_COND_INITIALIZER;
static int flags[LOCKS];

static void set_flag(unsigned long number)
{
	pthread_mutex_lock(&flag_lock);
	flags[number] = 1;
	pthread_cond_broadcast(&flag_set);
	pthread_mutex_unlock(&flag_lock);
}

static void wait_for_flag(unsigned long number, unsigned long us)
{
	struct timespec until;
	pthread_mutex_lock(&flag_lock);
	while (!flags[number]) {
		clock_gettime(CLOCK_REALTIME, &until);
		const unsigned long long ns = (unsigned long long)until.tv_nsec + us * 1000;
		until.tv_sec += (time_t)(ns / 1000000000);
		until.tv_nsec = (long)(ns % 1000000000);
		pthread_cond_timedwait(&flag_set, &flag_lock, &until);
	}
	pthread_mutex_unlock(&flag_lock);
}

static void read_file(size_t bytes)
{
	char *buffer = malloc(bytes);
	check(buffer && read(file, buffer, bytes) == (ssize_t)bytes, "bytes are read");
	free(buffer);
}

static void compute(unsigned long us)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	const long long end = now.tv_sec * 1000000000ll + now.tv_nsec + (long long)us * 1000;
	while (now.tv_sec * 1000000000ll + now.tv_nsec < end)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

static void range_begin(unsigned long number)
{
	char name[32];
	snprintf(name, sizeof(name), "range%lu", number);
	nvtxRangePushA(name);
}

static void step(const char *text)
{
	char *rest, byte = 'x';
	unsigned long number = strtoul(text + 1, &rest, 10);
	if (*text == 's' && number < STAGES && *rest == ':')
		stages[number]((unsigned)strtoul(rest + 1, NULL, 10));
	else if (*text == 'l' && number < LOCKS)
		pthread_mutex_lock(&locks[number]);
	else if (*text == 'u' && number < LOCKS)
		pthread_mutex_unlock(&locks[number]);
	else if (*text == 'w' && number < PIPES)
		check(write(pipes[number][1], &byte, 1) == 1, "a byte is written");
	else if (*text == 'r' && number < PIPES)
		check(read(pipes[number][0], &byte, 1) == 1, "a byte is read");
	else if (*text == 'g' && number < LOCKS)
		set_flag(number);
	else if (*text == 't' && number < LOCKS && *rest == ':')
		wait_for_flag(number, strtoul(rest + 1, NULL, 10));
	else if (*text == 'b')
		pthread_barrier_wait(&barrier);
	else if (*text == 'i')
		read_file(number << 10);
	else if (*text == 'c')
		compute(number);
	else if (*text == '[')
		range_begin(number);
	else if (*text == ']')
		nvtxRangePop();
	else
		check(0, "a known step");
}

static void *thread_run(void *script)
{
	char *rest, *text = strdup(script);
	for (char *at = strtok_r(text, ",", &rest); at; at = strtok_r(NULL, ",", &rest))
		step(at);
	free(text);
	return NULL;
}

/* Run the scripts of one process; the first one in the calling thread. */
static void process_run(char **scripts, int count)
{
	pthread_t threads[THREADS];
	check(count > 0 && count <= THREADS, "a few threads");
	pthread_barrier_init(&barrier, NULL, (unsigned)count);
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (int i = 1; i < count; i++)
		check(!pthread_create(&threads[i], NULL, thread_run, scripts[i]),
			"a thread begins");
	thread_run(scripts[0]);
	for (int i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	pid_t pids[PROCESSES];
	int processes = 0, own = 1;
	file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	check(file >= 0, "a file");
	for (int i = 0; i < PIPES; i++)
		check(!pipe(pipes[i]), "a pipe");
	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	for (int from = own; from < argc && processes < PROCESSES;) {
		int to = ++from;
		while (to < argc && strcmp(argv[to], "--") != 0)
			to++;
		pids[processes] = fork();
		if (!pids[processes]) {
			process_run(argv + from, to - from);
			_exit(app_result());
		}
		processes++;
		from = to;
	}
	process_run(argv + 1, own - 1);
	for (int i = 0; i < processes; i++)
		waitpid(pids[i], NULL, 0);
	return app_result();
}
