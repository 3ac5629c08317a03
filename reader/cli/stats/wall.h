/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall.h - profiles of all time of threads (PROFILE_WALL), and of the time that they did not run
 * (PROFILE_OFFCPU), from the account of threads' times (shared/thread_time.sql).
 *
 * One thread.
 */
#ifndef READER_CLI_STATS_WALL_H
#define READER_CLI_STATS_WALL_H

#include "reader/cli/stats/stats.h"

/* Return true if wall_add() has the events of profiles of this source. */
bool wall_has(enum profile_source source);

/* Add the parts of each thread's life to `p`, which has been read: its contents are known. `form`
 * selects a process and a thread. Adds nothing if the report has no account. Returns 0, or -EIO
 * after a message. */
int wall_add(struct profile *p, const char *path, const struct stats_form *form, bool no_symbols);

#endif
