/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -ldl
/*
 * life.c - measures the cost of forks, threads and C++ exceptions in this process, to compare an
 * untraced run with a traced one.
 *
 *     life [-n ROUNDS] [-m MIB] [fork|thread|throw]     only this; MIB: memory that the process has
 *                                                       touched
 *
 * Prints: life fork|thread|throw MIN MEDIAN
 */
#include "bench.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*throw_catch)(int);

static void *idle(void *arg)
{
	return arg;
}

static void fork_once(void)
{
	pid_t child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void thread_once(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, idle, NULL) || pthread_join(thread, NULL))
		abort();
}

static void throw_hundred(void)
{
	if (throw_catch(100) != 100)
		abort();
}

static const char *only; /* measure this alone; NULL = all */

static void measure(const char *name, void (*once)(void), size_t rounds)
{
	if (only && strcmp(only, name))
		return;
	double *times = calloc(rounds, sizeof(double));
	once();
	for (size_t i = 0; i < rounds; i++) {
		uint64_t start = bench_clock(CLOCK_MONOTONIC);
		once();
		times[i] = (double)(bench_clock(CLOCK_MONOTONIC) - start);
	}
	double median = bench_median(times, rounds);
	printf("life\t%s\t%.0f\t%.0f\n", name, times[0], median);
	free(times);
}

int main(int argc, char **argv)
{
	size_t rounds = 200, mib = 0;
	int letter;
	while ((letter = getopt(argc, argv, "n:m:")) != -1)
		*(letter == 'n' ? &rounds : &mib) = (size_t)atol(optarg);
	only = argv[optind];
	memset(malloc((mib << 20) + 1), 1, (mib << 20) + 1);
	/* the library is beside the program */
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 32);
	while (length > 0 && path[length - 1] != '/')
		length--;
	strcpy(path + (length > 0 ? length : 0), "libthrow.so");
	void *library = dlopen(path, RTLD_NOW);
	throw_catch = library ? (int (*)(int))dlsym(library, "throw_catch") : NULL;
	/* A fork of a traced process is measured after it has recorded calls. */
	char byte;
	int zero = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < 20000; i++)
		if (read(zero, &byte, 1) != 1)
			abort();
	measure("fork", fork_once, rounds);
	measure("thread", thread_once, rounds);
	if (throw_catch)
		measure("throw", throw_hundred, rounds);
	return 0;
}
