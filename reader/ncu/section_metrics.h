/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_metrics.h - iteration over every metric that a section requests, at any depth. No state;
 * any thread.
 */
#ifndef READER_NCU_SECTION_METRICS_H
#define READER_NCU_SECTION_METRICS_H

#include "ncu_sections.pb-c.h"

/* Call `one` for each metric, in the order of the fields, including source_metrics and metrics of
 * body items. item_filter: that of the innermost enclosing body item, or NULL. Stops at a value
 * other than 0 and returns it. */
typedef int section_metric_visit(void *user, const Ncu__ProfilerSectionMetric *metric,
	const Ncu__MetricOptionFilter *item_filter);
int ncu_section_each_metric(
	const Ncu__ProfilerSection *section, section_metric_visit *one, void *user);

#endif
