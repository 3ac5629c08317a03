/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time.h - the time of all CPUs of the machine, as the kernel counts it.
 */
#ifndef COMMON_MACHINE_TIME_H
#define COMMON_MACHINE_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* Sums over all CPUs since the machine's start, in ns; resolution: a clock tick (usually 10 ms). */
struct machine_time {
	uint64_t busy_ns, idle_ns, steal_ns;
};

/* Read /proc/stat. Return false if that is not possible. */
bool machine_time_read(struct machine_time *ret);

/* Parse the first line of /proc/stat, with `hz` ticks a second. */
bool machine_time_parse(const char *line, uint64_t hz, struct machine_time *ret);

#endif
