/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_codexl.h - `trace import` of text files of CodeXL and the Radeon Compute Profiler. One
 * thread.
 */
#ifndef READER_CLI_IMPORT_CODEXL_H
#define READER_CLI_IMPORT_CODEXL_H

#include "reader/cli/base/options.h"

/* Says why a file that was to be text cannot be read. */
void import_unreadable(const char *path, int error);

/* Reads the files that the options name, which are all of CodeXL, and writes a report of them where
 * --output names one. Prints what each holds, and what has no place in a report. An exit status. */
int import_codexl(const struct options *o);

#endif
