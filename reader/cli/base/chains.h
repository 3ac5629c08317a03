/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains.h - notes about callchains that a command printed.
 *
 * One thread.
 */
#ifndef READER_CLI_BASE_CHAINS_H
#define READER_CLI_BASE_CHAINS_H

#include "reader/symbols/symbols.h"

/* Print a note on stderr for the most frequent causes why functions of `symbols` have no name.
 * Print nothing if all were resolved. */
void chains_note_unresolved(const struct symbols *symbols);

#endif
