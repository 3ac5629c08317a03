/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choice.h - the choice of sections and metrics that `trace details` prints of a result.
 *
 * Sections come from section files if folders are given, else from the report; --section and --set
 * select some of them. Derived metrics and the metrics of --metrics are added. One thread; messages
 * are printed on stderr; allocates.
 */
#ifndef READER_NCU_PAGES_CHOICE_H
#define READER_NCU_PAGES_CHOICE_H

#include "reader/ncu/pages/section_files.h"
#include "reader/ncu/derive.h"

struct details_choice {
	struct section_options options;
	struct ncu_sections files;
	struct ncu_definitions definitions;
	size_t own_first, own_count; /* the definitions of --metrics */
	/* the section of --metrics, with one metric for each name */
	Ncu__ProfilerSection section;
	Ncu__ProfilerSectionHeader header;
	Ncu__ProfilerSectionMetric *metrics, **metric_list;
	char *names; /* names of the metrics, joined */
	bool *found; /* section_words_note(), of all results; NULL = no result has been checked */
};

/* The sections that a result had before the choice. */
struct details_sections_before {
	Ncu__ProfilerSection **sections;
	size_t count;
};

/* Read section files and expressions. metrics: the value of --metrics, or NULL. Returns an exit
 * status, after a message unless it is STATUS_OK. Release the choice even after an error. */
int details_choice_init(
	struct details_choice *c, const struct section_options *options, const char *metrics);
void details_choice_release(struct details_choice *c);

/* Add derived metrics to a result of `results`, and replace its sections by the chosen ones until
 * details_choice_undo(), which must follow even after a failure. Returns 0 or -ENOMEM. */
int details_choice_apply(struct details_choice *c, const struct ncu_results *results,
	Ncu__ProfileResult *r, struct details_sections_before *ret_before);
void details_choice_undo(Ncu__ProfileResult *r, const struct details_sections_before *before);

/* Return whether --metrics names this metric of the raw page. Without --metrics, all metrics are
 * named. */
bool details_choice_has(const struct details_choice *c, const char *name);

/* Print which definitions of --metrics were added to no result, and why. */
void details_choice_print(const struct details_choice *c);

/* Print which names of --section, --set and --metrics match nothing in the report. Names of
 * sections are checked only if sections of results were chosen. */
void details_choice_print_unknown(
	const struct details_choice *c, const struct ncu_results *results);

#endif
