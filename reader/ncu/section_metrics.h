/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_metrics.h - every metric that a section asks for, wherever it lies in it. No state; any
 * thread.
 */
#ifndef READER_NCU_SECTION_METRICS_H
#define READER_NCU_SECTION_METRICS_H

#include "ncu_sections.pb-c.h"

/* Calls `one` for each, in the order of the fields; metrics of source_metrics and of body items
 * among them. item_filter: that of the innermost body item around it, or NULL. Stops at what is not
 * 0, and returns it. */
typedef int section_metric_visit(void *user, const Ncu__ProfilerSectionMetric *metric,
	const Ncu__MetricOptionFilter *item_filter);
int ncu_section_each_metric(
	const Ncu__ProfilerSection *section, section_metric_visit *one, void *user);

#endif
