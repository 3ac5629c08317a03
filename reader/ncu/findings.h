/* SPDX-License-Identifier: Apache-2.0 */
/*
 * findings.h - what rules found, gathered, and put into the results it is about.
 *
 * findings_init(), findings_take() for each frame of the process that runs them (reader/python,
 * libtrace_rules), then findings_change() as the function of ncu_rewrite(); findings_release().
 * What is not a sound message is refused. One thread; allocates.
 */
#ifndef READER_NCU_FINDINGS_H
#define READER_NCU_FINDINGS_H

#include "reader/ncu/results.h"

struct findings {
	const struct ncu_results *results;
	struct finding *rows;
	size_t count;
	uint32_t capacity;
	char **names; /* of metrics that the report does not have */
	size_t name_count;
	uint32_t name_capacity;
	uint64_t rule_results, metrics; /* taken */
	size_t next;                    /* row that findings_judge() comes to */
	size_t results_changed;         /* by findings_judge() */
};

void findings_init(struct findings *f, const struct ncu_results *results);
void findings_release(struct findings *f);

/* A frame: 'R' or 'M' (libtrace_rules/__main__.py). 0, -ENOMEM, or -EBADMSG for what is none. */
int findings_take(struct findings *f, char letter, const uint8_t *data, size_t bytes);

/* Behind the last frame. */
void findings_sort(struct findings *f);

/* Puts what was found into result `i`: rule results take the place of those of the same rules,
 * metrics that of those of the same names. For struct ncu_rewrite; `user` is the findings. */
int findings_judge(void *user, size_t i, Ncu__ProfileResult *result);

#endif
