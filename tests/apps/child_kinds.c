/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_kinds.c - starts children that can and cannot be traced.
 *
 * Each child must run as without the tracer (output, status), whatever it is: static, of another C
 * library, set-user-id, a script, without environment, missing, not executable, of another
 * architecture. The report must say which were traced, and why the others were not.
 *
 *     child_kinds [KIND]    static musl setuid script env script_musl missing directory garbage
 * memfd; all without
 */
#include "app.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;
static char folder[4096], scratch[] = "/tmp/child-kinds-XXXXXX";
static int method;

static const char *beside(const char *name)
{
	static char path[4200];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static const char *in_scratch(const char *name)
{
	static char path[4200];
	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	return path;
}

/* Start `path` by posix_spawn, fork or vfork and exec in turn. Return its exit status, or minus
 * the error. */
static int run(const char *path, char *const argv[], char *const envp[])
{
	int status = 0;
	pid_t pid;
	if (method++ % 3 == 0) {
		int error = posix_spawn(&pid, path, NULL, NULL, argv, envp);
		if (error)
			return -error;
	} else {
		pid = method % 3 == 1 ? fork() : vfork();
		if (!pid) {
			execve(path, argv, envp);
			_exit(errno);
		}
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1000;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void is(const char *text, const char *path, int wanted)
{
	char *argv[] = {(char *)path, NULL};
	for (int i = 0; i < 3; i++) {
		int got = run(path, argv, environ);
		if (got < 0)
			got = -got;
		if (got != wanted)
			say("FAIL: %s: got %d", text, got), app_failures++;
	}
	check(1, text);
}

static int exists(const char *name)
{
	return !access(beside(name), X_OK);
}

static void write_file(const char *path, const void *text, size_t length, mode_t mode)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0700);
	require(fd >= 0 && write(fd, text, length) == (ssize_t)length && !fchmod(fd, mode),
		"write a file");
	close(fd);
}

static void copy_file(const char *from, const char *to, uid_t owner, mode_t mode)
{
	char command[9000];
	snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
	require(system(command) == 0 && !chown(to, owner, (gid_t)-1) && !chmod(to, mode),
		"copy a file");
}

static void kind_static(void)
{
	is("static", beside("static_child"), 7);
}

static void kind_musl(void)
{
	setenv("APP_KEEP", "environment kept", 1);
	if (exists("musl_child"))
		is("another C library", beside("musl_child"), 8);
	unsetenv("APP_KEEP");
}

/* Root only: a program like /bin/true that belongs to another user. */
static void kind_setuid(void)
{
	if (geteuid() != 0)
		return;
	copy_file("/usr/bin/id", in_scratch("setuid"), 65534, 04755);
	char *argv[] = {(char *)in_scratch("setuid"), "-u", NULL};
	check(run(in_scratch("setuid"), argv, environ) == 0, "set-user-id");
}

static void kind_script(void)
{
	write_file(in_scratch("script"), "#!/bin/sh\necho script; exit 9\n", 29, 0755);
	is("script", in_scratch("script"), 9);
	write_file(in_scratch("script2"), "#! /usr/bin/env sh\nexit 10\n", 27, 0755);
	is("script by env", in_scratch("script2"), 10);
}

static void kind_musl_script(void)
{
	char text[4300];
	if (!exists("musl_child"))
		return;
	setenv("APP_KEEP", "environment kept", 1);
	snprintf(text, sizeof(text), "#!%s\n", beside("musl_child"));
	write_file(in_scratch("musl_script"), text, strlen(text), 0755);
	is("script whose interpreter has another C library", in_scratch("musl_script"), 8);
	unsetenv("APP_KEEP");
}

static void kind_env(void)
{
	char *argv[] = {"sh", "-c", "test -z \"$LD_PRELOAD\" && test -z \"$APP_FACTS\" && exit 11",
		NULL},
	     *empty[] = {NULL};
	check(run("/bin/sh", argv, empty) == 11, "without environment");
}

static void kind_wrong(void)
{
	static const char elf32[64] = "\177ELF\1\1\1";
	is("missing", "/nonexistent/program", ENOENT);
	is("directory", scratch, EACCES);
	write_file(in_scratch("data"), "not a program\n", 14, 0644);
	is("not executable", in_scratch("data"), EACCES);
	write_file(in_scratch("torn"), elf32, 20, 0755);
	is("torn program", in_scratch("torn"), ENOEXEC);
	write_file(in_scratch("empty"), "", 0, 0755);
	is("empty program", in_scratch("empty"), ENOEXEC);
	write_file(in_scratch("plain"), "exit 12\n", 8, 0755);
	is("no program", in_scratch("plain"), ENOEXEC);
	write_file(in_scratch("loop"), "#!/nonexistent/interpreter\n", 27, 0755);
	is("no interpreter", in_scratch("loop"), ENOENT);
}

static void kind_memfd(void)
{
	int fd = memfd_create("program", 0), status = 0;
	char buffer[65536], *argv[] = {"sh", "-c", "exit 13", NULL};
	int from = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	for (ssize_t n; (n = read(from, buffer, sizeof(buffer))) > 0;)
		require(write(fd, buffer, (size_t)n) == n, "copy a program");
	close(from);
	pid_t pid = fork();
	if (!pid) {
		fexecve(fd, argv, environ);
		_exit(99);
	}
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 13, "a program in memory");
	close(fd);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {{"static", kind_static}, {"musl", kind_musl}, {"setuid", kind_setuid},
	{"script", kind_script}, {"script_musl", kind_musl_script}, {"env", kind_env},
	{"wrong", kind_wrong}, {"memfd", kind_memfd}};

int main(int argc, char **argv)
{
	ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	folder[length > 0 ? length : 0] = 0;
	*strrchr(folder, '/') = 0;
	if (!mkdtemp(scratch) || chmod(scratch, 0755))
		return 1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (argc < 2 || !strcmp(argv[1], kinds[i].name))
			kinds[i].run();
	char command[100];
	snprintf(command, sizeof(command), "rm -rf %s", scratch);
	require(system(command) == 0, "clean up");
	return app_result();
}
