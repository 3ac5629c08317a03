/* SPDX-License-Identifier: Apache-2.0 */
// CC: clang
// CFLAGS: -fopenmp
// NEEDS: openmp
/*
 * openmp_regions.c - constructs of OpenMP, each a known number of times; tests/e2e/openmp.py counts
 * the events. The argument says which: constructs, tasks, nested, fork, killed, imbalance,
 * small_tasks, balanced.
 */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3 };

static void work(int us)
{
	double begin = omp_get_wtime();
	while ((omp_get_wtime() - begin) * 1e6 < us)
		;
}

static int exclusion(void)
{
	omp_lock_t lock;
	omp_nest_lock_t nested;
	int failed = 0, sum = 0;
	omp_init_lock(&lock);
	omp_init_nest_lock(&nested);
#pragma omp parallel num_threads(THREADS)
	{
#pragma omp critical(name)
		sum++;
		omp_set_lock(&lock);
		sum++;
		omp_unset_lock(&lock);
		omp_set_nest_lock(&nested);
		omp_set_nest_lock(&nested);
		sum++;
		omp_unset_nest_lock(&nested);
		omp_unset_nest_lock(&nested);
#pragma omp barrier
#pragma omp master
		{
			omp_set_lock(&lock);
			failed += !omp_test_lock(&lock);
			work(2000);
			omp_unset_lock(&lock);
			omp_set_lock(&lock); /* not a wait of 2 ms */
			omp_unset_lock(&lock);
		}
#pragma omp flush
	}
	omp_destroy_lock(&lock);
	omp_destroy_nest_lock(&nested);
	return sum + failed;
}

static void constructs(void)
{
	int sum = exclusion(), last = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
	{
#pragma omp for schedule(dynamic, 10)
		for (int i = 0; i < 90; i++)
			sum += i;
#pragma omp for schedule(static) nowait
		for (int i = 0; i < 90; i++)
			sum += i;
#pragma omp sections
		{
#pragma omp section
			work(20);
#pragma omp section
			work(20);
		}
#pragma omp single
		last = 1;
#pragma omp for ordered
		for (int i = 0; i < 6; i++) {
#pragma omp ordered
			last = i;
		}
#pragma omp for
		for (int i = 0; i < 90; i++) {
#pragma omp cancel for if (i == 0)
		}
	}
#pragma omp target map(tofrom : sum)
#pragma omp teams distribute parallel for num_teams(1) thread_limit(2)
	for (int i = 0; i < 4; i++)
		sum += i == 0;
	printf("sum %d last %d\n", sum, last);
}

static int fibonacci(int n)
{
	int a, b;
	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fibonacci(n - 1);
#pragma omp task shared(b)
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}

static void tasks(void)
{
	int result = 0, chain = 0;
#pragma omp parallel num_threads(THREADS)
#pragma omp single
	{
		result = fibonacci(10);
#pragma omp taskgroup
		for (int i = 0; i < 5; i++) {
#pragma omp task depend(inout : chain)
			chain = chain * 2 + i;
		}
#pragma omp taskloop num_tasks(4)
		for (int i = 0; i < 8; i++)
			work(3);
#pragma omp task if (0)
		work(3);
	}
	printf("fibonacci %d chain %d\n", result, chain);
}

static void nested(void)
{
	int sum = 0;
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : sum)
	{
#pragma omp parallel num_threads(2) reduction(+ : sum)
		sum += omp_get_level();
	}
	printf("levels %d\n", sum);
}

static void forked(void)
{
#pragma omp parallel num_threads(THREADS)
	work(10);
	fflush(stdout);
	if (fork() == 0) {
#pragma omp parallel num_threads(2)
		work(10);
		_exit(0);
	}
	wait(NULL);
}

static void killed(void)
{
#pragma omp parallel num_threads(THREADS)
	{
#pragma omp barrier
#pragma omp critical
		if (omp_get_thread_num() == 0)
			kill(getpid(), SIGKILL);
#pragma omp barrier
	}
}

/* One of the threads has nearly all of the work. */
static void imbalance(int factor)
{
	for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(THREADS)
		work(omp_get_thread_num() == 1 ? 1000 * factor : 1000);
	}
}

static void small_tasks(void)
{
	int count = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
	for (int i = 0; i < 20000; i++) {
#pragma omp task
		{
#pragma omp atomic
			count++;
		}
	}
	printf("tasks %d\n", count);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "constructs";
	if (!strcmp(what, "constructs"))
		constructs();
	else if (!strcmp(what, "tasks"))
		tasks();
	else if (!strcmp(what, "nested"))
		nested();
	else if (!strcmp(what, "fork"))
		forked();
	else if (!strcmp(what, "killed"))
		killed();
	else if (!strcmp(what, "imbalance"))
		imbalance(10);
	else if (!strcmp(what, "balanced"))
		imbalance(1);
	else if (!strcmp(what, "small_tasks"))
		small_tasks();
	return 0;
}
