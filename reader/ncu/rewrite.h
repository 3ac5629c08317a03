/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.h - a report written anew with some results changed or left out.
 *
 * What is not changed keeps its bytes: whole blocks are copied, and in a block that is written anew
 * all other entries, and fields that this version does not know. Memory follows one block. One
 * thread; allocates; blocks on the disk.
 */
#ifndef READER_NCU_REWRITE_H
#define READER_NCU_REWRITE_H

#include <stdio.h>

#include "reader/ncu/results.h"

enum ncu_verdict { NCU_KEEP, NCU_CHANGED, NCU_DROP };

struct ncu_rewrite {
	const struct ncu_results *results; /* all blocks of its report were noted */
	/* What becomes of result `i`, which may be changed in place (what is put in is from
	 * malloc). An enum ncu_verdict, or a negative errno that ends it all. NULL keeps all. */
	int (*judge)(void *user, size_t i, Ncu__ProfileResult *result);
	void *user;
	/* Names of metrics that the report does not have yet: their ids follow its own,
	 * results->name_count and so on. They are put behind the last names that the report has. */
	const char *const *names;
	size_t name_count;
};

/* Writes the report to `out`. 0; -EBADMSG with the cause for a report that is damaged (nothing of
 * use is written then); -EOVERFLOW for a block that becomes too large; or another negative errno.
 */
int ncu_rewrite(const struct ncu_rewrite *w, FILE *out, const char **ret_cause);

#endif
