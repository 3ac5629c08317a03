/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - the report that a command reads: opened, its problems printed, its progress shown.
 *
 * One thread.
 */
#ifndef READER_CLI_BASE_INPUT_H
#define READER_CLI_BASE_INPUT_H

#include <stdbool.h>

#include "reader/cli/base/input_state.h"

/* Open a report; print why not. no_wait: a report that is still being written is read as far as it
 * goes. Returns 0 or STATUS_FAILED (then there is nothing to close). */
int cli_open(struct cli_report *r, const char *path, bool no_wait);
void cli_close(struct cli_report *r);

/* The same for commands that read events: adds the deferred ones of NVTX, selects those that
 * options ask for, and prints how many deferred ones have no place in time. */
int cli_open_events(struct cli_report *r, const char *path, bool no_wait);

#endif
