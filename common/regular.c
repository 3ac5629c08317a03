/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regular.c - opens files whose names others have chosen, but only regular files.
 */
#define _GNU_SOURCE
#include "common/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int regular_open(const char *path)
{
	struct stat status;
	char again[32];
	int fd = -1, place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0)
		return -errno;
	int error = fstat(place, &status) ? -errno : S_ISREG(status.st_mode) ? 0 : -EINVAL;
	if (!error) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0 && errno == ENOENT) /* no /proc */
			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		error = fd < 0 ? -errno : 0;
	}
	close(place);
	return error ? error : fd;
}
