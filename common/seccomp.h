/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp.h - check for a system call filter in force. The check uses only system calls that the
 * program's loader has just made, since a filter may kill the process for any other, prctl()
 * included.
 */
#ifndef COMMON_SECCOMP_H
#define COMMON_SECCOMP_H

#include <stdint.h>

#define SECCOMP_PROCESS_STATUS "/proc/self/status" /* status of the first thread */
#define SECCOMP_THREAD_STATUS "/proc/thread-self/status"

/*
 * Return the number of filters of the thread with this status file (before Linux 5.9: 1 for any
 * number), or a negative errno. *ret_pid is the thread's process, 0 = not known. Calls openat, read
 * and close, which takes 10 to 30 us. Any thread, async-signal-safe.
 */
int seccomp_filters(const char *status_path, uint32_t *ret_pid);

#endif
