/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp.c - check for a system call filter in force.
 */
#define _GNU_SOURCE
#include "common/seccomp.h"

#include <fcntl.h>
#include <stddef.h>

#include "common/sys.h"
#include "common/text.h"

struct status {
	uint64_t mode, filters, pid;
	size_t length;
	char line[48]; /* longer lines are truncated */
};

static void line_end(struct status *s)
{
	static const struct {
		char name[20];
		uint16_t offset;
	} rows[] = {{"Seccomp:\t", offsetof(struct status, mode)},
		{"Seccomp_filters:\t", offsetof(struct status, filters)},
		{"Tgid:\t", offsetof(struct status, pid)}};
	s->line[s->length] = 0;
	s->length = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (text_begins(s->line, rows[i].name))
			text_to_number(s->line + text_length(rows[i].name),
				(uint64_t *)(void *)((char *)s + rows[i].offset));
}

int seccomp_filters(const char *status_path, uint32_t *ret_pid)
{
	struct status status = {0};
	char piece[1024];
	long got;
	*ret_pid = 0;
	int fd = sys_openat(AT_FDCWD, status_path, O_RDONLY, 0);
	if (fd < 0)
		return fd;
	while ((got = SYS3(SYS_read, fd, piece, sizeof(piece))) > 0)
		for (long i = 0; i < got; i++)
			if (piece[i] == '\n')
				line_end(&status);
			else if (status.length + 1 < sizeof(status.line))
				status.line[status.length++] = piece[i];
	sys_close(fd);
	*ret_pid = (uint32_t)status.pid;
	return got < 0 ? (int)got : !status.mode ? 0 : status.filters ? (int)status.filters : 1;
}
