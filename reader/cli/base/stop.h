/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.h - signals that end a command which has temporary files to take away first.
 *
 * stops_await(); work that looks at stop_signal; stop_if_told() when everything is cleared away, or
 * stops_end() where the command goes on with other work. One thread.
 */
#ifndef READER_CLI_BASE_STOP_H
#define READER_CLI_BASE_STOP_H

#include <signal.h>

#include "reader/file/block.h"

extern volatile sig_atomic_t stop_signal; /* 0 = none came */

/* Work in other work awaits them for itself, and ends that: the signal does, too, only when the
 * outer work ends it. */
void stops_await(void);

/* Ends as the signal would have ended it. */
void stop_if_told(void);

/* The same; otherwise signals end the program again. */
void stops_end(void);

/* For contents_visitor, `user` as for cli_progress(): ends the pass at the next block. */
int stop_or_progress(void *user, const struct report_block *block);

#endif
