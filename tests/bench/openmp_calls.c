/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -fopenmp
/*
 * openmp_calls.c - the ns of processor time that a construct of OpenMP takes in GNU's libgomp.
 *
 *     openmp_calls [ROUNDS]         prints the ns of each construct, as the least of ten blocks
 *     openmp_calls ROUNDS KIND      runs one between marks, for stepcount
 *
 * Run it with and without the tracer: trace run -t openmp -- openmp_calls. One thread, so that
 * nothing waits.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define WARM 100
#define BLOCKS 10

static volatile int sink;
static omp_lock_t lock;

static void parallel(int rounds)
{
	for (int i = 0; i < rounds; i++) {
#pragma omp parallel
		sink++;
	}
}

static void barrier(int rounds)
{
#pragma omp parallel
	for (int i = 0; i < rounds; i++) {
#pragma omp barrier
	}
}

static void loop(int rounds)
{
#pragma omp parallel
	for (int i = 0; i < rounds; i++) {
#pragma omp for schedule(dynamic) nowait
		for (int k = 0; k < 1; k++)
			sink++;
	}
}

static void single(int rounds)
{
#pragma omp parallel
	for (int i = 0; i < rounds; i++) {
#pragma omp single nowait
		sink++;
	}
}

static void critical(int rounds)
{
	for (int i = 0; i < rounds; i++) {
#pragma omp critical
		sink++;
	}
}

static void locks(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		omp_set_lock(&lock);
		omp_unset_lock(&lock);
	}
}

static void task(int rounds)
{
#pragma omp parallel
	for (int i = 0; i < rounds; i++) {
#pragma omp task
		sink++;
	}
}

static const struct {
	const char *name, *title;
	void (*run)(int rounds);
} kinds[] = {{"parallel", "parallel region", parallel}, {"barrier", "barrier", barrier},
	{"loop", "loop with a dynamic schedule, one chunk", loop}, {"single", "single", single},
	{"critical", "critical", critical}, {"lock", "omp_set_lock and omp_unset_lock", locks},
	{"task", "task", task}};

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double block_ns(void (*run)(int), int rounds)
{
	double begin = now_ns();
	run(rounds);
	return (now_ns() - begin) / rounds;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100000;
	omp_set_num_threads(1);
	omp_init_lock(&lock);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (argc > 2 && strcmp(argv[2], kinds[k].name))
			continue;
		double least = block_ns(kinds[k].run, WARM);
		if (argc > 2) {
			STEP_MARK();
			kinds[k].run(rounds);
			STEP_MARK();
			continue;
		}
		for (int i = 0; i < BLOCKS; i++) {
			double ns = block_ns(kinds[k].run, rounds / BLOCKS);
			least = ns < least ? ns : least;
		}
		printf("%s: %.1f ns\n", kinds[k].title, least);
	}
	omp_destroy_lock(&lock);
	return 0;
}
