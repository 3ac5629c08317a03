/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forks.c - every way to create a process.
 *
 * Each child must be seen, traced and reported with its parent; the program's own view (exit
 * statuses, pids, output) must be unchanged. Each child makes CALLS pwrites to /dev/null, so a
 * report must contain CALLS of them per child.
 *
 *     forks [MODE...]     MODE: fork vfork _Fork clone spawn spawnp system popen daemon double
 *                         handler atfork thread all
 */
#include "app.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define CALLS 7

extern char **environ;
static char self[4096];
static int null_fd;

static void child_work(void)
{
	for (int i = 0; i < CALLS; i++)
		if (pwrite(null_fd, "x", 1, 0) != 1)
			_exit(90);
}

static void expect_children(int children)
{
	say("expect %d pwrite", children * CALLS);
}

static void child_exit_checked(pid_t pid, const char *text)
{
	int status = 0;
	if (app_facts())
		say("facts: child %d %s", pid, text);
	require(pid > 0, text);
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5,
		text);
}

static void by_fork(void)
{
	pid_t pid = fork();
	if (!pid) {
		child_work();
		_exit(5);
	}
	child_exit_checked(pid, "fork");
}

static void by_raw_fork(void)
{
	pid_t pid = _Fork();
	if (!pid) {
		child_work();
		_exit(5);
	}
	child_exit_checked(pid, "_Fork");
}

static void by_vfork(void)
{
	pid_t pid = vfork();
	if (!pid) {
		execl(self, "forks", "child", NULL);
		_exit(91);
	}
	child_exit_checked(pid, "vfork");
}

static int clone_main(void *unused)
{
	(void)unused;
	child_work();
	_exit(5);
}

static void by_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	child_exit_checked(clone(clone_main, stack + sizeof(stack), SIGCHLD, NULL), "clone");
}

static void by_spawn(void)
{
	char *argv[] = {"forks", "child", NULL};
	pid_t pid = 0;
	check(!posix_spawn(&pid, self, NULL, NULL, argv, environ), "posix_spawn returns 0");
	child_exit_checked(pid, "posix_spawn");
}

static void by_spawnp(void)
{
	char *argv[] = {"forks", "child", NULL};
	pid_t pid = 0;
	check(!posix_spawnp(&pid, self, NULL, NULL, argv, environ), "posix_spawnp returns 0");
	child_exit_checked(pid, "posix_spawnp");
	check(posix_spawnp(&pid, "/nonexistent/program", NULL, NULL, argv, environ) == ENOENT,
		"posix_spawnp of nothing: ENOENT");
}

static void by_system(void)
{
	char command[4200];
	snprintf(command, sizeof(command), "exec '%s' child", self);
	int status = system(command);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 5, "system");
}

static void by_popen(void)
{
	char command[4200], line[32] = "";
	snprintf(command, sizeof(command), "echo hello; exec '%s' child", self);
	FILE *f = popen(command, "r");
	check(f && fgets(line, sizeof(line), f) && !strcmp(line, "hello\n"),
		"popen reads the child's output");
	int status = f ? pclose(f) : 0;
	check(WIFEXITED(status) && WEXITSTATUS(status) == 5, "popen's status");
}

/* The pipe that the daemon holds open shows when it ends. */
static void by_daemon(void)
{
	int end[2];
	char byte;
	check(!pipe2(end, O_CLOEXEC), "pipe2");
	pid_t pid = fork();
	if (!pid) {
		close(end[0]);
		if (daemon(1, 1))
			_exit(92);
		child_work();
		_exit(5);
	}
	close(end[1]);
	int status = 0;
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
		"daemon's parent leaves with 0");
	check(read(end[0], &byte, 1) == 0, "the daemon ends");
	close(end[0]);
}

static void by_double_fork(void)
{
	int end[2];
	char byte;
	check(!pipe2(end, O_CLOEXEC), "pipe2");
	pid_t pid = fork();
	if (!pid) {
		if (fork() == 0) {
			close(end[0]);
			child_work();
			_exit(5);
		}
		_exit(5);
	}
	close(end[1]);
	child_exit_checked(pid, "double fork: first child");
	check(read(end[0], &byte, 1) == 0, "double fork: the orphan ends");
	close(end[0]);
}

static volatile pid_t handler_child;

static void fork_in_handler(int signal)
{
	(void)signal;
	pid_t pid = fork();
	if (!pid) {
		child_work();
		_exit(5);
	}
	handler_child = pid;
}

static void by_handler(void)
{
	signal(SIGUSR1, fork_in_handler);
	raise(SIGUSR1);
	child_exit_checked(handler_child, "fork in a signal handler");
}

static int atfork_calls;

static void at_fork(void)
{
	atfork_calls++;
	lseek(null_fd, 0, SEEK_SET);
	syscall(SYS_getpid);
}

static void by_atfork(void)
{
	pthread_atfork(at_fork, at_fork, at_fork);
	by_fork();
	check(atfork_calls == 2, "atfork handlers run once before and once in the parent");
}

static void *busy_thread(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
		sched_yield();
	return NULL;
}

/* Other threads are inside wrappers while one forks. */
static void by_thread(void)
{
	pthread_t thread[3];
	int stop = 0;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, busy_thread, &stop);
	for (int i = 0; i < 20; i++)
		by_fork();
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
	int children;
} modes[] = {{"fork", by_fork, 1}, {"vfork", by_vfork, 1}, {"_Fork", by_raw_fork, 1},
	{"clone", by_clone, 1}, {"spawn", by_spawn, 1}, {"spawnp", by_spawnp, 1},
	{"system", by_system, 1}, {"popen", by_popen, 1}, {"daemon", by_daemon, 1},
	{"double", by_double_fork, 1}, {"handler", by_handler, 1}, {"atfork", by_atfork, 1},
	{"thread", by_thread, 20}};

/* Return the number of children created. */
static int run_modes(const char *name)
{
	int children = 0;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(name, "all") || !strcmp(name, modes[i].name)) {
			modes[i].run();
			children += modes[i].children;
		}
	return children;
}

int main(int argc, char **argv)
{
	int children = 0;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[length > 0 ? length : 0] = 0;
	null_fd = open("/dev/null", O_RDWR);
	if (argc > 1 && !strcmp(argv[1], "child")) {
		child_work();
		return 5;
	}
	if (argc == 1)
		children = run_modes("all");
	for (int i = 1; i < argc; i++)
		children += run_modes(argv[i]);
	check(waitpid(-1, NULL, 0) == -1 && errno == ECHILD,
		"no child is left that the program did not make");
	expect_children(children);
	return app_result();
}
