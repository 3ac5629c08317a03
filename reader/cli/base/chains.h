/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains.h - notes about callchains that a command printed.
 *
 * One thread.
 */
#ifndef READER_CLI_BASE_CHAINS_H
#define READER_CLI_BASE_CHAINS_H

#include "reader/symbols/symbols.h"

/* Print notes on stderr about the most frequent reasons why addresses of `symbols` have no function
 * name. Print nothing if all were resolved. */
void chains_note_unresolved(const struct symbols *symbols);

#endif
