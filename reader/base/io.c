/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - reads and writes all bytes of a request, over short system calls. */
#include "reader/base/io.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

/* What a call has done: 0, also where it is to be made again, or as in io.h. */
static int moved(ssize_t n, size_t *done)
{
	if (n > 0)
		*done += (size_t)n;
	return n > 0 || (n < 0 && errno == EINTR) ? 0 : n < 0 ? -errno : -EIO;
}

int io_write(int fd, const void *data, size_t bytes)
{
	int error = 0;
	for (size_t done = 0; !error && done < bytes;)
		error = moved(write(fd, (const char *)data + done, bytes - done), &done);
	return error;
}

int io_write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
	int error = 0;
	for (size_t done = 0; !error && done < bytes;)
		error = moved(
			pwrite(fd, (const char *)data + done, bytes - done, (off_t)(offset + done)),
			&done);
	return error;
}

int io_read_at(int fd, void *ret_data, size_t bytes, uint64_t offset)
{
	int error = 0;
	for (size_t done = 0; !error && done < bytes;)
		error = moved(
			pread(fd, (char *)ret_data + done, bytes - done, (off_t)(offset + done)),
			&done);
	return error;
}
