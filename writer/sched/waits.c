/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.c - what a sleeping thread waits for: /proc/PID/task/TID/stat, syscall and wchan.
 */
#define _GNU_SOURCE
#include "writer/sched/waits.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
#define SYSTEM_CALL(name) [__NR_##name] = #name,
#include "system_calls.h"
#undef SYSTEM_CALL
};
#define NAMES (sizeof(names) / sizeof(*names))

/* Read a file of a thread as a text. Return false if it cannot be read. */
static bool task_read(uint32_t pid, uint32_t tid, const char *file, char *ret_text, size_t bytes)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", pid, tid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t length = read(fd, ret_text, bytes - 1);
	close(fd);
	ret_text[length > 0 ? length : 0] = 0;
	return length > 0;
}

/* Return the state of a thread: S, D, R, T, ... ; 0 = it has ended. */
static char state_read(uint32_t pid, uint32_t tid)
{
	char text[512];
	const char *end = task_read(pid, tid, "stat", text, sizeof(text))
		? strrchr(text, ')') /* the name before it may hold any character */
		: NULL;
	return end && end[1] == ' ' ? end[2] : 0;
}

bool wait_parse(const char *text, struct wait *ret)
{
	char *end;
	long number = strtol(text, &end, 10);
	const char *pc = strrchr(text, ' ');
	if (end == text)
		return false; /* "running" */
	ret->pc = pc ? strtoull(pc, NULL, 16) : 0;
	if (number < 0) {
		ret->system_call = "page fault"; /* asleep in the kernel, in no system call */
	} else if ((unsigned long)number < NAMES && names[number]) {
		ret->system_call = names[number];
	} else {
		snprintf(ret->number, sizeof(ret->number), "system call %ld", number);
		ret->system_call = ret->number;
	}
	return true;
}

static bool is_asleep(uint32_t pid, uint32_t tid)
{
	char state = state_read(pid, tid);
	return state == 'S' || state == 'D';
}

bool wait_look(uint32_t pid, uint32_t tid, struct wait *ret)
{
	char text[256];
	*ret = (struct wait){.system_call = ""};
	if (!is_asleep(pid, tid))
		return false;
	if (task_read(pid, tid, "syscall", text, sizeof(text)) && !wait_parse(text, ret))
		return false; /* it has been woken meanwhile */
	if (task_read(pid, tid, "wchan", ret->kernel, sizeof(ret->kernel)) &&
		!strcmp(ret->kernel, "0"))
		ret->kernel[0] = 0; /* not shown, or no longer asleep */
	return true;
}
