/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - hardware metrics of launches (CUDA_METRIC rows), for their results in a report of
 * Nsight Compute. Those of a graph's kernels are left out: which kernel of the report has them is
 * not known. One thread; allocates; 24 bytes per value.
 */
#ifndef READER_EXPORT_NCU_METRICS_H
#define READER_EXPORT_NCU_METRICS_H

#include <stdint.h>

#include "common/ncu/launch.h"
#include "reader/file/batch.h"
#include "reader/report/strings.h"

#define NCU_METRIC_NAMES_MAX 256u /* of a report; further ones are left out */

/* All zero = empty. */
struct ncu_metrics {
	struct ncu_metric {
		uint32_t process, correlation;
		uint32_t name; /* index in `names` */
		double value;
	} * rows;
	uint32_t count, capacity;
	uint32_t names[NCU_METRIC_NAMES_MAX]; /* ids of texts */
	uint32_t name_count;
};

/* Collect the rows of a batch of any kind, in the first pass. Returns 0 or -ENOMEM. */
int ncu_metrics_collect(struct ncu_metrics *m, const struct event_batch *batch);

/* Return the index of a name, which is added to `names`; NCU_METRIC_NAMES_MAX: there is no room. */
uint32_t ncu_metric_index(struct ncu_metrics *m, uint32_t id);

/* Sort the rows. Call it once, before ncu_metrics_add(). */
void ncu_metrics_index(struct ncu_metrics *m);

/* Add the metrics of a launch to its result; the number of a name is launch_metric_count plus its
 * index. */
void ncu_metrics_add(const struct ncu_metrics *m, uint32_t process, uint32_t correlation,
	struct launch_entry *entry);

/* Free the rows; `m` is empty then. */
void ncu_metrics_release(struct ncu_metrics *m);

#endif
