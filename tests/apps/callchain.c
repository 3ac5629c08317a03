/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
// LINK: -ldl -rdynamic
/*
 * callchain.c - makes calls whose callers are known.
 *
 * Each call below must have exactly the chain that is stated here. The number of bytes that it
 * reads identifies a call:
 *
 *     chain 11: leaf middle main     functions, innermost first, inlined ones too; * = some others
 *
 * A function calls the next inner one on one line of this file, which tests/e2e/callchains.py looks
 * up. callchain_fp is this file compiled with frame pointers.
 *
 *     callchain [MODE]    without MODE: all of them
 */
#include "app.h"

#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#define OWN_FRAME __attribute__((noinline, noclone))
#define INLINED static inline __attribute__((always_inline))

static int zero_fd;
static volatile int after; /* changed after each call, so that no call becomes a jump */
static char folder[4200];

INLINED int marked(int n)
{
	char bytes[256];
	ssize_t got = pread(zero_fd, bytes, (size_t)n, 0);
	after++;
	return require(got == n, "pread");
}

OWN_FRAME int leaf(int n)
{
	int held = marked(n);
	after++;
	return held;
}

INLINED int inner(int n)
{
	int held = leaf(n);
	after++;
	return held;
}

OWN_FRAME int middle(int n)
{
	int held = inner(n);
	after++;
	return held;
}

OWN_FRAME int outer(int n)
{
	int held = middle(n);
	after++;
	return held;
}

/* ---- one thread ---- */

OWN_FRAME void mode_callers(void)
{
	say("chain 11: marked leaf inner middle outer mode_callers main");
	outer(11);
	say("chain 12: marked leaf mode_callers main");
	leaf(12);
	say("chain 13: marked mode_callers main");
	marked(13);
}

OWN_FRAME int down(int n, int left)
{
	int held = left ? down(n, left - 1) : leaf(n);
	after++;
	return held;
}

OWN_FRAME void mode_recursion(void)
{
	down(14, 200);
	down(14, 200); /* the tracer's memory of the last chain must give the same chain */
	down(14, 199);
	down(15, 5);
}

OWN_FRAME int with_alloca(int n, size_t bytes)
{
	char *room = alloca(bytes);
	memset(room, n, bytes);
	int held = leaf(n);
	after += room[bytes / 2];
	return held;
}

OWN_FRAME int realigned(int n, size_t bytes)
{
	char room[64] __attribute__((aligned(64))), *more = alloca(bytes);
	memset(room, n, sizeof(room));
	memset(more, n, bytes);
	int held = with_alloca(n, bytes);
	after += room[7] + more[bytes / 2];
	return held;
}

OWN_FRAME void mode_alloca(void)
{
	say("chain 16: marked leaf with_alloca mode_alloca main");
	for (size_t bytes = 100; bytes < 20000; bytes += 777)
		with_alloca(16, bytes);
	say("chain 17: marked leaf with_alloca realigned mode_alloca main");
	for (size_t bytes = 100; bytes < 20000; bytes += 777)
		realigned(17, bytes);
}

/* Long calls between short ones, for the threshold. */
OWN_FRAME void mode_threshold(void)
{
	struct timespec two_ms = {0, 2000000};
	for (int i = 0; i < 200; i++)
		leaf(18);
	for (int i = 0; i < 3; i++)
		nanosleep(&two_ms, NULL);
	after++;
}

/* ---- signals ---- */

static volatile int handler_mark, handled;

OWN_FRAME static void on_signal(int number)
{
	(void)number;
	leaf(handler_mark);
	handled++;
}

static void handle(int number, void (*handler)(int), int mark, int flags)
{
	struct sigaction action;
	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags;
	handler_mark = mark;
	sigaction(number, &action, NULL);
}

OWN_FRAME void spinning(void)
{
	for (handled = 0; !handled;)
		after++;
}

OWN_FRAME void interrupted_by_timer(void)
{
	struct itimerval soon = {{0, 0}, {0, 3000}};
	setitimer(ITIMER_REAL, &soon, NULL);
	spinning();
	after++;
}

OWN_FRAME void raises(void)
{
	raise(SIGUSR1);
	after++;
}

#ifdef __x86_64__
/* Interrupted at its first instruction: the instruction before belongs to another function. */
__asm__(".text\n.type not_called, @function\nnot_called:\n.cfi_startproc\nnop\nret\n.cfi_endproc\n"
	".size not_called, . - not_called\n"
	".type faults_at_once, @function\nfaults_at_once:\n.cfi_startproc\nud2\nret\n.cfi_endproc\n"
	".size faults_at_once, . - faults_at_once\n");
void faults_at_once(void);

OWN_FRAME static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info;
	leaf(handler_mark);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

OWN_FRAME void fault(int mark, int flags)
{
	struct sigaction action;
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO | flags;
	handler_mark = mark;
	sigaction(SIGILL, &action, NULL);
	faults_at_once();
	after++;
}
#endif

OWN_FRAME void mode_signal(void)
{
	handle(SIGALRM, on_signal, 21, 0);
	say("chain 21: marked leaf on_signal * spinning interrupted_by_timer mode_signal main");
	interrupted_by_timer();
	handle(SIGUSR1, on_signal, 22, 0);
	say("chain 22: marked leaf on_signal * raises mode_signal main");
	raises();
#ifdef __x86_64__
	say("chain 23: marked leaf on_fault * faults_at_once fault mode_signal main");
	fault(23, 0);
#endif
}

OWN_FRAME void mode_altstack(void)
{
	static char memory[65536];
	stack_t stack = {memory, 0, sizeof(memory)}, none = {NULL, SS_DISABLE, 0};
	sigaltstack(&stack, NULL);
	handle(SIGALRM, on_signal, 24, SA_ONSTACK);
	say("chain 24: marked leaf on_signal * spinning interrupted_by_timer mode_altstack main");
	interrupted_by_timer();
	handle(SIGUSR1, on_signal, 25, SA_ONSTACK);
	say("chain 25: marked leaf on_signal * raises mode_altstack main");
	raises();
#ifdef __x86_64__
	say("chain 26: marked leaf on_fault * faults_at_once fault mode_altstack main");
	fault(26, SA_ONSTACK);
#endif
	sigaltstack(&none, NULL);
	say("chain 27: marked leaf mode_altstack main");
	leaf(27);
}

/* ---- threads and processes ---- */

OWN_FRAME void *first_of_thread(void *mark)
{
	for (int i = 0; i < 20; i++)
		middle((int)(intptr_t)mark);
	after++;
	return NULL;
}

OWN_FRAME void mode_threads(void)
{
	pthread_t thread[4];
	for (int i = 0; i < 4; i++)
		say("chain %d: marked leaf inner middle first_of_thread", 31 + i);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, first_of_thread, (void *)(intptr_t)(31 + i));
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

static void wait_for(pid_t pid)
{
	int status = -1;
	check(waitpid(pid, &status, 0) == pid && status == 0, "the child's status");
}

OWN_FRAME void in_child(void)
{
	outer(41);
	after++;
}

OWN_FRAME void mode_fork(void)
{
	say("chain 40: marked leaf inner middle outer mode_fork main");
	outer(40);
	say("chain 41: marked leaf inner middle outer in_child mode_fork main");
	pid_t pid = fork();
	if (!pid) {
		in_child();
		_exit(app_result());
	}
	wait_for(pid);
	outer(40);
}

OWN_FRAME void mode_exec(void)
{
	char own[4300];
	pid_t pid = fork();
	if (!pid) {
		ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
		own[length > 0 ? length : 0] = 0;
		execl(own, own, "execed", NULL);
		_exit(1);
	}
	wait_for(pid);
}

OWN_FRAME void mode_execed(void)
{
	say("chain 42: marked leaf inner middle outer mode_execed main");
	outer(42);
}

/* ---- libraries ---- */

static void *open_beside(const char *name)
{
	char path[4300];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

typedef int (*plugin_function)(int fd, int n);

/* Return the address at which the function was loaded. */
OWN_FRAME uintptr_t use_plugin(const char *file, const char *name, int mark)
{
	void *library = open_beside(file);
	plugin_function outer_of_plugin =
		library ? (plugin_function)(uintptr_t)dlsym(library, name) : NULL;
	if (!require(outer_of_plugin != NULL, "the library and its function"))
		return 0;
	require(outer_of_plugin(zero_fd, mark) == mark, "the plugin's pread");
	after++;
	dlclose(library);
	return (uintptr_t)outer_of_plugin;
}

OWN_FRAME void mode_plugin(void)
{
	volatile int rounds = 4; /* called from one place each time */
	uintptr_t place[4];
	say("chain 51: one_inner one_outer use_plugin mode_plugin main");
	say("chain 52: two_inner two_outer use_plugin mode_plugin main");
	for (int i = 0; i < rounds; i++) {
		const char *file = i % 2 ? "libchain_two.so" : "libchain_one.so";
		place[i] = use_plugin(file, i % 2 ? "two_outer" : "one_outer", 51 + i % 2);
	}
	if (app_facts())
		say("facts: same place %d", place[0] == place[1] && place[1] == place[2]);
}

/* A thread holds a lock of the loader and waits for another thread that makes calls with chains. */
static volatile int go, done;
static plugin_function not_yet_called;

OWN_FRAME void *calls_when_reported(void *mark)
{
	while (!go)
		app_sleep_ms(1);
	for (int i = 0; i < 50; i++)
		down((int)(intptr_t)mark, i);
	if (not_yet_called)
		not_yet_called(zero_fd, (int)(intptr_t)mark + 1);
	done = 1;
	return NULL;
}

static void report_and_wait(void)
{
	go = 1;
	for (int i = 0; i < 30000 && !done; i++)
		app_sleep_ms(1);
	check(done, "a thread makes its calls while the loader is held");
}

static int in_callback(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)info, (void)size, (void)unused;
	report_and_wait();
	return 1;
}

/* Called by the constructor of libchain_held. */
void callchain_in_constructor(void)
{
	report_and_wait();
}

static void held(int mark, int (*hold)(void))
{
	pthread_t thread;
	go = done = 0;
	pthread_create(&thread, NULL, calls_when_reported, (void *)(intptr_t)mark);
	require(hold(), "hold the loader");
	pthread_join(thread, NULL);
}

static int hold_by_iteration(void)
{
	return dl_iterate_phdr(in_callback, NULL);
}

static int hold_by_constructor(void)
{
	void *library = open_beside("libchain_held.so");
	return library && !dlclose(library);
}

OWN_FRAME void mode_held(void)
{
	void *library = open_beside("libchain_two.so");
	not_yet_called = library ? (plugin_function)(uintptr_t)dlsym(library, "two_outer") : NULL;
	require(not_yet_called != NULL, "the library and its function");
	say("chain 62: two_inner two_outer calls_when_reported");
	held(61, hold_by_iteration);
	say("chain 64: two_inner two_outer calls_when_reported");
	held(63, hold_by_constructor);
	if (library)
		dlclose(library);
}

/* ---- descriptors ---- */

/* A socket takes every number that is free or belongs to a library: nobody writes to it or reads
 * from it. */
OWN_FRAME void mode_descriptors(void)
{
	int pair[2], taken[30], count = 0;
	char byte;
	say("chain 81: marked leaf mode_descriptors main");
	leaf(81);
	require(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "socketpair");
	for (int fd = 3; fd < 30; fd++)
		if (fd != zero_fd && fd != pair[0] && fd != pair[1])
			taken[count++] = dup2(pair[0], fd);
	say("chain 82: marked leaf with_alloca mode_descriptors main");
	for (size_t i = 1; i <= 5; i++) /* pages that have not been probed */
		with_alloca(82, i * 100000);
	check(recv(pair[1], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN,
		"nothing has been written to the program's descriptors");
	while (count > 0)
		close(taken[--count]);
	close(pair[0]);
	close(pair[1]);
}

/* ---- all ---- */

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {{"callers", mode_callers}, {"recursion", mode_recursion}, {"alloca", mode_alloca},
	{"threshold", mode_threshold}, {"signal", mode_signal}, {"altstack", mode_altstack},
	{"threads", mode_threads}, {"fork", mode_fork}, {"exec", mode_exec},
	{"execed", mode_execed}, {"plugin", mode_plugin}, {"held", mode_held},
	{"descriptors", mode_descriptors}};

int main(int argc, char **argv)
{
	ssize_t length = readlink("/proc/self/exe", folder, 4095);
	folder[length > 0 ? length : 0] = 0;
	*strrchr(folder, '/') = 0;
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (argc < 2 || !strcmp(argv[1], modes[i].name))
			modes[i].run();
	return app_result();
}
