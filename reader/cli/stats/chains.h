/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains.h - the callchain reports of `trace stats`.
 *
 * One thread.
 */
#ifndef READER_CLI_STATS_CHAINS_H
#define READER_CLI_STATS_CHAINS_H

#include "reader/cli/base/table.h"
#include "reader/stats/profile.h"

#define CHAIN_TREE_COLUMNS 8
#define CHAIN_FLAT_COLUMNS 9
extern const struct table_column chain_tree_columns[CHAIN_TREE_COLUMNS];
extern const struct table_column chain_flat_columns[CHAIN_FLAT_COLUMNS];

/* Functions from the outermost inwards, the heaviest first. `indent`: names show the depth. */
void chain_tree_fill(struct table *t, struct profile *p, enum profile_weight weight, bool indent);

/* Functions by what was called from them. */
void chain_flat_fill(struct table *t, struct profile *p, enum profile_weight weight);

#endif
