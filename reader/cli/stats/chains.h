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

/* Append the tree of functions, from the outermost inward, heaviest first. indent: names show the
 * depth. */
void chain_tree_fill(struct table *t, struct profile *p, enum profile_weight weight, bool indent);

/* Append the functions, each with the weight of the calls made from it and from the functions
 * below it. */
void chain_flat_fill(struct table *t, struct profile *p, enum profile_weight weight);

#endif
