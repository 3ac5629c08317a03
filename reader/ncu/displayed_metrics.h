/* SPDX-License-Identifier: Apache-2.0 */
/*
 * displayed_metrics.h - metrics that a section displays of a result: after filters and options, and
 * with names such as "regex:..." expanded.
 *
 * All code that prints sections uses this evaluation. No state; any thread. Names and labels point
 * into the section, the result or the table of names, and live as long as these.
 */
#ifndef READER_NCU_DISPLAYED_METRICS_H
#define READER_NCU_DISPLAYED_METRICS_H

#include "reader/ncu/metrics.h"

/* Context in which a section is evaluated. */
struct ncu_target {
	const struct ncu_results *results; /* names of metrics */
	const Ncu__ProfileResult *result;
	uint32_t architecture; /* 10 * major + minor; 0 = not in the result */
	Ncu__CollectionScope scope;
	/* Filters of the enclosing item and section, which apply if a metric's own filter says
	 * nothing; or NULL. */
	const Ncu__MetricOptionFilter *item_filter, *section_filter;
};

/* Return the target of a result, without enclosing filters. */
struct ncu_target ncu_target_of(const struct ncu_results *results, const Ncu__ProfileResult *r);

/* Return true if the filter accepts the target. NULL = the enclosing filters decide. */
bool ncu_filter_matches(const Ncu__MetricOptionFilter *f, const struct ncu_target *target);

struct ncu_shown {
	const char *name, *label;               /* the name if the section has no label */
	const Ncu__ProfilerSectionMetric *as;   /* definition in the section */
	const Ncu__ProfileMetricResult *metric; /* NULL = the result has no metric of this name */
};

struct ncu_shown_list {
	struct ncu_shown *metrics;
	size_t count;
	uint32_t capacity;
};

/* Add the metrics that each of `metrics` stands for: none if its filter does not match, the first
 * matching option instead of it, all metrics that a "regex:", "breakdown:" or "group:" names.
 * Returns 0 or -ENOMEM. */
int ncu_shown_add(struct ncu_shown_list *list, const struct ncu_target *target,
	Ncu__ProfilerSectionMetric *const *metrics, size_t count);
/* Return the filter that restricts architectures or scopes: that of the metric (or of its option,
 * or NULL) before the enclosing filters. NULL = none. */
const Ncu__MetricOptionFilter *ncu_filter_of_architecture(
	const Ncu__MetricOptionFilter *metric, const struct ncu_target *around);
const Ncu__MetricOptionFilter *ncu_filter_of_scope(
	const Ncu__MetricOptionFilter *metric, const struct ncu_target *around);

/* Return the name under which `m` is requested for the target, of which only filters, architecture
 * and scope are used; NULL = its filter does not match. *ret_option: the option that replaced it,
 * or NULL. */
const char *ncu_shown_name(const Ncu__ProfilerSectionMetric *m, const struct ncu_target *target,
	const Ncu__ProfilerSectionMetricOption **ret_option);
/* Free the list. */
void ncu_shown_release(struct ncu_shown_list *list);

#endif
