/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_unwind.c - measures the cost of taking a callchain, compared with libunwind's
 * unw_backtrace() and unw_step() and glibc's backtrace() on the same stacks in the same run.
 *
 *   bench_unwind [-d DEPTH] [-n CHAINS] [-r ROUNDS]
 *
 * Prints lines: kind, unwinder, minimum and median of the rounds in ns. The cost of the calls
 * themselves is subtracted. Kinds:
 *
 * same     the same chain as the thread's last one, which only our unwinder remembers
 * inner    a chain whose 6 innermost frames differ from the last one
 * varied   64 chains in turn that differ in all frames but the outermost four
 * first    the first chain of the process, in us
 * threads  `same` in 1, 2 and 4 threads at once, ns of CPU time
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/unit/unwind_oracle.h"
#include "unwind/callchain.h"

#define ROUNDS_MAX 101
#define INNER 6

static int depth = 32, chains = 2000, rounds = 15;
static __thread struct callchain_thread *memory;

static double now_ns(clockid_t clock)
{
	return (double)bench_clock(clock);
}

/* ---- methods ---- */

static __attribute__((noinline)) void by_nothing(void)
{
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void by_us(void)
{
	struct callchain_result result;
	callchain_take(memory, CALLCHAIN_DEPTH_MAX, 0, &result);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void by_us_new(void)
{
	memory->count = 0;
	by_us();
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void by_unw_backtrace(void)
{
	void *frames[CALLCHAIN_DEPTH_MAX];
	oracle.backtrace(frames, CALLCHAIN_DEPTH_MAX);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void by_unw_step(void)
{
	struct oracle_chain chain;
	oracle_step(&chain);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void by_glibc(void)
{
	void *frames[CALLCHAIN_DEPTH_MAX];
	backtrace(frames, CALLCHAIN_DEPTH_MAX);
	__asm__ volatile("" ::: "memory");
}

/* ---- stacks ---- */

struct job {
	void (*method)(void);
	uint32_t salt; /* changes the functions of the `levels` innermost frames */
	int levels;
	int loop;     /* chains taken at the innermost frame */
	double ns[2]; /* wall, CPU */
};
typedef long (*level_fn)(struct job *, int);
static const level_fn levels[16];

static __attribute__((noinline)) long leaf(struct job *job)
{
	double wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < job->loop; i++)
		job->method();
	job->ns[1] = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	job->ns[0] = now_ns(CLOCK_MONOTONIC) - wall;
	return 0;
}

static inline long next(struct job *job, int left)
{
	uint32_t salt = left < job->levels ? job->salt >> (left & 15) : 0;
	if (left > 0)
		return levels[((uint32_t)left * 7 + salt) & 15](job, left - 1);
	if (job->loop)
		return leaf(job);
	job->method();
	return 0;
}

#define LEVEL(name, bytes)                                                    \
	static __attribute__((noinline)) long name(struct job *job, int left) \
	{                                                                     \
		volatile char frame[bytes];                                   \
		frame[0] = 1;                                                 \
		return next(job, left) + frame[0];                            \
	}
LEVEL(l0, 16)
LEVEL(l1, 40)
LEVEL(l2, 64)
LEVEL(l3, 88)
LEVEL(l4, 112)
LEVEL(l5, 24)
LEVEL(l6, 32)
LEVEL(l7, 48)
LEVEL(l8, 16)
LEVEL(l9, 40)
LEVEL(la, 64)
LEVEL(lb, 88)
LEVEL(lc, 112)
LEVEL(ld, 24)
LEVEL(le, 32)
LEVEL(lf, 48)
static const level_fn levels[16] = {l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, la, lb, lc, ld, le, lf};

/* ---- figures ---- */

static void row(const char *kind, const char *who, double *ns)
{
	double median = bench_median(ns, (size_t)rounds);
	printf("%s\t%s\t%.2f\t%.2f\n", kind, who, ns[0], median);
}

static void measure_same(const char *who, void (*method)(void), int count)
{
	double ns[ROUNDS_MAX];
	for (int r = -1; r < rounds; r++) {
		struct job job = {.method = method, .loop = count};
		next(&job, depth - 8);
		if (r >= 0)
			ns[r] = job.ns[0] / count;
	}
	row("same", who, ns);
}

/* Time many calls of the whole stack; the cost of the calls is subtracted. */
static void measure_varied(
	const char *kind, const char *who, void (*method)(void), int count, int inner)
{
	double ns[ROUNDS_MAX];
	for (int r = -1; r < rounds; r++) {
		double spent[2];
		for (int run = 0; run < 2; run++) {
			struct job job = {.method = run ? method : by_nothing, .levels = inner};
			double start = now_ns(CLOCK_MONOTONIC);
			for (int i = 0; i < count; i++) {
				job.salt = (uint32_t)(i & 63) * 2654435761u >> 8;
				next(&job, depth - 6);
			}
			spent[run] = now_ns(CLOCK_MONOTONIC) - start;
		}
		if (r >= 0)
			ns[r] = (spent[1] - spent[0]) / count;
	}
	row(kind, who, ns);
}

static pthread_barrier_t gate;

static void *same_in_thread(void *arg)
{
	struct job job = {.method = by_us, .loop = chains * 100};
	memory = calloc(1, sizeof(*memory));
	pthread_barrier_wait(&gate);
	next(&job, depth - 8);
	*(double *)arg = job.ns[1] / job.loop;
	free(memory);
	return NULL;
}

static void measure_threads(int count)
{
	pthread_t threads[4];
	double ns[4], sum = 0;
	pthread_barrier_init(&gate, NULL, (unsigned)count);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, same_in_thread, &ns[i]);
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		sum += ns[i];
	}
	printf("threads\t%d\t%.2f\t%.2f\n", count, sum / count, sum / count);
}

static void measure_first(void)
{
	struct callchain_result result;
	double start = now_ns(CLOCK_MONOTONIC);
	callchain_take(memory, CALLCHAIN_DEPTH_MAX, 0, &result);
	double first = now_ns(CLOCK_MONOTONIC) - start;
	printf("first\tcallchain_take\t%.1f\t%.1f\n", first / 1000, first / 1000);
}

static void first_of_the_process(void)
{
	struct job job = {.method = measure_first};
	next(&job, depth - 6);
}

int main(int argc, char **argv)
{
	for (int c; (c = getopt(argc, argv, "d:n:r:")) != -1;) {
		if (c == 'd')
			depth = atoi(optarg);
		else if (c == 'n')
			chains = atoi(optarg);
		else if (c == 'r')
			rounds = atoi(optarg);
	}
	rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
	oracle_init();
	memory = calloc(1, sizeof(*memory));
	first_of_the_process();
	measure_same("unw_backtrace", by_unw_backtrace, chains);
	measure_same("callchain_take", by_us, chains);
	measure_same("callchain_take, nothing remembered", by_us_new, chains);
	measure_same("unw_step", by_unw_step, chains / 50);
	measure_same("backtrace()", by_glibc, chains / 20);
	memset(memory, 0, sizeof(*memory));
	measure_varied("inner", "unw_backtrace", by_unw_backtrace, chains, INNER);
	measure_varied("inner", "callchain_take", by_us, chains, INNER);
	measure_varied("varied", "unw_backtrace", by_unw_backtrace, chains, 1000);
	measure_varied("varied", "callchain_take", by_us, chains, 1000);
	for (int count = 1; count <= 4; count *= 2)
		measure_threads(count);
	free(memory);
	return 0;
}
