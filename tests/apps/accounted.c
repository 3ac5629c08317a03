/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accounted - threads that know where their time went. Each prints, as facts, its tid and, in ns of
 * its life: wall time, processor time, time without a CPU (its schedstat), time in sleeping calls,
 * processor time within read(). Modes:
 *
 *   threads MS   threads that compute, sleep, read, wait for a lock, or live a few ms only, more
 *                than there are CPUs
 *   processes MS a forked child, and an executed program
 *   stopped MS   a child that is stopped for half of its life; the least and the longest time that
 *                it can have been stopped for are printed
 *   killed MS    a child that is killed while it computes
 *   raw MS       a thread that waits in raw system calls
 *   alone MS     the main thread computes and sleeps
 *   crowd MS N   N threads that compute 0.1 ms in 10 ms; then 2,000 threads that do nothing, whose
 *                creation and end are timed: tests/bench/thread_time.py
 */
#include "app.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

static uint64_t ms;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	syscall(SYS_clock_gettime, clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t wall_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t delay_ns(void)
{
	char text[96] = "";
	unsigned long long cpu, delay = 0;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY);
	if (syscall(SYS_read, fd, text, sizeof(text) - 1) < 0 ||
		sscanf(text, "%llu %llu", &cpu, &delay) != 2)
		check(0, "schedstat");
	syscall(SYS_close, fd);
	return delay;
}

struct life {
	const char *name;
	uint64_t wall, cpu, delay, slept, read_cpu;
	uint64_t chance;
};

static void begin(struct life *l, const char *name)
{
	*l = (struct life){.name = name,
		.wall = wall_ns(),
		.cpu = cpu_ns(),
		.delay = delay_ns(),
		.chance = (uint64_t)app_tid() * 2654435761u | 1};
}

static void end(const struct life *l)
{
	uint64_t cpu = cpu_ns() - l->cpu, delay = delay_ns() - l->delay, wall = wall_ns() - l->wall;
	if (app_facts())
		say("facts: %s %d %llu %llu %llu %llu %llu", l->name, app_tid(),
			(unsigned long long)wall, (unsigned long long)cpu,
			(unsigned long long)delay, (unsigned long long)l->slept,
			(unsigned long long)l->read_cpu);
}

static uint64_t roll(struct life *l, uint64_t most)
{
	l->chance ^= l->chance << 13;
	l->chance ^= l->chance >> 7;
	l->chance ^= l->chance << 17;
	return l->chance % most;
}

static int lives(const struct life *l)
{
	return wall_ns() - l->wall < ms * 1000000u;
}

__attribute__((noinline)) static void compute(uint64_t ns)
{
	volatile double x = 1;
	uint64_t until = cpu_ns() + ns;
	while (cpu_ns() < until)
		for (int i = 0; i < 2000; i++)
			x = x * 1.0000001 + 0.5;
}

static void sleep_for(struct life *l, uint64_t ns)
{
	struct timespec time = {0, (long)ns};
	uint64_t before = wall_ns();
	nanosleep(&time, NULL);
	l->slept += wall_ns() - before;
}

static void *computes(void *unused)
{
	struct life l;
	begin(&l, "computes");
	while (lives(&l))
		compute(5000000);
	end(&l);
	return unused;
}

static void *sleeps(void *unused)
{
	struct life l;
	begin(&l, "sleeps");
	while (lives(&l))
		sleep_for(&l, 1000000 + roll(&l, 20000000));
	end(&l);
	return unused;
}

static void *mixes(void *unused)
{
	struct life l;
	begin(&l, "mixes");
	while (lives(&l)) {
		compute(500000 + roll(&l, 8000000));
		sleep_for(&l, 500000 + roll(&l, 8000000));
	}
	end(&l);
	return unused;
}

static void *reads(void *unused)
{
	struct life l;
	static char buffer[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);
	begin(&l, "reads");
	while (lives(&l)) {
		uint64_t before = cpu_ns();
		for (int i = 0; i < 20; i++)
			require(read(fd, buffer, sizeof(buffer)) == sizeof(buffer), "read");
		l.read_cpu += cpu_ns() - before;
		compute(roll(&l, 5000000));
		sleep_for(&l, 1000000);
	}
	end(&l);
	close(fd);
	return unused;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *locks(void *unused)
{
	struct life l;
	begin(&l, "locks");
	while (lives(&l)) {
		uint64_t before = wall_ns();
		pthread_mutex_lock(&lock);
		l.slept += wall_ns() - before;
		compute(3000000);
		pthread_mutex_unlock(&lock);
	}
	end(&l);
	return unused;
}

static void *is_short(void *unused)
{
	struct life l;
	begin(&l, "short");
	compute(4000000);
	end(&l);
	return unused;
}

/* Wait in a call that no wrapper sees. */
static void futex_wait(int *word, const struct timespec *time)
{
	register const struct timespec *timeout __asm__("r10") = time;
	long result = SYS_futex;
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(word), "S"(FUTEX_WAIT_PRIVATE), "d"(0), "r"(timeout)
			 : "rcx", "r11", "memory");
}

static void *waits_raw(void *unused)
{
	struct life l;
	struct timespec time = {0, 20000000};
	int word = 0;
	begin(&l, "raw");
	while (lives(&l))
		futex_wait(&word, &time);
	end(&l);
	return unused;
}

static void threads(void)
{
	void *(*const kinds[])(void *) = {computes, computes, sleeps, mixes, reads, locks, locks};
	pthread_t all[7], few[10];
	for (int i = 0; i < 7; i++)
		require(!pthread_create(&all[i], NULL, kinds[i], NULL), "thread");
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 10; i++)
			require(!pthread_create(&few[i], NULL, is_short, NULL), "thread");
		for (int i = 0; i < 10; i++)
			pthread_join(few[i], NULL);
	}
	for (int i = 0; i < 7; i++)
		pthread_join(all[i], NULL);
	check(1, "threads");
}

static void *is_idle(void *unused)
{
	struct timespec time = {0, 10000000};
	for (uint64_t until = wall_ns() + ms * 1000000u; wall_ns() < until;) {
		compute(100000);
		nanosleep(&time, NULL);
	}
	return unused;
}

static void *does_nothing(void *unused)
{
	return unused;
}

static void crowd(long count)
{
	pthread_t all[1000], one;
	uint64_t least = UINT64_MAX;
	for (long i = 0; i < count && i < 1000; i++)
		require(!pthread_create(&all[i], NULL, is_idle, NULL), "thread");
	for (long i = 0; i < count && i < 1000; i++)
		pthread_join(all[i], NULL);
	for (int round = 0; round < 20; round++) {
		uint64_t before = wall_ns();
		for (int i = 0; i < 100; i++) {
			require(!pthread_create(&one, NULL, does_nothing, NULL), "thread");
			pthread_join(one, NULL);
		}
		uint64_t took = (wall_ns() - before) / 100;
		least = took < least ? took : least;
	}
	say("facts: thread %llu", (unsigned long long)least);
}

static void wait_for(pid_t pid, const char *what)
{
	int status = -1;
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	check(pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 7, what);
}

static void processes(char **argv)
{
	char text[32];
	pid_t pid = fork();
	if (!pid) {
		mixes(NULL);
		_exit(7);
	}
	wait_for(pid, "a forked child ends");
	pid = fork();
	if (!pid) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)ms);
		compute(50000000);
		execl("/proc/self/exe", argv[0], "alone", text, (char *)NULL);
		_exit(1);
	}
	wait_for(pid, "an executed program, too");
}

static void stopped(void)
{
	pid_t pid = fork();
	if (!pid) {
		struct life l;
		begin(&l, "stopped");
		while (lives(&l))
			compute(1000000);
		end(&l);
		_exit(7);
	}
	int status = 0;
	usleep((useconds_t)ms * 250);
	uint64_t before = wall_ns();
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	uint64_t since = wall_ns();
	usleep((useconds_t)ms * 500);
	uint64_t until = wall_ns();
	kill(pid, SIGCONT);
	if (app_facts())
		say("facts: stop %llu %llu", (unsigned long long)(until - since),
			(unsigned long long)(wall_ns() - before));
	wait_for(pid, "a stopped child ends");
}

static void killed(void)
{
	int status = 0;
	pid_t pid = fork();
	if (!pid)
		for (;;)
			compute(1000000);
	usleep((useconds_t)ms * 1000);
	kill(pid, SIGKILL);
	check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "a killed child ends");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "threads";
	pthread_t thread;
	ms = argc > 2 ? (uint64_t)atol(argv[2]) : 1000;
	if (!strcmp(mode, "threads"))
		threads();
	else if (!strcmp(mode, "processes"))
		processes(argv);
	else if (!strcmp(mode, "stopped"))
		stopped();
	else if (!strcmp(mode, "killed"))
		killed();
	else if (!strcmp(mode, "crowd"))
		crowd(argc > 3 ? atol(argv[3]) : 8);
	else if (!strcmp(mode, "raw")) {
		require(!pthread_create(&thread, NULL, waits_raw, NULL), "thread");
		pthread_join(thread, NULL);
	} else if (!strcmp(mode, "alone")) {
		mixes(NULL);
		return app_result() ? 1 : 7;
	}
	return app_result();
}
