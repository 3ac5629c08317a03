/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.h - SIGINT, SIGTERM and SIGHUP for commands that remove temporary files before they end.
 *
 * Call stops_await(), do the work and poll stop_signal, remove the files, then call
 * stop_if_asked(), or stops_end() if the command continues with other work. One thread.
 */
#ifndef READER_CLI_BASE_STOP_H
#define READER_CLI_BASE_STOP_H

#include <signal.h>

#include "reader/file/block.h"

extern volatile sig_atomic_t stop_signal; /* number of the signal that arrived; 0 = none */

/* Catch the signals, except those that are ignored, and store the number in stop_signal. Calls
 * nest: the signal takes effect only when the outermost work ends. */
void stops_await(void);

/* End this process by the signal that arrived, if any. */
void stop_if_asked(void);

/* End the work of one stops_await(). The outermost call ends the process as stop_if_asked() does,
 * or restores the default action of the signals. */
void stops_end(void);

/* Return -EINTR if a signal has arrived, so that the pass ends at this block; otherwise update the
 * progress line as cli_progress() and return 0. A callback of contents_visitor. */
int stop_or_progress(void *user, const struct report_block *block);

#endif
