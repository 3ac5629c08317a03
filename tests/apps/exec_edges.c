/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_edges.c - starts programs with a small stack and a large environment, and with invalid
 * pointers.
 *
 * A thread with the smallest stack must be able to start programs with 1,500 variables, of which
 * the tracer has to copy the array (LD_PRELOAD is passed on, the variables of the tree are not).
 * An environment without an end, and an invalid path, must give EFAULT.
 */
#include "app.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define VARIABLES 1500
extern char **environ;
static char *many[VARIABLES + 2], texts[VARIABLES][16];

static char *const arguments[] = {"true", NULL};

static void make_many(void)
{
	int count = 0;
	for (int i = 0; i < VARIABLES; i++) {
		snprintf(texts[i], sizeof(texts[i]), "V%d=x", i);
		many[count++] = texts[i];
	}
	for (char **v = environ; *v; v++)
		if (!strncmp(*v, "LD_PRELOAD=", 11))
			many[count++] = *v;
}

static int ended(pid_t pid)
{
	int status = -1;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static __attribute__((noinline)) pid_t by_vfork(const char *path, char *const *environment)
{
	pid_t pid = vfork();
	if (pid == 0) {
		execve(path, arguments, environment);
		_exit(errno);
	}
	return pid;
}

static void *with_little_stack(void *unused)
{
	pid_t pid = -1;
	check(!posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, many) && !ended(pid),
		"posix_spawn");
	check(!posix_spawnp(&pid, "true", NULL, NULL, arguments, many) && !ended(pid),
		"posix_spawnp");
	check(!ended(by_vfork("/bin/true", many)), "vfork and execve");
	check(ended(by_vfork("/nowhere", many)) == ENOENT, "execve of a missing file");
	return unused;
}

static void run_with_little_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
	check(!pthread_create(&thread, &attributes, with_little_stack, NULL),
		"a thread of PTHREAD_STACK_MIN");
	pthread_join(thread, NULL);
}

/* An array that ends at the end of the page, without NULL; strings that do so without NUL. */
static void without_end(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char **array = (char **)(void *)page, *text[2] = {page + 4096 - 8, NULL};
	pid_t pid = -1;
	munmap(page + 4096, 4096);
	for (int i = 0; i < 4096 / (int)sizeof(char *); i++)
		array[i] = "A=1";
	check(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, array) == EFAULT,
		"posix_spawn, an environment without an end");
	check(ended(by_vfork("/bin/true", array)) == EFAULT, "execve, the same");
	memset(page, 'x', 4096);
	check(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, text) == EFAULT,
		"posix_spawn, a variable without an end");
	check(ended(by_vfork("/bin/true", text)) == EFAULT, "execve, the same");
	check(ended(by_vfork("/bin/true", (char *const *)16)) == EFAULT, "execve, no environment");
	check(execveat(AT_FDCWD, (const char *)16, arguments, environ, 0) == -1 && errno == EFAULT,
		"execveat, no path");
	munmap(page, 4096);
}

int main(void)
{
	make_many();
	run_with_little_stack();
	without_end();
	return app_result();
}
