/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - the time of all CPUs of the machine, as the kernel counts it.
 */
#ifndef WRITER_SCHED_MACHINE_H
#define WRITER_SCHED_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Sums over all CPUs since the machine's start, in ns; resolution: a clock tick (usually 10 ms). */
struct machine_time {
	uint64_t busy_ns, idle_ns, steal_ns;
};

/* Read /proc/stat. Return false if that is not possible. */
bool machine_read(struct machine_time *ret);

/* Parse the first line of /proc/stat, with `hz` ticks a second. */
bool machine_parse(const char *line, uint64_t hz, struct machine_time *ret);

#endif
