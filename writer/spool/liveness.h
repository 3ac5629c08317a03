/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness.h - whether the process of a spool has ended.
 *
 * A pidfd shows this for certain, but a pid may have been given to another process before the spool
 * was found, the process may have become another program by exec, and in another pid namespace its
 * number is not valid here. Then /proc is read, at limited intervals. One thread.
 */
#ifndef WRITER_SPOOL_LIVENESS_H
#define WRITER_SPOOL_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "writer/spool/spools.h"

/* Return true if the process has ended, or was replaced by another program. The end of a watched
 * process is left to watch_has_ended(). `now_ns` (CLOCK_MONOTONIC) limits how often /proc is read.
 */
bool spool_is_dead(struct spools *s, struct spool *spool, uint64_t now_ns);

/* Return true if the process has become another program, for use when a spool with the same pid is
 * found. Also returns true if the system does not report it. */
bool spool_is_replaced(const struct spool *spool);

/* Return true if the process is the first process of our pid namespace, as the program in a
 * container is. When it has ended, the kernel kills all other processes of the namespace. */
bool spool_is_init(const struct spool *spool);

/* Get the status of the process, which has ended, as that of waitpid(). Return false if it is not
 * known. The kernel reports it until the parent has waited for the process; from Linux 6.15 on also
 * afterwards, if the spool was found while the process lived. Takes at most 1 ms. */
bool spool_end_status(const struct spool *spool, int *ret_status);

/*
 * Return 1 if host_pid is the process that maps the spool, or did so before an exec, and has not
 * ended; 0 if it is not, as far as known: the number is from shared memory, and may be that of a
 * stranger. A negative errno if its mappings may not be read. Reads /proc/PID/maps until it is
 * proven, at limited intervals; then makes one system call.
 */
int spool_is_proven(struct spool *spool, uint64_t now_ns);

/* Get the state letter of a process, and its start in ns of CLOCK_MONOTONIC, at least 1. Return 0
 * or a negative errno. */
int process_stat(uint32_t pid, char *ret_state, uint64_t *ret_start_ns);

#endif
