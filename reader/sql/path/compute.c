/* SPDX-License-Identifier: Apache-2.0 */
/* compute.c - runs the statements of reader/reports/shared in their order. */
#include "reader/sql/path/compute.h"

#include "reader/sql/reports.h"

int path_compute(struct sql *s, bool segments, bool graph)
{
	const char *const steps[] = {"gpu_work", "openmp", "mpi", "mpi_waits", "nccl_waits", "path",
		segments ? "path_segments" : NULL, graph ? "wait_graph" : NULL};
	int error = 0;
	for (size_t i = 0; !error && i < sizeof(steps) / sizeof(*steps); i++)
		error = steps[i] ? sql_run(s, report_shared(steps[i]), NULL) : 0;
	return error;
}
