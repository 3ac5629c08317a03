/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_codexl.h - `trace import` of text files of CodeXL and the Radeon Compute Profiler.
 *
 * One thread.
 */
#ifndef READER_CLI_IMPORT_CODEXL_H
#define READER_CLI_IMPORT_CODEXL_H

#include "reader/cli/base/options.h"

/* Print why the text file `path` cannot be read. error: a negative errno. */
void import_unreadable(const char *path, int error);

/* Read the files of the command line, which are all of CodeXL; write a report of them if --output
 * names one. Prints what each file contains and what a report cannot store. Returns an exit
 * status. */
int import_codexl(const struct options *o);

#endif
