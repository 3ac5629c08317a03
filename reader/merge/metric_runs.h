/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric_runs.h - hardware metrics of repeated runs of a program, joined in the report of the
 * first.
 *
 * A run counts one group of metrics (LIBTRACE_GPU_METRICS_PASS). A launch of one run is that launch
 * of another one which has the same process (by its name, and order of start among those of the
 * name), the same kernel, grid and block (of a graph: those of all its kernels), and the same
 * number among such launches of its process. An NVTX range has the same process, domain and
 * message, and the same number, if there are as many in both runs. Values get the times and ids of
 * the first run.
 *
 *   metric_runs_begin(); metric_runs_add() of each further report; metric_runs_end();
 *   metric_runs_release()
 *
 * Memory: some 80 bytes for each kernel and each value of two reports. One thread; allocates.
 */
#ifndef READER_MERGE_METRIC_RUNS_H
#define READER_MERGE_METRIC_RUNS_H

#include "reader/base/pool.h"
#include "reader/file/append.h"
#include "reader/report/contents.h"

/* A launch or an NVTX range of a report. */
struct metric_workload {
	uint32_t process;
	uint32_t thread;        /* of a range, plus 1; 0 = a launch */
	uint64_t id;            /* of a launch: its correlation id; of a range: its start */
	uint64_t what;          /* hash of what it is, equal in all runs */
	uint32_t number, total; /* among the workloads that are the same */
};

#define METRIC_COLUMNS 9u /* of the wider of the two events */

/* A row of CUDA_METRIC or CUDA_RANGE_METRIC. */
struct metric_row {
	uint32_t kind, process, tid;
	uint32_t workload; /* index */
	const char *name;  /* in the pool of the join */
	int64_t values[METRIC_COLUMNS];
};

/* The metrics of a report; all zero = empty. */
struct metric_run {
	struct metric_workload *workloads; /* sorted by process, thread and id */
	uint32_t workload_count, workload_capacity;
	struct metric_row *rows;
	uint32_t row_count, row_capacity;
};

struct metric_runs {
	struct append *append;
	struct contents *contents; /* of the first report */
	struct pool names;
	struct metric_run first;
	struct map workloads;     /* what and number -> index of a workload, plus 1 */
	struct map anchors;       /* index of a workload -> one of its rows, plus 1 */
	struct map known;         /* workload and node, name -> 1: there is a value */
	struct metric_row *added; /* rows for the first report */
	uint32_t added_count, added_capacity;
};

/* What a report contributed. */
struct metric_share {
	uint64_t rows;      /* of metrics in the report */
	uint64_t workloads; /* launches and ranges that have these */
	uint64_t found;     /* of these, those that the first report has */
	uint64_t added;     /* rows that are new */
};

/* Read the metrics of the report that is open for changes. `contents` is that of the whole report;
 * both are kept until metric_runs_release(). These functions return 0 or a negative errno. */
int metric_runs_begin(struct metric_runs *j, struct append *append, struct contents *contents);

/* Take the metrics of another report, whose contents were read. */
int metric_runs_add(struct metric_runs *j, const struct report *r, struct contents *contents,
	struct metric_share *ret_share);

/* Append what was added, with receipts, and a diagnostic that says from how many runs it is. */
int metric_runs_end(struct metric_runs *j, uint32_t runs);

/* Free all that it holds. */
void metric_runs_release(struct metric_runs *j);

#endif
