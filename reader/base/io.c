/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - reading and writing of whole buffers, with repeated system calls. */
#include "reader/base/io.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

/* Add the bytes that a system call transferred to *done. Returns 0, also if the call must be
 * repeated; otherwise an error as in io.h. */
static int progress_add(ssize_t n, size_t *done)
{
	if (n > 0)
		*done += (size_t)n;
	return n > 0 || (n < 0 && errno == EINTR) ? 0 : n < 0 ? -errno : -EIO;
}

int io_write(int fd, const void *data, size_t bytes)
{
	int error = 0;
	for (size_t done = 0; !error && done < bytes;)
		error = progress_add(write(fd, (const char *)data + done, bytes - done), &done);
	return error;
}

int io_write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
	int error = 0;
	for (size_t done = 0; !error && done < bytes;)
		error = progress_add(
			pwrite(fd, (const char *)data + done, bytes - done, (off_t)(offset + done)),
			&done);
	return error;
}

int io_read_at(int fd, void *ret_data, size_t bytes, uint64_t offset)
{
	int error = 0;
	for (size_t done = 0; !error && done < bytes;)
		error = progress_add(
			pread(fd, (char *)ret_data + done, bytes - done, (off_t)(offset + done)),
			&done);
	return error;
}
