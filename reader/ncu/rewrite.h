/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.h - copy of a report with some results changed or dropped.
 *
 * Unchanged data keeps its bytes: blocks are copied whole, and a rebuilt block keeps all other
 * entries, and fields that this version does not know. Memory: one block. One thread; allocates;
 * may block on the disk.
 */
#ifndef READER_NCU_REWRITE_H
#define READER_NCU_REWRITE_H

#include <stdio.h>

#include "reader/ncu/results.h"

enum ncu_verdict { NCU_KEEP, NCU_CHANGED, NCU_DROP };

struct ncu_rewrite {
	const struct ncu_results *results; /* must have indexed all blocks of the report */
	/* Decide on result `i`, which may be changed in place (additions are allocated with
	 * malloc). Returns an enum ncu_verdict, or a negative errno that stops the copy. NULL keeps
	 * all. */
	int (*judge)(void *user, size_t i, Ncu__ProfileResult *result);
	void *user;
	/* Names of metrics that the report lacks: their ids follow those of the report, from
	 * results->name_count on. They are added after the last names of the report. */
	const char *const *names;
	size_t name_count;
};

/* Write the report to `out`. Returns 0; -EBADMSG with the cause for a damaged report (the output is
 * then useless); -EOVERFLOW if a block becomes too large; or another negative errno. */
int ncu_rewrite(const struct ncu_rewrite *w, FILE *out, const char **ret_cause);

#endif
