/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - libtrace-writer: options, and detaching from the program that started it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/tree.h"
#include "writer/follow.h"
#include "writer/recover.h"

static int usage(void)
{
	fputs("usage: libtrace-writer --tree DIR [--foreground]\n"
	      "       libtrace-writer --recover DIR [-o FILE]\n",
		stderr);
	return 2;
}

static void limit_raise(int resource)
{
	struct rlimit limit;
	if (!getrlimit(resource, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(resource, &limit);
	}
}

static void signals_ignore(void)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXFSZ, SIGTSTP,
		SIGUSR1, SIGUSR2, SIGALRM};
	sigset_t none;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Close the program's descriptors: if the writer kept the end of a pipe open, the pipe would not
 * end. */
static void descriptors_close(bool keep_output)
{
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3 && null >= 0 && !keep_output; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	if (syscall(SYS_close_range, TREE_WRITER_LOCK_FD + 1, UINT_MAX, 0) == 0)
		return;
	for (int fd = TREE_WRITER_LOCK_FD + 1; fd < 65536; fd++)
		close(fd);
}

static void detach(bool foreground)
{
	signals_ignore();
	limit_raise(RLIMIT_FSIZE);
	limit_raise(RLIMIT_NOFILE);
	setsid(); /* launchers of parallel programs kill the process group of a rank */
	descriptors_close(foreground);
	(void)fcntl(TREE_WRITER_LOCK_FD, F_SETFD, FD_CLOEXEC);
	if (chdir("/"))
		return; /* the mount of the current folder stays busy; the report is written all the
			   same */
}

/* Get the absolute path, without trailing slashes. Links in it are kept: a link in place of the
 * folder is refused when the folder is opened, but would be followed if a slash came after it. */
static bool absolute(const char *path, char *ret_path, size_t bytes)
{
	size_t length = strlen(path), at = 0;
	while (length > 1 && path[length - 1] == '/')
		length--;
	if (*path != '/' && getcwd(ret_path, bytes - 1)) {
		at = strlen(ret_path);
		ret_path[at++] = '/';
	} else if (*path != '/') {
		return false;
	}
	if (at + length + 1 > bytes) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(ret_path + at, path, length);
	ret_path[at + length] = 0;
	return true;
}

int main(int argc, char **argv)
{
	const char *tree = NULL, *recover = NULL, *output = NULL;
	char dir[PATH_MAX];
	bool foreground = false;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--tree") && i + 1 < argc)
			tree = argv[++i];
		else if (!strcmp(argv[i], "--recover") && i + 1 < argc)
			recover = argv[++i];
		else if (!strcmp(argv[i], "-o") && i + 1 < argc)
			output = argv[++i];
		else if (!strcmp(argv[i], "--foreground"))
			foreground = true;
		else
			return usage();
	}
	if (!tree == !recover || (output && !recover))
		return usage();
	if (!absolute(tree ? tree : recover, dir, sizeof(dir))) {
		fprintf(stderr, "libtrace: writer: %s: %s\n", tree ? tree : recover,
			strerror(errno));
		return 1;
	}
	if (recover) {
		limit_raise(RLIMIT_FSIZE);
		signal(SIGXFSZ, SIG_IGN);
		return recover_tree(dir, output);
	}
	/* Check this before another file can get the descriptor's number. */
	bool locked = fcntl(TREE_WRITER_LOCK_FD, F_GETFD) >= 0;
	detach(foreground);
	return follow_tree(dir, locked ? TREE_WRITER_LOCK_FD : -1);
}
