/* SPDX-License-Identifier: Apache-2.0 */
/*
 * displayed_metrics.h - the metrics that a section shows of a result: what filters and options
 * leave of them, and what a name such as "regex:..." stands for.
 *
 * The one evaluation of sections for all who print them. No state; any thread. Names and labels
 * point into the section, the result or the table of names and live as long as these.
 */
#ifndef READER_NCU_DISPLAYED_METRICS_H
#define READER_NCU_DISPLAYED_METRICS_H

#include "reader/ncu/metrics.h"

/* What a section is evaluated over. */
struct ncu_target {
	const struct ncu_results *results; /* names of metrics */
	const Ncu__ProfileResult *result;
	uint32_t architecture; /* 10 * major + minor; 0 = the result does not say */
	Ncu__CollectionScope scope;
	/* What lies around a metric: they hold where its own filter says nothing; or NULL. */
	const Ncu__MetricOptionFilter *item_filter, *section_filter;
};

struct ncu_target ncu_target_of(const struct ncu_results *results, const Ncu__ProfileResult *r);

/* Is what has this filter for the target? NULL: those around it decide. */
bool ncu_filter_matches(const Ncu__MetricOptionFilter *f, const struct ncu_target *target);

struct ncu_shown {
	const char *name, *label;             /* the label is the name where the section has none */
	const Ncu__ProfilerSectionMetric *as; /* how the section has it */
	const Ncu__ProfileMetricResult *metric; /* NULL: the result has none of that name */
};

struct ncu_shown_list {
	struct ncu_shown *metrics;
	size_t count;
	uint32_t capacity;
};

/* Adds what each of `metrics` stands for: nothing where its filter does not match, the first option
 * that matches in its place, all metrics that a "regex:", "breakdown:" or "group:" names. 0 or
 * -ENOMEM. */
int ncu_shown_add(struct ncu_shown_list *list, const struct ncu_target *target,
	Ncu__ProfilerSectionMetric *const *metrics, size_t count);
/* Which filter says something about architectures, about scopes: that of the metric (or of its
 * option, or NULL) before those around it. NULL: none. */
const Ncu__MetricOptionFilter *ncu_filter_of_architecture(
	const Ncu__MetricOptionFilter *metric, const struct ncu_target *around);
const Ncu__MetricOptionFilter *ncu_filter_of_scope(
	const Ncu__MetricOptionFilter *metric, const struct ncu_target *around);

/* The name under which `m` is wanted there (results and result of the target are not looked at),
 * NULL: its filter does not match. *ret_option: the option that took its place, or NULL. */
const char *ncu_shown_name(const Ncu__ProfilerSectionMetric *m, const struct ncu_target *target,
	const Ncu__ProfilerSectionMetricOption **ret_option);
void ncu_shown_release(struct ncu_shown_list *list);

#endif
