/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.c - the report file: created or continued, locked, with space reserved for a last block.
 */
#define _GNU_SOURCE
#include "writer/report/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVE_STEP_BYTES \
	(256u << 10)  /* one fallocate() per this many bytes, instead of one per block */
#define LOCK_TRIES 20 /* a reader may hold the lock for a moment */
#define LOCK_PAUSE_US 50000

static int lock_take(int fd)
{
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno == ENOLCK || errno == EOPNOTSUPP)
			return 0; /* no locks on this file system: readers cannot see that the file
				     is being written */
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (i == LOCK_TRIES)
			return -EBUSY;
		usleep(LOCK_PAUSE_US);
	}
	return 0;
}

/* Take over `fd`, which is closed on failure. */
static int sink_start(struct sink *sink, int fd)
{
	struct stat status;
	int error = fstat(fd, &status) ? -errno : S_ISREG(status.st_mode) ? lock_take(fd) : -EINVAL;
	if (error) {
		close(fd);
		return error;
	}
	*sink = (struct sink){.fd = fd, .inode = status.st_ino};
	return 0;
}

/* Create a file with a unique name in the same folder, and lock it. */
static int temporary_make(struct sink *sink, const char *path, char *ret_name, size_t bytes)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;
	if (snprintf(ret_name, bytes, "%.*s.trace-XXXXXX", folder, path) >= (int)bytes)
		return -ENAMETOOLONG;
	int fd = mkostemp(ret_name, O_CLOEXEC);
	return fd < 0 ? -errno : sink_start(sink, fd);
}

static uint64_t file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

/* Reserve space up to `end`, which includes the last block. A file system that cannot allocate
 * ahead is used without a reserve. */
static int reserve_keep(struct sink *sink, uint64_t end)
{
	if (end > file_limit())
		return -EFBIG;
	if (sink->no_reserve || end <= sink->reserved)
		return 0;
	uint64_t from = sink->end;
	if (!fallocate(sink->fd, FALLOC_FL_KEEP_SIZE, (off_t)from,
		    (off_t)(end - from + RESERVE_STEP_BYTES))) {
		sink->reserved = end + RESERVE_STEP_BYTES;
		return 0;
	}
	if ((errno == ENOSPC || errno == EFBIG) &&
		!fallocate(sink->fd, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(end - from))) {
		sink->reserved = end;
		return 0;
	}
	if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO)
		return -errno;
	sink->no_reserve = true;
	return 0;
}

/* Give the file its name, in place of the old file. */
static int name_take(const char *temporary, const char *path)
{
	/* EBUSY: the file is a mount point, as containers have for single files. */
	return !rename(temporary, path) ? 0 : errno == EBUSY ? -EEXIST : -errno;
}

/* Replace the old file at once, so that the report has its name from its first byte on; if the disk
 * is full, by the first block that can be written. The old file is never written to: it may belong
 * to another user, or a process may have it open. */
static int sink_replace(struct sink *sink, const char *path)
{
	char name[PATH_MAX + 16];
	int error = temporary_make(sink, path, name, sizeof(name));
	if (error)
		return error;
	if (reserve_keep(sink, SINK_RESERVE_BYTES)) {
		sink->temporary = strdup(name);
		sink->path = strdup(path);
		error = sink->temporary && sink->path ? 0 : -ENOMEM;
	} else {
		error = name_take(name, path);
	}
	if (error) {
		unlink(name);
		sink_close(sink);
	}
	return error;
}

int sink_create(struct sink *sink, const char *path, bool overwrite)
{
	if (overwrite)
		return sink_replace(sink, path);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int error = sink_start(sink, fd);
	if (!error && fchmod(sink->fd, 0600)) {
		error = -errno;
		sink_close(sink);
	}
	return error;
}

/* Check whether this report may be continued. Return -EAGAIN if another writer replaced it while
 * we took the lock. */
static int trust_check(const struct sink *sink, uint64_t inode)
{
	struct stat status;
	if (fstat(sink->fd, &status))
		return -errno;
	if (!status.st_nlink)
		return -EAGAIN;
	bool ours = status.st_uid == geteuid() && status.st_nlink == 1;
	return ours || status.st_ino == inode ? 0 : -EPERM;
}

/* Check the type before the file is opened: opening a device may have an effect. */
static int open_regular(struct sink *sink, const char *path)
{
	struct stat status;
	if (lstat(path, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return S_ISLNK(status.st_mode) ? -ELOOP : -EINVAL;
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == EACCES ? -EPERM : -errno;
	return sink_start(sink, fd);
}

int sink_open(struct sink *sink, const char *path, uint64_t inode)
{
	int error = -EAGAIN;
	for (int i = 0; error == -EAGAIN && i < LOCK_TRIES; i++) {
		error = open_regular(sink, path);
		if (error)
			return error;
		error = trust_check(sink, inode);
		if (error)
			sink_close(sink);
	}
	return error;
}

int sink_adopt_at(struct sink *sink, uint64_t end)
{
	if (ftruncate(sink->fd, (off_t)end))
		return -errno;
	sink->end = end;
	return 0;
}

static ssize_t write_parts(struct sink *sink, const struct iovec *parts, int count)
{
	ssize_t written;
	do
		written = pwritev(sink->fd, parts, count, (off_t)sink->end);
	while (written < 0 && errno == EINTR);
	return written < 0 ? -errno : written;
}

/* Give a file its name that has its first block now. */
static int pending_end(struct sink *sink)
{
	const int error = name_take(sink->temporary, sink->path);
	if (!error) {
		free(sink->temporary);
		free(sink->path);
		sink->temporary = sink->path = NULL;
	}
	return error;
}

int sink_append(struct sink *sink, const struct iovec *parts, int count, bool last)
{
	uint64_t bytes = 0;
	for (int i = 0; i < count; i++)
		bytes += parts[i].iov_len;
	int error = last ? 0 : reserve_keep(sink, sink->end + bytes + SINK_RESERVE_BYTES);
	if (error)
		return error;
	ssize_t written = write_parts(sink, parts, count);
	if (written == (ssize_t)bytes)
		error = sink->temporary ? pending_end(sink) : 0;
	if (written == (ssize_t)bytes && !error) {
		sink->end += bytes;
		return 0;
	}
	/* Remove the torn part. That frees the reserve, too, so it is allocated again. */
	if (written != 0 && ftruncate(sink->fd, (off_t)sink->end) == 0) {
		sink->reserved = sink->end;
		reserve_keep(sink, sink->end + SINK_RESERVE_BYTES);
	}
	return error ? error : written < 0 ? (int)written : -ENOSPC;
}

void sink_close(struct sink *sink)
{
	if (sink->fd < 0)
		return;
	/* Truncating to the present size frees the space that is allocated after it. */
	if (sink->reserved > sink->end && ftruncate(sink->fd, (off_t)sink->end))
		sink->reserved = 0;
	if (sink->temporary)
		unlink(sink->temporary);
	free(sink->temporary);
	free(sink->path);
	sink->temporary = sink->path = NULL;
	close(sink->fd);
	sink->fd = -1;
}
