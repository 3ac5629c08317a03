/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - batches of events as rows of all tables. */
#include "reader/export/sqlite/rows.h"

#include <errno.h>

#include "common/spool.h"
#include "reader/base/words.h"
#include "reader/export/sqlite/export_state.h"
#include "reader/export/sqlite/osrt_calls.h"

/* Record the names and priorities in THREAD_START and THREAD_NAME. */
static int thread_facts_note(struct sqlite_export *x, const struct decoded_batch *b)
{
	const bool starts = b->batch->kind == KIND_THREAD_START;
	const int64_t *names = decoded_column(b,
			      starts ? (uint32_t)FIELD_THREAD_START_NAME
				     : (uint32_t)FIELD_THREAD_NAME_NAME),
		      *priorities = starts ? decoded_column(b, FIELD_THREAD_START_PRIORITY) : NULL;
	struct export_thread *t;
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++) {
		error = thread_name_note(&x->threads, &x->texts, b->global_tid, (uint32_t)names[i],
			(uint64_t)b->columns[0][i], false);
		if (!error)
			error = thread_find(&x->threads, b->global_tid, &t);
		if (!error && priorities && priorities[i])
			t->priority = (uint32_t)priorities[i];
	}
	return error;
}

/* Add the rows of an event of a kind that tables of nsys take. */
static int kind_row(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row)
{
	const uint32_t kind = b->event->number;
	const struct kind_rows *k = &x->nsys.kinds[kind];
	uint64_t rowid = 0;
	if (b->duration && b->duration[row] < 0) {
		x->impossible++;
		return 0;
	}
	int error = nsys_row(x, b, row, &rowid);
	if (error || k->whole)
		return error ? error : own_row_whole(x, &x->own.facts[kind], b, row);
	if (!rowid)
		return k->conditional ? own_row_whole(x, &x->own.others[kind], b, row) : 0;
	return k->fact_count ? own_row_facts(x, b, row, rowid) : 0;
}

/* ---- CPU samples: each has its callchain under its own id ---- */

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
		.in_step = decoded_column(b, FIELD_CPU_SAMPLE_FLAGS)[row] & RECORD_IN_STEP,
		.ns = (uint64_t)b->columns[0][row]};
	int error = bulk_table_numbers(t, values, 0);
	if (!error)
		error = chain_of_sample(x, &wanted, (uint32_t)id);
	return error ? error : own_row_facts(x, b, row, id);
}

static int samples_rows(struct sqlite_export *x, const struct decoded_batch *b)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++)
		error = sample_row(x, b, i);
	return error;
}

/* ---- kinds that nobody reads ---- */

/* Kinds that may be most events of a report, and from which no table follows but those of their
 * rows, and callchains. */
static bool may_be_unread(uint32_t kind)
{
	switch (kind) {
	case KIND_FUNCTION_CALL:
	case KIND_MPI_CALL:
	case KIND_OPENMP:
	case KIND_CUDA_API:
	case KIND_CUDA_KERNEL:
	case KIND_CUDA_MEMCPY:
	case KIND_CUDA_MEMSET:
	case KIND_CUDA_SYNC:
		return true;
	default:
		return false;
	}
}

static bool is_read(const struct sqlite_export *x, const struct schema_event *e)
{
	const struct kind_rows *k = &x->nsys.kinds[e->number];
	char facts[64], others[64];
	bool read = !may_be_unread(e->number);
	own_table_name(e, false, facts, sizeof(facts));
	own_table_name(e, true, others, sizeof(others));
	read |= words_have(x->job->read_by, facts) || words_have(x->job->read_by, others);
	/* Callchains follow from rows. The critical path, which names them, reads calls and waits
	 * without naming these. */
	read |= words_have(x->job->read_by, "CUDA_CALLCHAINS");
	for (uint32_t i = k->first; !read && i < k->first + (uint32_t)k->count; i++)
		read = words_have(
			x->job->read_by, nsys_table_name(x->nsys.mappings[i].table, NSYS_3_24));
	return read;
}

void rows_begin(struct sqlite_export *x)
{
	const struct schema_event *e;
	for (uint32_t n = 0; x->job->read_by && (e = schema_event_at(n)); n++)
		x->unread[e->number] = !is_read(x, e);
}

/* Titles ask whether there are calls of CUDA: if nothing else reads them, add the first that is no
 * part of another. */
static int unread_rows(struct sqlite_export *x, const struct event_batch *batch)
{
	struct decoded_batch b;
	if (batch->kind != KIND_CUDA_API || x->has_cuda_call)
		return 0;
	int error = batch_decode(x, batch, &b);
	if (error)
		return error == -EBADMSG ? 0 : error;
	const int64_t *levels = decoded_column(&b, FIELD_CUDA_API_LEVEL);
	for (uint32_t i = 0; !error && !x->has_cuda_call && i < batch->count; i++)
		if (!levels[i]) {
			error = kind_row(x, &b, i);
			x->has_cuda_call = true;
		}
	return error;
}

int batch_rows(struct sqlite_export *x, const struct event_batch *batch)
{
	struct decoded_batch b;
	struct export_thread *thread;
	if (batch->kind < SCHEMA_KINDS && x->unread[batch->kind])
		return unread_rows(x, batch);
	int error = batch_decode(x, batch, &b);
	if (error)
		return error == -EBADMSG ? 0 : error;
	if (batch->tid) /* 0: the events belong to the process */
		error = thread_find(&x->threads, b.global_tid, &thread);
	if (!error && (batch->kind == KIND_THREAD_START || batch->kind == KIND_THREAD_NAME))
		error = thread_facts_note(x, &b);
	if (!error && batch->kind == KIND_NVTX_NAME)
		error = nvtx_name_rows(x, &b);
	if (!error && batch->kind == KIND_OSRT_CALL)
		return osrt_calls_rows(x, &b);
	if (!error && batch->kind == KIND_CPU_SAMPLE)
		return samples_rows(x, &b);
	for (uint32_t i = 0; !error && i < batch->count; i++)
		error = x->nsys.kinds[batch->kind].count
			? kind_row(x, &b, i)
			: own_row_whole(x, &x->own.facts[batch->kind], &b, i);
	return error;
}
