/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.c - what all samplers use: turns, records, files.
 */
#define _GNU_SOURCE
#include "reader/host/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

uint64_t sample_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sample_wait(void)
{
	uint64_t ns = MACHINE_PERIOD_NS - sample_now_ns() % MACHINE_PERIOD_NS;
	const struct timespec time = {0, (long)ns};
	nanosleep(&time, NULL);
}

void sample_set(struct machine_record *r, uint32_t index, uint64_t value, uint64_t most)
{
	if (index >= MACHINE_VALUES_MAX || value > most)
		return;
	r->values[index] = value;
	r->reported |= UINT64_C(1) << index;
}

static bool record_write(const struct machine_record *r)
{
	ssize_t bytes = write(STDOUT_FILENO, r, sizeof(*r));
	if (bytes < 0 && errno != EAGAIN && errno != EINTR)
		exit(0);
	return bytes >= 0;
}

bool sample_put(const struct machine_record *r)
{
	static struct machine_record lost = {.kind = MACHINE_LOST, .reported = 1};
	if (lost.values[0] && record_write(&lost))
		lost.values[0] = 0;
	bool is_written = !lost.values[0] && record_write(r);
	lost.values[0] += !is_written && r->kind != MACHINE_NIC_SAMPLE;
	return is_written;
}

bool sample_read(const char *path, char *ret_text, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t length = fd < 0 ? -1 : read(fd, ret_text, bytes - 1);
	if (fd >= 0)
		close(fd);
	ret_text[length > 0 ? length : 0] = 0;
	return length > 0;
}

bool sample_read_number(const char *path, uint64_t *ret_number)
{
	char text[32], *end;
	if (!sample_read(path, text, sizeof(text)) || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	return !errno;
}
