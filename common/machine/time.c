/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time.c - the time of all CPUs of the machine: the first line of /proc/stat.
 */
#define _GNU_SOURCE
#include "common/machine/time.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* user nice system idle iowait irq softirq steal; guest time is part of user. */
bool machine_time_parse(const char *line, uint64_t hz, struct machine_time *ret)
{
	uint64_t t[8] = {0};
	if (!hz ||
		sscanf(line,
			"cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			" %" SCNu64 " %" SCNu64,
			&t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
		return false;
	uint64_t tick_ns = UINT64_C(1000000000) / hz;
	ret->busy_ns = (t[0] + t[1] + t[2] + t[5] + t[6]) * tick_ns;
	ret->idle_ns = (t[3] + t[4]) * tick_ns;
	ret->steal_ns = t[7] * tick_ns;
	return true;
}

bool machine_time_read(struct machine_time *ret)
{
	char text[512];
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = 0;
	return machine_time_parse(text, (uint64_t)sysconf(_SC_CLK_TCK), ret);
}
