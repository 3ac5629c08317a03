/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_values.h - columns of CUDA rows that nsys numbers differently from CUPTI, or that depend on
 * other events of the report.
 *
 * Memory: a map entry for each context, executable graph, device attribute, device and kernel name.
 * One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_CUDA_VALUES_H
#define READER_EXPORT_SQLITE_CUDA_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/export/sqlite/bulk_table.h"
#include "reader/export/sqlite/decoded.h"
#include "reader/export/sqlite/nsys_rows.h"
#include "reader/base/map.h"
#include "reader/export/gpus.h"

struct sqlite_export;

struct cuda_values {
	struct map devices; /* GPUs, and devices of processes, that have a row -> 1 */
	struct gpus gpus;

	/* per-report state */
	struct map ids;          /* process and CUDA id, kind of value -> value + 1 */
	struct map kernel_names; /* string id in the report, whether short -> text id + 1 */
	uint32_t driver;         /* CUDA version of the driver; 0 = not known */
	char uuid[40], bus[40];  /* UUID and bus location of the current device */
};

/* Collect the values that later rows refer to, in the first pass. Returns 0 or -ENOMEM. */
int cuda_values_collect(struct sqlite_export *x, const struct event_batch *b);

/* Enter the GPUs of a report, after the first pass. Returns 0 or -ENOMEM. */
int cuda_values_enter(struct sqlite_export *x);

/* Return what TARGET_INFO_GPU has as the id of a GPU, by its index in `gpus`, until GPUs are
 * numbered. */
int64_t cuda_gpu_unnumbered(uint32_t index);

/* Number the GPUs (gpus.h) in their tables, which are complete. Returns 0 or a negative errno. */
int cuda_values_number(struct sqlite_export *x);

/* Forget the values of a report. GPUs are kept, because the next report may be of the same
 * machine. */
void cuda_values_report_end(struct cuda_values *c);
void cuda_values_release(struct cuda_values *c);

/* Compute a CUDA column by its `how` in nsys_rows.def. Returns 0 or a negative errno. */
int cuda_value(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row, enum how how,
	int64_t value, struct cell *ret_cell);

/* Return the type of an overhead as numbered by nsys. */
uint32_t cuda_overhead_type(int64_t kind);

/* Return true if the table has no row of this device yet, and record that it now has. */
bool cuda_device_is_new(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row,
	enum nsys_table table);

#endif
