/* SPDX-License-Identifier: Apache-2.0 */
/*
 * findings.h - collection of the findings of rules, to be inserted into the results of a report.
 *
 * findings_init(), findings_take() for each frame of the process that runs the rules
 * (reader/python, libtrace_rules), findings_sort(), then findings_judge() as callback of
 * ncu_rewrite(); findings_release(). Invalid messages are rejected. One thread; allocates.
 */
#ifndef READER_NCU_FINDINGS_H
#define READER_NCU_FINDINGS_H

#include "reader/ncu/results.h"

struct findings {
	const struct ncu_results *results;
	struct finding *rows;
	size_t count;
	uint32_t capacity;
	char **names; /* names of metrics that the report lacks */
	size_t name_count;
	uint32_t name_capacity;
	uint64_t rule_results, metrics; /* numbers of messages taken */
	size_t next;                    /* row that findings_judge() examines next */
	size_t results_changed;         /* number of results that findings_judge() changed */
};

/* Initialize an empty collection for `results`, which must outlive it; release frees all rows and
 * names. One thread. */
void findings_init(struct findings *f, const struct ncu_results *results);
void findings_release(struct findings *f);

/* Add a frame: 'R' or 'M' (libtrace_rules/__main__.py). Returns 0, -ENOMEM, or -EBADMSG if the
 * frame is invalid. */
int findings_take(struct findings *f, char letter, const uint8_t *data, size_t bytes);

/* Sort the rows; call after the last frame. */
void findings_sort(struct findings *f);

/* Insert the findings into result `i`: rule results replace those of the same rules, metrics those
 * of the same names. For struct ncu_rewrite; `user` is the struct findings. */
int findings_judge(void *user, size_t i, Ncu__ProfileResult *result);

#endif
