/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - makes cheap calls in a loop and times them itself, so that the figures do not include
 * the start of the program.
 *
 *     calls [-t THREADS] [-n ROUNDS] [-r REPEATS] [-s] [-q] [-u] KIND
 *
 * KIND: read (1 byte of /dev/zero), write (1 byte to /dev/null), yield, mutex (a pair of calls),
 * mixed (eight functions in a random order, with objects and durations that vary); open, copy
 * (F_DUPFD), dup2 and pipe create descriptors and close them. -s marks the last block for
 * stepcount, -q times every single call of it, -u leaves threads unpinned.
 *
 * Prints
 *
 *     calls KIND THREADS CALLS MIN MEDIAN CPU-MIN CPU-MEDIAN     ns per call; CALLS: how many calls
 *                                                                the program made in all
 *     tail  KIND THREADS P50 P99 P99.9 P99.99 MAX                with -q; ns of a call and two
 *                                                                readings of the counter
 */
#include "bench.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

enum kind { READ, WRITE, YIELD, MUTEX, MIXED, OPEN, COPY, DUP2, PIPE, KINDS };
static const char *const kind_names[KINDS] = {
	"read", "write", "yield", "mutex", "mixed", "open", "copy", "dup2", "pipe"};
static const unsigned calls_per_round[KINDS] = {1, 1, 1, 2, 1, 2, 2, 2, 3};

static struct {
	enum kind kind;
	unsigned threads, repeats;
	long rounds;
	int step, tail, unpinned;
} options = {READ, 1, 11, 20000, 0, 0, 0};

struct worker {
	pthread_t thread;
	unsigned number;
	int zero, null, file;
	pthread_mutex_t mutex;
	double *wall, *cpu;
	uint32_t *ticks;
};

static pthread_barrier_t gate;

/* Make one call of a recorded function, chosen by `random`, as a program with a log and a data file
 * does. */
static void mixed_call(struct worker *w, uint64_t random)
{
	static char buffer[65536];
	struct pollfd ready = {.fd = w->zero, .events = POLLIN};
	size_t bytes = 1 + (random >> 8) % 8192;
	ssize_t done = 0;
	switch (random & 15) {
	case 0 ... 4:
		done = read(w->zero, buffer, bytes);
		break;
	case 5 ... 8:
		done = write(w->null, buffer, bytes);
		break;
	case 9:
		done = pread(w->file, buffer, bytes, (off_t)((random >> 24) & 0xffff));
		break;
	case 10:
		done = poll(&ready, 1, 0);
		break;
	case 11:
		done = pwrite(w->file, buffer, bytes & 511, (off_t)((random >> 24) & 0xffff));
		break;
	case 12:
		done = read(-1, buffer, bytes) < 0;
		break;
	case 13:
		done = fsync(w->null) < 0;
		break;
	default:
		done = sched_yield();
	}
	if (done < 0)
		abort();
}

/* Create descriptors and close them. */
static void descriptor_calls(const struct worker *w)
{
	int made[2] = {-1, -1};
	switch (options.kind) {
	case OPEN:
		made[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		break;
	case COPY:
		made[0] = fcntl(w->zero, F_DUPFD, 100);
		break;
	case DUP2:
		made[0] = dup2(w->zero, 100);
		break;
	default:
		if (pipe(made))
			abort();
		close(made[1]);
	}
	if (close(made[0]))
		abort();
}

static void block(struct worker *w, long rounds)
{
	char byte[8] = {0};
	static __thread uint64_t random;
	switch (options.kind) {
	case READ:
		for (long i = 0; i < rounds; i++)
			if (read(w->zero, byte, 1) != 1)
				abort();
		break;
	case WRITE:
		for (long i = 0; i < rounds; i++)
			if (write(w->null, byte, 1) != 1)
				abort();
		break;
	case YIELD:
		for (long i = 0; i < rounds; i++)
			sched_yield();
		break;
	case MUTEX:
		for (long i = 0; i < rounds; i++) {
			pthread_mutex_lock(&w->mutex);
			pthread_mutex_unlock(&w->mutex);
		}
		break;
	case OPEN ... PIPE:
		for (long i = 0; i < rounds; i++)
			descriptor_calls(w);
		break;
	default:
		random |= 0x9e3779b97f4a7c15u + w->number;
		for (long i = 0; i < rounds; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			mixed_call(w, random);
		}
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	if (!options.unpinned) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET((w->number + 1) % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	block(w, options.rounds / 10 + 1);
	pthread_barrier_wait(&gate);
	for (unsigned r = 0; r < options.repeats; r++) {
		int mark = options.step && r == options.repeats - 1;
		uint64_t cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID),
			 wall = bench_clock(CLOCK_MONOTONIC);
		if (mark)
			STEP_MARK();
		block(w, options.rounds);
		if (mark)
			STEP_MARK();
		double calls = (double)options.rounds * calls_per_round[options.kind];
		w->wall[r] = (double)(bench_clock(CLOCK_MONOTONIC) - wall) / calls;
		w->cpu[r] = (double)(bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu) / calls;
	}
	for (long i = 0; options.tail && i < options.rounds; i++) {
		uint64_t start = bench_ticks();
		block(w, 1);
		uint64_t ticks = bench_ticks() - start;
		w->ticks[i] = ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
	}
	return NULL;
}

static int compare_ticks(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static void print_tail(const struct worker *workers, double ns_per_tick)
{
	static const double at[] = {0.5, 0.99, 0.999, 0.9999, 1};
	size_t each = (size_t)options.rounds, count = each * options.threads;
	uint32_t *all = malloc(count * sizeof(*all));
	for (unsigned i = 0; i < options.threads; i++)
		memcpy(all + i * each, workers[i].ticks, each * sizeof(*all));
	qsort(all, count, sizeof(*all), compare_ticks);
	printf("tail\t%s\t%u", kind_names[options.kind], options.threads);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		printf("\t%.0f", all[(size_t)((double)(count - 1) * at[i])] * ns_per_tick);
	putchar('\n');
	free(all);
}

static void prepare(struct worker *w, unsigned number)
{
	w->number = number;
	w->zero = open("/dev/zero", O_RDONLY);
	w->null = open("/dev/null", O_WRONLY);
	w->file = memfd_create("calls", MFD_CLOEXEC);
	if (w->zero < 0 || w->null < 0 || w->file < 0 || ftruncate(w->file, 1 << 17))
		abort();
	pthread_mutex_init(&w->mutex, NULL);
	w->wall = calloc(options.repeats, sizeof(double));
	w->cpu = calloc(options.repeats, sizeof(double));
	if (options.tail) {
		size_t bytes = (size_t)options.rounds * sizeof(uint32_t);
		w->ticks = malloc(bytes);
		memset(w->ticks, 1,
			bytes); /* so that no measured call has a page fault of the benchmark */
	}
}

static int parse(int argc, char **argv)
{
	int letter;
	while ((letter = getopt(argc, argv, "t:n:r:squ")) != -1)
		switch (letter) {
		case 't':
			options.threads = (unsigned)atoi(optarg);
			break;
		case 'n':
			options.rounds = atol(optarg);
			break;
		case 'r':
			options.repeats = (unsigned)atoi(optarg);
			break;
		case 's':
			options.step = 1;
			break;
		case 'q':
			options.tail = 1;
			break;
		case 'u':
			options.unpinned = 1;
			break;
		default:
			return 0;
		}
	for (options.kind = 0; optind < argc && options.kind < KINDS; options.kind++)
		if (!strcmp(argv[optind], kind_names[options.kind]))
			return options.threads && options.repeats && options.rounds > 0;
	return 0;
}

int main(int argc, char **argv)
{
	if (!parse(argc, argv)) {
		fprintf(stderr,
			"usage: calls [-t THREADS] [-n ROUNDS] [-r REPEATS] [-s] [-q] [-u] KIND\n");
		return 2;
	}
	unsigned threads = options.threads;
	struct worker *workers = calloc(threads, sizeof(*workers));
	pthread_barrier_init(&gate, NULL, threads);
	for (unsigned i = 0; i < threads; i++)
		prepare(&workers[i], i);
	uint64_t ticks = bench_ticks(), wall = bench_clock(CLOCK_MONOTONIC);
	if (threads == 1) {
		work(&workers[0]); /* libc has fast paths for a process without a second thread */
	} else {
		for (unsigned i = 0; i < threads; i++)
			pthread_create(&workers[i].thread, NULL, work, &workers[i]);
		for (unsigned i = 0; i < threads; i++)
			pthread_join(workers[i].thread, NULL);
	}
	double ns_per_tick =
		(double)(bench_clock(CLOCK_MONOTONIC) - wall) / (double)(bench_ticks() - ticks);
	size_t count = (size_t)threads * options.repeats;
	double *all_wall = calloc(count, sizeof(double)), *all_cpu = calloc(count, sizeof(double));
	for (unsigned i = 0; i < threads; i++) {
		memcpy(all_wall + i * options.repeats, workers[i].wall,
			options.repeats * sizeof(double));
		memcpy(all_cpu + i * options.repeats, workers[i].cpu,
			options.repeats * sizeof(double));
	}
	long blocks = (long)options.repeats + options.tail;
	long calls = (long)threads * calls_per_round[options.kind] *
		(blocks * options.rounds + options.rounds / 10 + 1);
	double wall_median = bench_median(all_wall, count),
	       cpu_median = bench_median(all_cpu, count);
	printf("calls\t%s\t%u\t%ld\t%.3f\t%.3f\t%.3f\t%.3f\n", kind_names[options.kind], threads,
		calls, all_wall[0], wall_median, all_cpu[0], cpu_median);
	if (options.tail)
		print_tail(workers, ns_per_tick);
	return 0;
}
