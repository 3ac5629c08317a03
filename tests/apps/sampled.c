/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled - what CPU samples must show, and what they must not change. Modes:
 *
 *   split MS      two functions share the processor time 70 to 30; what each took is printed
 *   eintr CALLS   calls that a signal could interrupt, alternating with computation
 *   signals       SIGURG's action and masks read as the program set them; while it is blocked, no
 *                 signal is pending
 *   urgent        the program has its own handler of SIGURG
 *   urgent_fd     the program reads SIGURG by signalfd()
 *   processes     threads, fork, vfork, posix_spawn, exec
 *   user          the process changes its user (needs root)
 *   root          the process changes its root directory (needs root)
 *   step MS       two functions wake at the kernel's tick, work less than a tick, and sleep again;
 *                 the time that each took is printed
 *   naps MS       computation and sleeps of random length
 *   work ROUNDS   a fixed amount of computation, for tests/bench/sampling.py
 */
#include "app.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

static uint64_t cpu_ns(void)
{
	struct timespec now;
	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double work(long rounds)
{
	volatile double x = 1;
	for (long i = 0; i < rounds; i++)
		x = x * 1.0000001 + 0.5;
	return x;
}

__attribute__((noinline)) static double seventy(long rounds)
{
	double x = work(rounds);
	__asm__ volatile("" : : "x"(x)); /* no jump to work(): the frame stays */
	return x;
}

__attribute__((noinline)) static double thirty(long rounds)
{
	double x = work(rounds);
	__asm__ volatile("" : : "x"(x));
	return x;
}

static uint64_t chance = 88172645463325252u;
static long roll(long most)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (long)(chance % (uint64_t)most);
}

static void compute(uint64_t ms)
{
	uint64_t end = cpu_ns() + ms * 1000000u;
	while (cpu_ns() < end)
		work(2000);
}

/* Parts of random length: none is in step with the kernel's tick. */
static void split(uint64_t ms)
{
	uint64_t took[2] = {0, 0}, before = cpu_ns(), end = before + ms * 1000000u, now = before;
	while (now < end) {
		long unit = 2000 + roll(20000);
		seventy(7 * unit);
		now = cpu_ns();
		took[0] += now - before;
		before = now;
		thirty(3 * unit);
		now = cpu_ns();
		took[1] += now - before;
		before = now;
	}
	if (app_facts())
		say("facts: seventy %llu thirty %llu", (unsigned long long)took[0],
			(unsigned long long)took[1]);
}

/* ---- in step with the kernel's tick ---- */

#define TICK_NS 4000000u /* a multiple of each usual tick */

static void sleep_until(uint64_t ns)
{
	struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static uint64_t wall_ns(void)
{
	struct timespec now;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static void work_in_step(void)
{
	uint64_t end = cpu_ns() + 1200000;
	while (cpu_ns() < end)
		work(1000);
}

/* Return the processor time that it took. */
static uint64_t step(uint64_t rounds)
{
	uint64_t before = cpu_ns();
	for (uint64_t i = 0; i < rounds; i++) {
		sleep_until((wall_ns() / TICK_NS + 1) * TICK_NS);
		work_in_step();
	}
	return cpu_ns() - before;
}

__attribute__((noinline)) static uint64_t step_often(uint64_t rounds)
{
	uint64_t took = step(rounds);
	__asm__ volatile("");
	return took;
}

__attribute__((noinline)) static uint64_t step_rarely(uint64_t rounds)
{
	uint64_t took = step(rounds);
	__asm__ volatile("");
	return took;
}

static void steps(uint64_t ms)
{
	uint64_t often = 0, rarely = 0, end = cpu_ns() + ms * 1000000u;
	while (cpu_ns() < end) {
		often += step_often(40 + (uint64_t)roll(60));
		rarely += step_rarely(10 + (uint64_t)roll(20));
	}
	if (app_facts())
		say("facts: often %llu rarely %llu", (unsigned long long)often,
			(unsigned long long)rarely);
}

static void naps(uint64_t ms)
{
	uint64_t end = cpu_ns() + ms * 1000000u;
	while (cpu_ns() < end) {
		struct timespec time = {0, 100000 + roll(8000000)};
		uint64_t until = cpu_ns() + 100000 + (uint64_t)roll(8000000);
		nanosleep(&time, NULL);
		while (cpu_ns() < until)
			work(1000);
	}
}

/* ---- calls that a signal could interrupt ---- */

static int pair[2], poller;
static sem_t semaphore;

static int call(long which)
{
	struct timespec instant = {0, 1000}, until;
	struct timeval time = {0, 1};
	struct epoll_event event;
	sigset_t none, usr;
	char byte;
	sigemptyset(&none);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	errno = 0;
	switch (which) {
	case 0:
		return nanosleep(&instant, NULL);
	case 1:
		return -clock_nanosleep(CLOCK_MONOTONIC, 0, &instant, NULL);
	case 2:
		return ppoll(NULL, 0, &instant, &none);
	case 3:
		return select(0, NULL, NULL, NULL, &time);
	case 4:
		return pselect(0, NULL, NULL, NULL, &instant, &none);
	case 5:
		return epoll_wait(poller, &event, 1, 0);
	case 6:
		clock_gettime(CLOCK_REALTIME, &until);
		return sem_timedwait(&semaphore, &until);
	case 7:
		return (int)recv(pair[0], &byte, 1, 0); /* has a timeout */
	case 8:
		return sigtimedwait(&usr, NULL, &instant);
	default:
		return waitpid(-1, NULL, WNOHANG);
	}
}

static void eintr(long calls)
{
	struct timeval time = {0, 1};
	sigset_t usr;
	long interrupted = 0;
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr, NULL);
	sem_init(&semaphore, 0, 0);
	poller = epoll_create1(EPOLL_CLOEXEC);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
		setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)))
		check(0, "socketpair");
	for (long i = 0; i < calls; i++) {
		int result = call(roll(10));
		interrupted += (result == -1 && errno == EINTR) || result == -EINTR;
		work(roll(100000));
	}
	check(interrupted == 0, "no call is interrupted");
	if (app_facts())
		say("facts: interrupted %ld", interrupted);
}

/* ---- SIGURG ---- */

static volatile sig_atomic_t urgent;

static void on_urgent(int number)
{
	(void)number;
	urgent++;
}

static void on_usr(int number, siginfo_t *info, void *context)
{
	sigset_t now;
	(void)number, (void)info, (void)context;
	sigemptyset(&now);
	sigprocmask(SIG_SETMASK, NULL, &now);
	check(sigismember(&now, SIGUSR2) == 1 && sigismember(&now, SIGURG) == 0,
		"a handler on a signal stack has the mask it was given");
	compute(30);
}

static void on_signal_stack(void)
{
	static char memory[65536];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	struct sigaction action = {.sa_sigaction = on_usr, .sa_flags = SA_SIGINFO | SA_ONSTACK},
			 before;
	sigaddset(&action.sa_mask, SIGUSR2);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	check(!sigaction(SIGUSR1, NULL, &before) && sigismember(&before.sa_mask, SIGURG) == 0 &&
			sigismember(&before.sa_mask, SIGUSR2) == 1 && before.sa_sigaction == on_usr,
		"its action reads as it was set");
	raise(SIGUSR1);
}

static void *blocked_thread(void *unused)
{
	sigset_t now, all;
	struct timespec instant = {0, 1000000};
	siginfo_t info;
	sigfillset(&all);
	sigemptyset(&now);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	check(sigismember(&now, SIGURG) == 1, "a thread inherits what is blocked");
	compute(60);
	sigpending(&now);
	check(sigismember(&now, SIGURG) == 0, "nothing waits while all signals are blocked");
	check(sigtimedwait(&all, &info, &instant) == -1 && errno == EAGAIN,
		"sigtimedwait for all signals gets none");
	return unused;
}

static void blocked(void)
{
	sigset_t all, now, none;
	struct timespec instant = {0, 1000000};
	pthread_t thread;
	sigfillset(&all);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	compute(60);
	sigpending(&now);
	check(sigismember(&now, SIGURG) == 0, "nothing waits in a program that blocks all");
	check(ppoll(NULL, 0, &instant, &none) == 0, "ppoll with an empty mask is not interrupted");
	sigprocmask(SIG_BLOCK, NULL, &now);
	check(sigismember(&now, SIGURG) == 1, "SIGURG reads as blocked");
	pthread_create(&thread, NULL, blocked_thread, NULL);
	pthread_join(thread, NULL);
	raise(SIGURG);
	sigpending(&now);
	check(sigismember(&now, SIGURG) == 1, "a SIGURG of the program waits while it is blocked");
	struct timespec zero = {0, 0};
	sigset_t set = none;
	sigaddset(&set, SIGURG);
	check(sigtimedwait(&set, NULL, &zero) == SIGURG, "and sigtimedwait gets it");
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	sigprocmask(SIG_BLOCK, NULL, &now);
	check(sigismember(&now, SIGURG) == 0, "SIGURG reads as not blocked");
	compute(60);
}

static void signals(void)
{
	struct sigaction action, set = {.sa_handler = SIG_DFL, .sa_flags = SA_NODEFER};
	compute(60);
	check(!sigaction(SIGURG, NULL, &action) && action.sa_handler == SIG_DFL &&
			action.sa_flags == 0,
		"SIGURG reads as the default");
	check(!sigaction(SIGURG, &set, &action) && action.sa_handler == SIG_DFL, "and is set");
	check(!sigaction(SIGURG, NULL, &action) && action.sa_handler == SIG_DFL &&
			action.sa_flags & SA_NODEFER,
		"and reads as it was set");
	check(signal(SIGURG, SIG_DFL) == SIG_DFL, "signal() says so, too");
	raise(SIGURG);
	check(1, "a SIGURG of the program is ignored");
	on_signal_stack();
	blocked();
}

static void use_urgent(void)
{
	struct sigaction action = {.sa_handler = on_urgent}, before;
	compute(60);
	check(!sigaction(SIGURG, &action, &before) && before.sa_handler == SIG_DFL,
		"set a handler");
	compute(60);
	check(urgent == 0, "nobody calls the program's handler");
	for (int i = 0; i < 10; i++)
		raise(SIGURG);
	check(urgent == 10, "but for the program itself");
	check(!sigaction(SIGURG, NULL, &before) && before.sa_handler == on_urgent,
		"it reads its own");
	check(signal(SIGURG, SIG_IGN) == on_urgent, "signal() returns it");
}

static void use_urgent_fd(void)
{
	sigset_t set;
	struct signalfd_siginfo info;
	struct pollfd wait = {.events = POLLIN};
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	compute(30);
	sigprocmask(SIG_BLOCK, &set, NULL);
	wait.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	compute(60);
	check(poll(&wait, 1, 0) == 0, "no signal in the descriptor");
	raise(SIGURG);
	check(poll(&wait, 1, 1000) == 1 && read(wait.fd, &info, sizeof(info)) == sizeof(info) &&
			info.ssi_signo == SIGURG,
		"but the program's own");
}

/* ---- threads and processes ---- */

static void *short_thread(void *unused)
{
	compute(3);
	return unused;
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
	pthread_t threads[8];
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 8; i++)
			require(!pthread_create(&threads[i], NULL, short_thread, NULL), "thread");
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
	}
	pid_t pid = fork();
	if (!pid) {
		usleep(1);
		compute(100);
		_exit(7);
	}
	wait_for(pid, "a forked child has the expected exit status");
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", argv[0], "exit", (char *)NULL);
		_exit(1);
	}
	wait_for(pid, "an executed one, too");
	pid = vfork();
	if (!pid) {
		execl("/proc/self/exe", argv[0], "exit", (char *)NULL);
		_exit(1);
	}
	wait_for(pid, "and one by vfork");
	char *const exits[] = {argv[0], "exit", NULL};
	check(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, exits, environ), "posix_spawn");
	wait_for(pid, "and a spawned one");
	compute(60);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "signals";
	long number = argc > 2 ? atol(argv[2]) : 300;
	if (!strcmp(mode, "split"))
		split((uint64_t)number);
	else if (!strcmp(mode, "eintr"))
		eintr(number);
	else if (!strcmp(mode, "signals"))
		signals();
	else if (!strcmp(mode, "urgent"))
		use_urgent();
	else if (!strcmp(mode, "urgent_fd"))
		use_urgent_fd();
	else if (!strcmp(mode, "processes"))
		processes(argv);
	else if (!strcmp(mode, "step"))
		steps((uint64_t)number);
	else if (!strcmp(mode, "naps"))
		naps((uint64_t)number);
	else if (!strcmp(mode, "work"))
		work(number);
	else if (!strcmp(mode, "exit"))
		compute(60), _exit(7);
	else if (!strcmp(mode, "user")) {
		compute(300);
		check(geteuid() || !setuid(65534), "setuid");
		compute(300);
	} else if (!strcmp(mode, "root")) {
		char place[] = "/tmp/sampled-XXXXXX";
		compute(300);
		check(geteuid() || (mkdtemp(place) && !chroot(place) && !chdir("/")), "chroot");
		compute(300);
	}
	return app_result();
}
