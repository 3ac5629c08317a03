/* SPDX-License-Identifier: Apache-2.0 */
/*
 * companion.c - paths of installed files, and answers of libtrace-host.
 */
#define _GNU_SOURCE
#include "reader/base/companion.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define ARGUMENTS_MAX 16u

int companion_program(char *ret_path)
{
	ssize_t length = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);
	if (length > 0) {
		ret_path[length] = 0;
		return 0;
	}
	const char *given =
		(const char *)(uintptr_t)getauxval(AT_EXECFN); /* used if there is no /proc */
	return given && realpath(given, ret_path) ? 0 : -ENOENT;
}

int companion_path(const char *name, char *ret_path)
{
	const char *home = secure_getenv("LIBTRACE_HOME");
	char program[PATH_MAX] = "";
	if (!home || !*home) {
		if (companion_program(program))
			return -ENOENT;
		char *slash = strrchr(program, '/');
		*(slash ? slash : program) = 0;
	}
	int length = home && *home
		? snprintf(ret_path, PATH_MAX, "%s/%s", home, name)
		: snprintf(ret_path, PATH_MAX, "%s/../lib/libtrace/%s", program, name);
	return length > 0 && length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int64_t now_ms(void)
{
	return (int64_t)(clock_monotonic_ns() / 1000000);
}

/* Read up to the end of the pipe. Returns the number of bytes; -1 if `room` bytes arrive first, or
 * after patience_ms. */
static ssize_t pipe_read(int fd, int patience_ms, char *ret_text, size_t room)
{
	int64_t limit_ms = now_ms() + patience_ms;
	size_t bytes = 0;
	for (;;) {
		struct pollfd p = {fd, POLLIN, 0};
		int64_t left_ms = patience_ms < 0 ? -1 : limit_ms - now_ms();
		if ((patience_ms >= 0 && left_ms <= 0) || bytes == room)
			return -1;
		if (poll(&p, 1, (int)left_ms) <= 0)
			continue;
		ssize_t got = read(fd, ret_text + bytes, room - bytes);
		if (!got)
			return (ssize_t)bytes;
		if (got < 0 && errno != EINTR)
			return -1;
		bytes += got > 0 ? (size_t)got : 0;
	}
}

/* Start a program with its output connected to `fd`, and without preloaded libraries. */
static pid_t program_start(const char *path, const char *const *arguments, int fd, bool with_stderr)
{
	char *argv[ARGUMENTS_MAX + 2] = {(char *)path};
	size_t count = 0, variables = 0;
	for (; count < ARGUMENTS_MAX && arguments[count]; count++)
		argv[count + 1] = (char *)arguments[count];
	while (environ[variables])
		variables++;
	char **environment = calloc(variables + 1, sizeof(*environment));
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	if (!environment)
		return -1;
	for (size_t i = 0, kept = 0; i < variables; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", strlen("LD_PRELOAD=")) != 0)
			environment[kept++] = environ[i];
	if (!posix_spawn_file_actions_init(&actions)) {
		if (posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO) ||
			(with_stderr &&
				posix_spawn_file_actions_adddup2(&actions, fd, STDERR_FILENO)) ||
			posix_spawn(&pid, path, &actions, NULL, argv, environment))
			pid = -1;
		posix_spawn_file_actions_destroy(&actions);
	}
	free(environment);
	return pid;
}

int companion_run(const char *path, const char *const *arguments, bool with_stderr, int patience_ms,
	char *ret_text, size_t room)
{
	int fds[2], status = -1;
	*ret_text = 0;
	if (pipe2(fds, O_CLOEXEC))
		return -1;
	pid_t pid = program_start(path, arguments, fds[1], with_stderr);
	close(fds[1]);
	ssize_t bytes = pid > 0 ? pipe_read(fds[0], patience_ms, ret_text, room - 1) : -1;
	close(fds[0]);
	if (pid > 0 && bytes < 0)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	ret_text[bytes > 0 ? bytes : 0] = 0;
	return pid > 0 && bytes >= 0 ? status : -1;
}

size_t companion_ask(const char *const *arguments, int patience_ms, char *ret_text, size_t room)
{
	char path[PATH_MAX];
	*ret_text = 0;
	if (!companion_path("libtrace-host", path))
		companion_run(path, arguments, false, patience_ms, ret_text, room);
	return strlen(ret_text);
}
