/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - byte access to a report, in a file or in memory. */
#define _GNU_SOURCE
#include "reader/file/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/base/io.h"

int source_refresh(struct source *s)
{
	struct stat status;
	if (s->fd < 0)
		return 0;
	if (fstat(s->fd, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode))
		return -ESPIPE;
	s->size = (uint64_t)status.st_size;
	return 0;
}

int source_open(struct source *s, const char *path)
{
	*s = (struct source){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
	if (s->fd < 0)
		return -errno;
	int error = source_refresh(s);
	if (error)
		source_close(s);
	return error;
}

void source_from_memory(struct source *s, const void *data, size_t bytes)
{
	*s = (struct source){.fd = -1, .memory = data, .size = bytes};
}

void source_close(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

int source_read(const struct source *s, uint64_t offset, void *buffer, size_t bytes)
{
	uint64_t end = source_end(s, offset);
	if (offset > end || bytes > end - offset)
		return -EIO;
	if (offset >= s->size) {
		if (bytes)
			memcpy(buffer, s->tail + (offset - s->size), bytes);
		return 0;
	}
	if (s->fd < 0) {
		if (bytes)
			memcpy(buffer, s->memory + offset, bytes);
		return 0;
	}
	return io_read_at(s->fd, buffer, bytes, offset);
}
