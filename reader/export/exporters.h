/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exporters.h - the formats a profile of callchains is written in. exporters.def lists all formats.
 *
 * Written depth first from the tree: nothing is held besides it. One thread; errors stay with the
 * stream.
 */
#ifndef READER_EXPORT_EXPORTERS_H
#define READER_EXPORT_EXPORTERS_H

#include <stdio.h>

#include "reader/stats/profile.h"

/* One line a chain, as flamegraph.pl and inferno read them. 0 or -ENOMEM. */
int folded_write(FILE *out, struct profile *p, enum profile_weight weight);

/* One JSON object by https://www.speedscope.app/file-format-schema.json: a sampled profile for each
 * thread, one sample for each chain, whose weight is the sum of its calls. `name` is shown as the
 * file's. 0 or -ENOMEM. */
int speedscope_write(FILE *out, struct profile *p, enum profile_weight weight, const char *name);

/* The root that the children of this node belong to; the node is a root's. */
const struct profile_root *export_root(const struct profile *p, uint32_t node);

/* "program (pid)" and "thread (tid)", at most `bytes`. */
void export_process_name(const struct profile_root *root, char *out, size_t bytes);
void export_thread_name(
	const struct profile *p, const struct profile_root *root, char *out, size_t bytes);

#endif
