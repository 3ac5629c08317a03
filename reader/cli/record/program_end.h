/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_end.h - how the program of `trace run` ended, added to its report.
 *
 * The tracer sees no signal that kills its process, nor an exit by a bare system call; only the
 * parent of the process learns of them.
 */
#ifndef READER_CLI_RECORD_PROGRAM_END_H
#define READER_CLI_RECORD_PROGRAM_END_H

#include <sys/types.h>

#include "reader/cli/info/info.h"

/* Add the signal or exit status in `status` (as of waitpid()) to the process `pid` of a finished
 * report, if the report lacks it. `i` is the content of the report at `path`. Prints why if the
 * report cannot be changed; does nothing if it is damaged or does not have the process. */
void program_end_add(const char *path, const struct info *i, pid_t pid, int status);

#endif
