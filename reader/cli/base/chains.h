/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains.h - what a command says of the callchains that it printed.
 *
 * One thread.
 */
#ifndef READER_CLI_BASE_CHAINS_H
#define READER_CLI_BASE_CHAINS_H

#include "reader/symbols/symbols.h"

/* Says on stderr, for the most frequent causes, why functions of `symbols` are not known. */
void chains_note_unresolved(const struct symbols *symbols);

#endif
