/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp.h - is a system call filter in force? Asked by the calls that a program's loader has just
 * made itself, since a filter may kill for any other, prctl() included.
 */
#ifndef COMMON_SECCOMP_H
#define COMMON_SECCOMP_H

#include <stdint.h>

#define SECCOMP_PROCESS_STATUS "/proc/self/status" /* of the first thread */
#define SECCOMP_THREAD_STATUS "/proc/thread-self/status"

/*
 * How many filters the thread has whose status file is given (before Linux 5.9: 1 for any number),
 * or a negative errno. *ret_pid is its process's number, 0 = not known. openat, read and close;
 * 10 to 30 us. Any thread, async-signal-safe.
 */
int seccomp_filters(const char *status_path, uint32_t *ret_pid);

#endif
