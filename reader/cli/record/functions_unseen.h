/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions_unseen.h - what a recording of functions of libraries (--functions, or a library of
 * --trace) could not see: patterns that no function matches, and functions that are linked into the
 * program statically, whose calls pass no table that could be changed.
 */
#ifndef READER_CLI_RECORD_FUNCTIONS_UNSEEN_H
#define READER_CLI_RECORD_FUNCTIONS_UNSEEN_H

#include "reader/cli/info/info.h"

/* Print a note for each of the first patterns, separated by commas (NULL = none), that no function
 * of any process matches. Nothing if that is not known of some process. One thread. */
void functions_note_unmatched(const char *patterns, const struct info *i);

/*
 * Add how many functions that the patterns, or the libraries of `sources` (NULL = none; names with
 * commas between them), name are in the symbol tables of the programs to the finished report at
 * `path`, whose content is `i`. Reads the programs' files; does nothing if there are no such
 * functions. Prints why if the report cannot be changed. One thread.
 */
void functions_add_static(
	const char *path, const char *patterns, const char *sources, const struct info *i);

#endif
