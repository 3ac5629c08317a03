/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_samples.h - CPU samples as rows of COMPOSITE_EVENTS and SAMPLING_CALLCHAINS.
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_CPU_SAMPLES_H
#define READER_EXPORT_SQLITE_CPU_SAMPLES_H

#include "reader/export/sqlite/decoded.h"

struct sqlite_export;

/* Add the samples of a batch, each with its callchain under its own id. Returns 0 or a negative
 * errno. */
int cpu_samples_rows(struct sqlite_export *x, const struct decoded_batch *b);

#endif
