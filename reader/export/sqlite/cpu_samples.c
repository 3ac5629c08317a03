/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_samples.c - rows of CPU samples. */
#include "reader/export/sqlite/cpu_samples.h"

#include "reader/export/sqlite/export_state.h"

#define STATE_RUNNING 1 /* ENUM_SAMPLING_THREAD_STATE */

static int sample_row(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row)
{
	const int64_t *cpus = decoded_column(b, FIELD_CPU_SAMPLE_CPU),
		      *periods = decoded_column(b, FIELD_CPU_SAMPLE_PERIODS);
	struct bulk_table *t = &x->nsys.tables[NSYS_COMPOSITE_EVENTS];
	const uint64_t id = t->rows + 1;
	/* id, start, cpu, threadState, globalTid, cpuCycles */
	const int64_t values[] = {(int64_t)id, export_time(x, (uint64_t)b->columns[0][row]),
		cpus[row], STATE_RUNNING, b->global_tid, periods[row]};
	const struct wanted_chain wanted = {.process = b->process,
		.node = (uint32_t)b->chain[row],
		.method = (uint32_t)b->method[row],
		.table = NSYS_SAMPLING_CALLCHAINS,
		.ns = (uint64_t)b->columns[0][row]};
	int error = bulk_table_numbers(t, values, 0);
	if (!error)
		error = chain_of_sample(x, &wanted, (uint32_t)id);
	return error ? error : own_row_facts(x, b, row, id);
}

int cpu_samples_rows(struct sqlite_export *x, const struct decoded_batch *b)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++)
		error = sample_row(x, b, i);
	return error;
}
