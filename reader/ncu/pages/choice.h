/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choice.h - which sections and metrics of a result are printed: those of section files in
 * place of the report's, some of either, derived metrics, and those of --metrics.
 *
 * One thread; messages go to stderr; allocates.
 */
#ifndef READER_NCU_PAGES_CHOICE_H
#define READER_NCU_PAGES_CHOICE_H

#include "reader/ncu/pages/section_files.h"
#include "reader/ncu/derive.h"

struct details_choice {
	struct section_options options;
	struct ncu_sections files;
	struct ncu_definitions definitions;
	size_t own_first, own_count; /* definitions that --metrics made */
	/* the section of --metrics: one metric for each name */
	Ncu__ProfilerSection section;
	Ncu__ProfilerSectionHeader header;
	Ncu__ProfilerSectionMetric *metrics, **metric_list;
	char *names; /* of the metrics, one behind the other */
	bool *found; /* section_words_note(), of results; NULL = no result was asked */
};

/* The sections that a result had before. */
struct details_sections_before {
	Ncu__ProfilerSection **sections;
	size_t count;
};

/* Reads files and expressions: an exit status. Release it in any case. metrics: the value of
 * --metrics, or NULL. */
int details_choice_init(
	struct details_choice *c, const struct section_options *options, const char *metrics);
void details_choice_release(struct details_choice *c);

/* Adds derived metrics to a result of `results`, and puts the sections chosen in place of its own,
 * until ..._undo(), which also stands behind a failure. 0 or -ENOMEM. */
int details_choice_apply(struct details_choice *c, const struct ncu_results *results,
	Ncu__ProfileResult *r, struct details_sections_before *ret_before);
void details_choice_undo(Ncu__ProfileResult *r, const struct details_sections_before *before);

/* Is a metric of the raw page one that --metrics names? Without it: all are. */
bool details_choice_has(const struct details_choice *c, const char *name);

/* Says which definitions of --metrics were added to no result, and why. */
void details_choice_tell(const struct details_choice *c);

/* Says which names of --section, --set and --metrics are those of nothing in the report; of
 * sections only where results were asked for theirs. */
void details_choice_tell_unknown(const struct details_choice *c, const struct ncu_results *results);

#endif
