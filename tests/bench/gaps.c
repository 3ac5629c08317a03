/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -lpthread
/*
 * gaps.c - measures how long each interruption of a thread that only computes takes, such as a CPU
 * sample: its threads read the time-stamp counter in a loop and note where it jumps.
 *
 *     gaps [-t THREADS] [-d DEPTH] MILLISECONDS
 *
 * Each thread uses that much processor time, below DEPTH calls of a function. Gaps of 1 us to 100
 * us count, since longer ones are mostly other processes. With several threads on a CPU the gaps
 * are also switches of threads.
 *
 * Prints: gaps COUNT MEDIAN SUM CPU     ns of a gap, of all gaps, and the processor time of all
 * threads
 */
#include "bench.h"
#include <pthread.h>
#include <unistd.h>

#define LEAST_NS 3000u
#define MOST_NS 100000u
#define GAPS_MAX 200000u
#define BATCH 20000

static struct {
	uint64_t cpu_ns;
	int depth;
	double ticks_per_ns;
} options = {0, 30, 0};

struct spinner {
	pthread_t thread;
	double *gap;
	size_t count;
	uint64_t cpu_ns;
};

static uint64_t now(void)
{
	return __builtin_ia32_rdtsc();
}

static void note(struct spinner *s, double ns)
{
	if (ns >= LEAST_NS && ns < MOST_NS && s->count < GAPS_MAX)
		s->gap[s->count++] = ns;
}

static void spin(struct spinner *s)
{
	uint64_t begin = bench_clock(CLOCK_THREAD_CPUTIME_ID), end = begin + options.cpu_ns;
	double least = LEAST_NS * options.ticks_per_ns;
	while (bench_clock(CLOCK_THREAD_CPUTIME_ID) < end) {
		uint64_t last = now();
		for (int i = 0; i < BATCH; i++) {
			uint64_t next = now();
			if ((double)(next - last) >= least)
				note(s, (double)(next - last) / options.ticks_per_ns);
			last = next;
		}
	}
	s->cpu_ns = bench_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
}

__attribute__((noinline)) static int below(struct spinner *s, int depth)
{
	if (depth > 0)
		return below(s, depth - 1) + 1; /* no tail call: the frame stays */
	spin(s);
	return 0;
}

static void *run(void *argument)
{
	struct spinner *s = argument;
	if (below(s, options.depth) != options.depth)
		abort();
	return NULL;
}

static double calibrated(void)
{
	uint64_t ns = bench_clock(CLOCK_MONOTONIC), ticks = now();
	usleep(20000);
	return (double)(now() - ticks) / (double)(bench_clock(CLOCK_MONOTONIC) - ns);
}

int main(int argc, char **argv)
{
	size_t threads = 1, count = 0;
	int letter;
	while ((letter = getopt(argc, argv, "t:d:")) != -1) {
		if (letter == 't')
			threads = (size_t)atol(optarg);
		else
			options.depth = atoi(optarg);
	}
	options.cpu_ns = (uint64_t)atol(argv[optind] ? argv[optind] : "500") * 1000000u;
	options.ticks_per_ns = calibrated();
	struct spinner *spinners = calloc(threads, sizeof(*spinners));
	for (size_t i = 0; i < threads; i++) {
		spinners[i].gap = malloc(GAPS_MAX * sizeof(double));
		if (!spinners[i].gap ||
			pthread_create(&spinners[i].thread, NULL, run, &spinners[i]))
			abort();
	}
	double sum = 0, *all = malloc(threads * GAPS_MAX * sizeof(double));
	uint64_t cpu_ns = 0;
	for (size_t i = 0; i < threads; i++) {
		pthread_join(spinners[i].thread, NULL);
		cpu_ns += spinners[i].cpu_ns;
		for (size_t k = 0; k < spinners[i].count; k++)
			sum += all[count++] = spinners[i].gap[k];
		free(spinners[i].gap);
	}
	printf("gaps\t%zu\t%.0f\t%.0f\t%llu\n", count, bench_median(all, count), sum,
		(unsigned long long)cpu_ns);
	free(all);
	free(spinners);
	return 0;
}
