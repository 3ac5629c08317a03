/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - output files that appear only when they are complete. */
#define _GNU_SOURCE
#include "reader/export/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

int output_begin(const char *name, bool overwrite, char **ret_temporary)
{
	*ret_temporary = NULL;
	if (!overwrite && !access(name, F_OK))
		return -EEXIST;
	if (asprintf(ret_temporary, "%s.XXXXXX", name) < 0) {
		*ret_temporary = NULL;
		return -ENOMEM;
	}
	int fd = mkostemp(*ret_temporary, O_CLOEXEC), error = -errno;
	if (fd >= 0)
		return fd;
	free(*ret_temporary);
	*ret_temporary = NULL;
	return error;
}

int output_end(const char *temporary, const char *name, bool overwrite)
{
	int fd = open(temporary, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 || fsync(fd) ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (error)
		return -error;
	if (overwrite)
		error = rename(temporary, name) ? errno : 0;
	else if (renameat2(AT_FDCWD, temporary, AT_FDCWD, name, RENAME_NOREPLACE))
		error = errno;
	if (error == EINVAL || error == ENOSYS) /* the file system does not support
						 * RENAME_NOREPLACE */
		error = link(temporary, name) || unlink(temporary) ? errno : 0;
	return -error;
}

bool output_is_special(const char *name)
{
	struct stat facts;
	return !stat(name, &facts) && !S_ISREG(facts.st_mode);
}

/* file system of unnamed pipes, which only the process that started us can have opened */
#define PIPEFS_MAGIC 0x50495045

/* Check the owner of a pipe before opening it, which may block. Pipes of root are trusted. */
static int pipe_check(int fd)
{
	struct stat facts;
	struct statfs system;
	if (fstat(fd, &facts) || fstatfs(fd, &system))
		return -errno;
	return S_ISFIFO(facts.st_mode) && system.f_type != PIPEFS_MAGIC && facts.st_uid &&
			facts.st_uid != geteuid()
		? -EPERM
		: 0;
}

int output_special_open(const char *name)
{
	int path = open(name, O_PATH | O_CLOEXEC);
	int error = path < 0 ? -errno : pipe_check(path);
	if (path >= 0)
		close(path);
	if (error)
		return error;
	int fd = open(name, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int output_folders_make(const char *name)
{
	char *copy = strdup(name), *slash = copy;
	int error = copy ? 0 : -ENOMEM;
	while (!error && (slash = strchr(slash + 1, '/')) && slash[strspn(slash, "/")]) {
		*slash = 0;
		if (mkdir(copy, 0777) && errno != EEXIST)
			error = -errno;
		*slash = '/';
	}
	free(copy);
	return error;
}
