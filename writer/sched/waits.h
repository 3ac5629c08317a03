/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.h - what a sleeping thread waits for, as the kernel shows it in /proc.
 *
 * The thread is neither stopped nor interrupted. The kernel shows to everybody that a thread
 * sleeps; the function of the kernel that it sleeps in, to those who may read the process's files
 * in /proc; and the system call, to those who may trace the process.
 */
#ifndef WRITER_SCHED_WAITS_H
#define WRITER_SCHED_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wait {
	const char *system_call; /* its name; a static text; "" = not known */
	char number[32]; /* the number of a call without a name, as a text: then `system_call`
			    points here */
	char kernel[64]; /* function of the kernel that waits; "" = not known */
	uint64_t pc;     /* instruction after the call; 0 = not known */
};

/* Look at a thread. Return true if it sleeps, and what for; false if it runs, waits for a CPU, is
 * stopped, or cannot be looked at. */
bool wait_look(uint32_t pid, uint32_t tid, struct wait *ret);

/* Parse the text of /proc/PID/task/TID/syscall. Return false if the thread was not asleep. */
bool wait_parse(const char *text, struct wait *ret);

#endif
