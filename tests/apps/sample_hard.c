/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_hard.c - what makes CPU samples hard to take: no program here may notice that they are.
 *
 *     limit    more threads than RLIMIT_SIGPENDING has timers for
 *     short    2,000 threads that end at once
 *     crowd    10,000 threads one after another, 20 at a time, then 1,023 that compute at once
 *     exec     a program that executes itself 50 times while a thread computes
 *     reset    all handlers set and reset again and again, while threads compute
 *     least    handlers on the least signal stack, one within another
 *     waitall  a thread that blocks all signals and waits for any of them
 *     fdall    all signals read by signalfd()
 *     raw      masks set by raw system calls
 *     suspend  sigsuspend(), ppoll(), pselect() and epoll_pwait() with masks that unblock all
 */
#include "app.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <time.h>

static volatile int finished;

static uint64_t cpu_ms(void)
{
	struct timespec now;
	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void compute(uint64_t ms)
{
	uint64_t end = cpu_ms() + ms;
	while (cpu_ms() < end)
		for (volatile int i = 0; i < 1000; i++)
			;
}

static void *spins(void *unused)
{
	while (!finished)
		compute(1);
	return unused;
}

/* Return how many signals of the user are pending, timers included. */
static unsigned long signals_queued(void)
{
	char line[256];
	unsigned long queued = 0;
	FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "SigQ: %lu", &queued) == 1)
			break;
	if (file)
		fclose(file);
	return queued;
}

/* The limit holds from the start of the program that has the threads, and 40 signals are pending
 * all the time. */
static void limit(char **argv, int second)
{
	pthread_t threads[40];
	timer_t timer;
	if (!second) {
		sigset_t queued;
		sigemptyset(&queued);
		sigaddset(&queued, SIGRTMIN);
		sigprocmask(SIG_BLOCK, &queued, NULL);
		for (int i = 0; i < 40; i++)
			require(!sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}),
				"a signal is queued");
		struct rlimit few = {signals_queued() + 20, signals_queued() + 20};
		require(!setrlimit(RLIMIT_SIGPENDING, &few), "setrlimit");
		execl("/proc/self/exe", argv[0], "limit", "2", (char *)NULL);
		check(0, "exec");
		return;
	}
	for (int i = 0; i < 40; i++)
		require(!pthread_create(&threads[i], NULL, spins, NULL), "a thread starts");
	struct sigevent none = {.sigev_notify = SIGEV_NONE};
	check(!timer_create(CLOCK_MONOTONIC, &none, &timer), "the program's own timer is created");
	finished = 1;
	for (int i = 0; i < 40; i++)
		pthread_join(threads[i], NULL);
}

static void *is_short(void *unused)
{
	for (volatile int i = 0; i < 3000; i++)
		;
	return unused;
}

static void many(void)
{
	pthread_t threads[20];
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 20; i++)
			require(!pthread_create(&threads[i], NULL, is_short, NULL),
				"a thread starts");
		for (int i = 0; i < 20; i++)
			pthread_join(threads[i], NULL);
	}
	check(1, "2,000 threads");
}

#define IN_CROWD 1023 /* and the first thread: as many as there are lanes */

static pthread_barrier_t all;

static void *is_in_crowd(void *unused)
{
	pthread_barrier_wait(&all);
	compute(2);
	return unused;
}

static void crowd(void)
{
	static pthread_t threads[IN_CROWD];
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int round = 0; round < 500; round++) {
		for (int i = 0; i < 20; i++)
			require(!pthread_create(&threads[i], &small, is_short, NULL),
				"a thread starts");
		for (int i = 0; i < 20; i++)
			pthread_join(threads[i], NULL);
	}
	pthread_barrier_init(&all, NULL, IN_CROWD);
	for (int i = 0; i < IN_CROWD; i++)
		if (!require(!pthread_create(&threads[i], &small, is_in_crowd, NULL),
			    "a thread of the crowd starts"))
			return;
	for (int i = 0; i < IN_CROWD; i++)
		pthread_join(threads[i], NULL);
	check(1, "11,023 threads");
}

static void again(char **argv, int left)
{
	pthread_t thread;
	char text[16];
	if (!left) {
		check(1, "50 programs");
		return;
	}
	require(!pthread_create(&thread, NULL, spins, NULL), "a thread starts");
	compute(3);
	snprintf(text, sizeof(text), "%d", left - 1);
	execl("/proc/self/exe", argv[0], "exec", text, (char *)NULL);
	check(0, "exec");
}

static void on_signal(int number)
{
	(void)number;
}

static void reset(void)
{
	pthread_t threads[2];
	struct sigaction set, before;
	for (int i = 0; i < 2; i++)
		require(!pthread_create(&threads[i], NULL, spins, NULL), "a thread starts");
	uint64_t end = cpu_ms() + 150;
	while (cpu_ms() < end)
		for (int number = 1; number < NSIG; number++) {
			if (number == SIGKILL || number == SIGSTOP || number == SIGURG ||
				number == 32 || number == 33)
				continue;
			set = (struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART};
			require(!sigaction(number, &set, NULL), "sigaction");
			require(!sigaction(number, NULL, &before) &&
					before.sa_handler == on_signal &&
					before.sa_flags & SA_RESTART,
				"reads as set");
			require(signal(number, SIG_DFL) == on_signal, "signal");
		}
	for (int i = 0; i < 1000; i++) { /* SIGURG, too, but only its default */
		require(!sigaction(SIGURG, NULL, &before) && before.sa_handler == SIG_DFL,
			"SIGURG reads as the default");
		require(signal(SIGURG, SIG_DFL) == SIG_DFL, "and was");
	}
	finished = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	check(1, "all handlers, again and again");
}

static void on_inner(int number)
{
	(void)number;
	compute(20);
}

static void on_outer(int number)
{
	(void)number;
	compute(10);
	raise(SIGUSR2);
	compute(10);
}

static void least(void)
{
	size_t size = getauxval(AT_MINSIGSTKSZ);
	size = 3 * (size ? size : 2048) +
		4096; /* two frames of the kernel, and the handlers' own */
	size = (size + 4095) & ~(size_t)4095;
	unsigned char *memory =
		mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = memory + 4096, .ss_size = size};
	struct sigaction outer = {.sa_handler = on_outer, .sa_flags = SA_ONSTACK},
			 inner = {.sa_handler = on_inner, .sa_flags = SA_ONSTACK};
	int intact = 1;
	memset(memory, 0x5a, 4096);
	sigaction(SIGUSR1, &outer, NULL);
	sigaction(SIGUSR2, &inner, NULL);
	check(!sigaltstack(&stack, NULL), "a small signal stack");
	for (int i = 0; i < 5; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 4096; i++)
		intact &= memory[i] == 0x5a;
	check(intact, "nothing is written below it");
}

/* ---- waiting for all signals ---- */

static int waited;
static pthread_t waiter;

static void *waits(void *unused)
{
	sigset_t all;
	int number = 0;
	sigfillset(&all);
	while (number != SIGTERM) {
		compute(2);
		require(!sigwait(&all, &number), "sigwait");
		waited += number == SIGUSR1;
		require(number == SIGUSR1 || number == SIGTERM, "no signal but the program's");
	}
	return unused;
}

static void wait_all(void)
{
	sigset_t all, before;
	struct timespec pause = {0, 4000000};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	require(!pthread_create(&waiter, NULL, waits, NULL), "a thread starts");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	for (int i = 0; i < 50; i++) {
		pthread_kill(waiter, SIGUSR1);
		compute(1);
		nanosleep(&pause, NULL);
		while (__atomic_load_n(&waited, __ATOMIC_RELAXED) <= i)
			nanosleep(&pause, NULL);
	}
	pthread_kill(waiter, SIGTERM);
	pthread_join(waiter, NULL);
	check(waited == 50, "50 signals were waited for");
}

static void fd_all(void)
{
	sigset_t all;
	struct signalfd_siginfo info;
	int got = 0;
	sigfillset(&all);
	compute(30);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	int fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	for (int i = 0; i < 20; i++) {
		compute(5);
		raise(SIGUSR1);
		while (read(fd, &info, sizeof(info)) == sizeof(info)) {
			require(info.ssi_signo == SIGUSR1, "no signal but the program's");
			got++;
		}
	}
	check(got == 20, "20 signals were read");
	close(fd);
}

static void raw(void)
{
	uint64_t all = UINT64_MAX, none = 0;
	for (int i = 0; i < 10; i++) {
		require(!syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all)), "raw");
		compute(15);
		require(!syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none)),
			"raw");
		compute(15);
	}
	check(1, "masks by raw system calls");
}

static void suspend(void)
{
	sigset_t all, none;
	struct timespec instant = {0, 1000000};
	struct epoll_event event;
	int poller = epoll_create1(EPOLL_CLOEXEC), interrupted = 0;
	sigfillset(&all);
	sigemptyset(&none);
	signal(SIGUSR1, on_signal);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < 30; i++) {
		compute(5);
		interrupted += ppoll(NULL, 0, &instant, &none) != 0;
		compute(5);
		interrupted += pselect(0, NULL, NULL, NULL, &instant, &none) != 0;
		compute(5);
		interrupted += epoll_pwait(poller, &event, 1, 1, &none) != 0;
	}
	check(!interrupted, "no call is interrupted while it unblocks all signals");
	raise(SIGUSR1);
	compute(20);
	check(sigsuspend(&none) == -1 && errno == EINTR, "sigsuspend waits for a signal");
	sigset_t now;
	sigprocmask(SIG_BLOCK, NULL, &now);
	check(sigismember(&now, SIGURG) == 1 && sigismember(&now, SIGUSR1) == 1,
		"and all are blocked again");
	close(poller);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "reset";
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"short", many}, {"crowd", crowd}, {"reset", reset}, {"least", least},
		{"waitall", wait_all}, {"fdall", fd_all}, {"raw", raw}, {"suspend", suspend}};
	if (!strcmp(mode, "limit"))
		limit(argv, argc > 2);
	if (!strcmp(mode, "exec"))
		again(argv, argc > 2 ? atoi(argv[2]) : 50);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(mode, modes[i].name))
			modes[i].run();
	return app_result();
}
