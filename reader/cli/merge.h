/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.h - several reports that a command reads as one.
 *
 * One thread; blocks on the disk.
 */
#ifndef READER_CLI_MERGE_H
#define READER_CLI_MERGE_H

#include "reader/cli/base/options.h"

/* If a command that answers for all its FILEs was given several reports, merge them as `trace
 * merge` does, into an unlinked file in TMPDIR (else /var/tmp), and replace the arguments by one
 * that cli_open() opens. If a FILE is not a report of libtrace, print a note, and the command reads
 * each by itself. Returns STATUS_OK, or STATUS_FAILED after a message. */
int merge_inputs(struct options *o);

#endif
