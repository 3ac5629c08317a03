/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - opening and closing the report that a command reads.
 *
 * Prints problems of the file and the progress of reading on stderr. One thread.
 */
#ifndef READER_CLI_BASE_INPUT_H
#define READER_CLI_BASE_INPUT_H

#include <stdbool.h>

#include "reader/cli/base/input_state.h"

/* Open a report, waiting for a writer to finish it; print why if that fails. no_wait: do not wait,
 * but read what has been written so far. Returns 0, or STATUS_FAILED, after which there is nothing
 * to close. */
int cli_open(struct cli_report *r, const char *path, bool no_wait);

/* Let cli_open() read `fd`, which it does not close, whenever it is asked for `name`. Both are kept
 * until the program ends. */
void cli_open_instead(const char *name, int fd);

/* Close a report that was opened. Print a note if a selection matched no event. */
void cli_close(struct cli_report *r);

/* As cli_open(), for commands that read events: add the deferred NVTX events, apply the selection
 * of the options, and print how many deferred events have no time and are left out. */
int cli_open_events(struct cli_report *r, const char *path, bool no_wait);

/* As cli_open_events(), for a temporary report that `path`, a file of another kind, was converted
 * to. Takes ownership of `fd`, even on failure. */
int cli_open_converted(struct cli_report *r, const char *path, int fd);

#endif
