/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric_runs.h - joins hardware metrics of repeated runs (merge/metric_runs.h): `trace merge
 * --metrics` and `trace run --gpu-metrics-pass all`. Prints messages on stderr. One thread.
 */
#ifndef READER_CLI_METRIC_RUNS_H
#define READER_CLI_METRIC_RUNS_H

#include <stdbool.h>

/* Add the hardware metrics of `files` to the report `into`, which messages call `name`. It is
 * unchanged after a failure. Returns STATUS_OK, or another exit status after a message. */
int metric_runs_join(
	const char *into, const char *name, char *const *files, int count, bool no_wait);

#endif
