/* SPDX-License-Identifier: Apache-2.0 */
/* metric_runs.c - hardware metrics of repeated runs of a program. */
#include "reader/merge/metric_runs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/schema/fnv.h"
#include "reader/base/order.h"

/* ---- processes ---- */

/* Hashes of processes that are equal in all runs, by id. */
struct keys {
	struct key {
		uint64_t label, start_ns, hash;
		uint32_t id;
	} * rows;
	size_t count;
};

static int compare_starts(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	int order = compare_u64(a->label, b->label);
	order = order ? order : compare_u64(a->start_ns, b->start_ns);
	return order ? order : compare_u64(a->id, b->id);
}

static int compare_ids(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	return compare_u64(a->id, b->id);
}

static int keys_make(struct keys *k, struct process_list *l)
{
	char label[PROCESS_LABEL_BYTES];
	uint64_t number = 0;
	k->rows = calloc(l->count + 1, sizeof(*k->rows));
	if (!k->rows)
		return -ENOMEM;
	for (; k->count < l->count; k->count++) {
		const struct process *p = l->rows[k->count];
		process_label(l, p, label);
		k->rows[k->count] = (struct key){
			.label = fnv_text(label), .start_ns = p->facts->start_ns, .id = p->id};
	}
	qsort(k->rows, k->count, sizeof(*k->rows), compare_starts);
	for (size_t i = 0; i < k->count; i++) {
		number = i && k->rows[i].label == k->rows[i - 1].label ? number + 1 : 0;
		k->rows[i].hash = hash_mix(k->rows[i].label, number);
	}
	qsort(k->rows, k->count, sizeof(*k->rows), compare_ids);
	return 0;
}

static uint64_t key_of(const struct keys *k, uint32_t process)
{
	const struct key wanted = {.id = process},
			 *found = k->count
		? bsearch(&wanted, k->rows, k->count, sizeof(*k->rows), compare_ids)
		: NULL;
	return found ? found->hash : 0;
}

/* ---- reading of a report ---- */

#define NO_WORKLOAD UINT32_MAX

_Static_assert((int)FIELD_CUDA_RANGE_METRIC_VALUE <= (int)METRIC_COLUMNS &&
		(int)FIELD_CUDA_METRIC_VALUE <= (int)METRIC_COLUMNS,
	"a row has more columns");

struct reading {
	struct metric_run *run;
	struct contents *contents;
	struct pool *names;
	struct keys keys;
};

static struct string_ref text_of(const struct reading *g, int64_t id)
{
	return string_table_get(&g->contents->strings, (uint32_t)id);
}

static int workload_add(struct metric_run *run, struct metric_workload workload)
{
	if (array_room(&run->workloads, run->workload_count, &run->workload_capacity,
		    sizeof(*run->workloads)))
		return -ENOMEM;
	run->workloads[run->workload_count++] = workload;
	return 0;
}

/* Columns of a kernel: the launch, and what it is. */
enum { LAUNCH, NAME, SHAPE, KERNEL_COLUMNS = SHAPE + 6, GRAPH_COLUMNS = NAME + 1 };

static const uint32_t kernel_fields[KERNEL_COLUMNS] = {FIELD_CUDA_KERNEL_CORRELATION_ID,
	FIELD_CUDA_KERNEL_NAME, FIELD_CUDA_KERNEL_GRID_X, FIELD_CUDA_KERNEL_GRID_Y,
	FIELD_CUDA_KERNEL_GRID_Z, FIELD_CUDA_KERNEL_BLOCK_X, FIELD_CUDA_KERNEL_BLOCK_Y,
	FIELD_CUDA_KERNEL_BLOCK_Z};
static const uint32_t graph_fields[GRAPH_COLUMNS] = {
	FIELD_CUDA_GRAPH_TRACE_CORRELATION_ID, FIELD_CUDA_GRAPH_TRACE_GRAPH_ID};

/* Add a workload for each kernel or graph; those of one launch are united later. */
static int launches_add(struct reading *g, const struct event_batch *b, const int64_t *values)
{
	const bool is_kernel = b->kind == KIND_CUDA_KERNEL;
	const uint64_t key = key_of(&g->keys, b->process);
	int error = 0;
	for (uint32_t row = 0; row < b->count && !error; row++) {
		const int64_t name = values[b->count + row];
		uint64_t what = is_kernel ? fnv_text(text_of(g, name).text) : (uint64_t)name;
		for (uint32_t i = SHAPE; is_kernel && i < KERNEL_COLUMNS; i++)
			what = hash_mix(what, (uint64_t)values[(size_t)i * b->count + row]);
		if (values[row])
			error = workload_add(g->run,
				(struct metric_workload){.process = b->process,
					.id = (uint64_t)values[row],
					.what = hash_mix(hash_mix(what, b->kind), key)});
	}
	return error;
}

/* The columns that a row has of its own; the others are those of its workload. */
struct own_fields {
	uint32_t metric, type, value, node;
};

static const struct own_fields *own_of(uint32_t kind)
{
	static const struct own_fields launch = {FIELD_CUDA_METRIC_METRIC, FIELD_CUDA_METRIC_TYPE,
		FIELD_CUDA_METRIC_VALUE, FIELD_CUDA_METRIC_NODE};
	static const struct own_fields range = {.metric = FIELD_CUDA_RANGE_METRIC_METRIC,
		.type = FIELD_CUDA_RANGE_METRIC_TYPE,
		.value = FIELD_CUDA_RANGE_METRIC_VALUE};
	return kind == KIND_CUDA_RANGE_METRIC ? &range : &launch;
}

/* Return the value of a column; 0 = none of the event. */
static int64_t value_of(const struct metric_row *m, uint32_t field)
{
	return field ? m->values[schema_column_index(schema_event(m->kind), field)] : 0;
}

/* Return the workload of a row, without what it is. */
static struct metric_workload workload_of(const struct metric_row *m)
{
	const bool is_range = m->kind == KIND_CUDA_RANGE_METRIC;
	return (struct metric_workload){.process = m->process,
		.thread =
			is_range ? (uint32_t)value_of(m, FIELD_CUDA_RANGE_METRIC_THREAD_ID) + 1 : 0,
		.id = is_range ? (uint64_t)m->values[0]
			       : (uint64_t)value_of(m, FIELD_CUDA_METRIC_CORRELATION_ID)};
}

/* Add the range of a row as a workload. */
static int range_add(struct reading *g, const struct metric_row *m)
{
	struct metric_workload workload = workload_of(m);
	const char *domain = text_of(g, value_of(m, FIELD_CUDA_RANGE_METRIC_DOMAIN)).text,
		   *message = text_of(g, value_of(m, FIELD_CUDA_RANGE_METRIC_RANGE)).text;
	workload.what = hash_mix(
		hash_mix(fnv_text(domain), fnv_text(message)), key_of(&g->keys, m->process));
	return workload_add(g->run, workload);
}

static int metrics_add(struct reading *g, const struct event_batch *b, const int64_t *values)
{
	const struct schema_event *event = schema_event(b->kind);
	struct metric_run *run = g->run;
	int error = 0;
	for (uint32_t row = 0; row < b->count && !error; row++) {
		if (array_room(&run->rows, run->row_count, &run->row_capacity, sizeof(*run->rows)))
			return -ENOMEM;
		struct metric_row *m = &run->rows[run->row_count++];
		*m = (struct metric_row){.kind = b->kind, .process = b->process, .tid = b->tid};
		for (uint32_t i = 0; i < event->field_count; i++)
			m->values[i] = values[(size_t)i * b->count + row];
		const struct string_ref name = text_of(g, value_of(m, own_of(b->kind)->metric));
		m->name = pool_text(g->names, name.text, name.bytes);
		error = !m->name                            ? -ENOMEM
			: b->kind == KIND_CUDA_RANGE_METRIC ? range_add(g, m)
							    : 0;
	}
	return error;
}

static int take_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	struct reading *g = user;
	const bool is_metric = b->kind == KIND_CUDA_METRIC || b->kind == KIND_CUDA_RANGE_METRIC;
	uint32_t all[METRIC_COLUMNS];
	const uint32_t *fields = b->kind == KIND_CUDA_KERNEL ? kernel_fields : graph_fields;
	uint32_t count = b->kind == KIND_CUDA_KERNEL ? KERNEL_COLUMNS : GRAPH_COLUMNS;
	int64_t *values;
	(void)walk;
	if (!is_metric && b->kind != KIND_CUDA_KERNEL && b->kind != KIND_CUDA_GRAPH_TRACE)
		return 0;
	if (is_metric) {
		const struct schema_event *event = schema_event(b->kind);
		for (count = 0; count < event->field_count; count++)
			all[count] = event->fields[count].number;
		fields = all;
	}
	int error = b->count ? event_batch_columns_new(b, fields, count, &values) : -EBADMSG;
	if (error)
		return error == -EBADMSG ? 0 : error; /* contents_read() has reported it */
	error = is_metric ? metrics_add(g, b, values) : launches_add(g, b, values);
	free(values);
	return error;
}

/* ---- workloads ---- */

static int compare_workloads(const void *left, const void *right)
{
	const struct metric_workload *a = left, *b = right;
	int order = compare_u64(a->process, b->process);
	order = order ? order : compare_u64(a->thread, b->thread);
	return order ? order : compare_u64(a->id, b->id);
}

/* Compare what workloads are, then the order in which they began. */
static int compare_what(const void *left, const void *right)
{
	const struct metric_workload *a = left, *b = right;
	int order = compare_u64(a->what, b->what);
	order = order ? order : compare_u64(a->id, b->id);
	return order ? order : compare_workloads(a, b);
}

static void workloads_sort(
	struct metric_run *run, int (*compare)(const void *left, const void *right))
{
	if (run->workload_count)
		qsort(run->workloads, run->workload_count, sizeof(*run->workloads), compare);
}

/* Unite the kernels of a launch, in any order, and the rows of a range. */
static void workloads_unite(struct metric_run *run)
{
	uint32_t kept = 0;
	workloads_sort(run, compare_workloads);
	for (uint32_t i = 0; i < run->workload_count; i++) {
		struct metric_workload *p = &run->workloads[i],
				       *last = &run->workloads[kept ? kept - 1 : 0];
		if (!kept || compare_workloads(p, last))
			run->workloads[kept++] = *p;
		else if (!p->thread)
			last->what += p->what;
	}
	run->workload_count = kept;
}

/* Number the workloads that are the same. */
static void workloads_number(struct metric_run *run)
{
	workloads_sort(run, compare_what);
	for (uint32_t i = 0, end; i < run->workload_count; i = end) {
		for (end = i; end < run->workload_count &&
			run->workloads[end].what == run->workloads[i].what;)
			end++;
		for (uint32_t k = i; k < end; k++) {
			run->workloads[k].number = k - i;
			run->workloads[k].total = end - i;
		}
	}
	workloads_sort(run, compare_workloads);
}

static void rows_assign(struct metric_run *run)
{
	for (uint32_t i = 0; i < run->row_count; i++) {
		const struct metric_workload wanted = workload_of(&run->rows[i]),
					     *found = run->workload_count
			? bsearch(&wanted, run->workloads, run->workload_count, sizeof(wanted),
				  compare_workloads)
			: NULL;
		run->rows[i].workload = found ? (uint32_t)(found - run->workloads) : NO_WORKLOAD;
	}
}

static void run_release(struct metric_run *run)
{
	free(run->workloads);
	free(run->rows);
	*run = (struct metric_run){.workloads = NULL};
}

static int run_read(struct metric_run *run, const struct report *r, struct contents *contents,
	struct pool *names)
{
	struct reading g = {.run = run, .contents = contents, .names = names};
	const struct contents_visitor visitor = {.user = &g, .batch = take_batch};
	int error = keys_make(&g.keys, &contents->processes);
	if (!error)
		error = contents_batches(r, &visitor);
	free(g.keys.rows);
	if (error)
		return error;
	workloads_unite(run);
	workloads_number(run);
	rows_assign(run);
	return 0;
}

/* ---- joining ---- */

/* Return a workload of the first report, and the kernel of its graph, as a key of `known`. */
static uint64_t known_workload(uint32_t workload, const struct metric_row *m)
{
	return (uint64_t)workload << 32 | (uint32_t)value_of(m, own_of(m->kind)->node);
}

int metric_runs_begin(struct metric_runs *j, struct append *append, struct contents *contents)
{
	struct metric_run *first = &j->first;
	*j = (struct metric_runs){.append = append, .contents = contents};
	int error = run_read(first, &append->report, contents, &j->names);
	for (uint32_t i = 0; i < first->workload_count && !error; i++)
		error = map_put(
			&j->workloads, first->workloads[i].what, first->workloads[i].number, i + 1);
	for (uint32_t i = 0; i < first->row_count && !error; i++) {
		const struct metric_row *m = &first->rows[i];
		if (m->workload == NO_WORKLOAD)
			continue;
		error = map_put(&j->anchors, m->workload, 0, i + 1);
		if (!error)
			error = map_put(
				&j->known, known_workload(m->workload, m), (uintptr_t)m->name, 1);
	}
	return error;
}

/* Return a row of the first report for the workload of another one, or NULL. */
static const struct metric_row *anchor_of(
	const struct metric_runs *j, const struct metric_workload *workload)
{
	const uint32_t found = map_get(&j->workloads, workload->what, workload->number);
	if (!found)
		return NULL;
	/* A range that was not measured has no row, so others may have its number. */
	if (workload->thread && j->first.workloads[found - 1].total != workload->total)
		return NULL;
	const uint32_t row = map_get(&j->anchors, found - 1, 0);
	return row ? &j->first.rows[row - 1] : NULL;
}

/* Add a row with the time and ids of its workload in the first report, unless it has that value. */
static int row_join(struct metric_runs *j, const struct metric_row *m,
	const struct metric_row *anchor, struct metric_share *share)
{
	const struct own_fields *own = own_of(m->kind);
	const uint32_t fields[] = {own->type, own->value, own->node};
	const uint64_t workload = known_workload(anchor->workload, m);
	if (map_get(&j->known, workload, (uintptr_t)m->name))
		return 0;
	if (map_put(&j->known, workload, (uintptr_t)m->name, 1) ||
		array_room(&j->added, j->added_count, &j->added_capacity, sizeof(*j->added)))
		return -ENOMEM;
	struct metric_row *row = &j->added[j->added_count++];
	*row = *anchor;
	row->name = m->name;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && fields[i]; i++)
		row->values[schema_column_index(schema_event(m->kind), fields[i])] =
			value_of(m, fields[i]);
	share->added++;
	return 0;
}

int metric_runs_add(struct metric_runs *j, const struct report *r, struct contents *contents,
	struct metric_share *ret_share)
{
	struct metric_run run = {.workloads = NULL};
	struct map seen = {0};
	struct metric_share *share = ret_share;
	*share = (struct metric_share){0};
	int error = run_read(&run, r, contents, &j->names);
	for (uint32_t i = 0; i < run.row_count && !error; i++) {
		const struct metric_row *m = &run.rows[i];
		const struct metric_row *anchor = m->workload == NO_WORKLOAD
			? NULL
			: anchor_of(j, &run.workloads[m->workload]);
		const bool is_new = m->workload != NO_WORKLOAD && !map_get(&seen, m->workload, 0);
		share->rows++;
		share->workloads += is_new || m->workload == NO_WORKLOAD;
		share->found += is_new && anchor;
		if (is_new)
			error = map_put(&seen, m->workload, 0, 1);
		if (!error && anchor && anchor->kind == m->kind)
			error = row_join(j, m, anchor, share);
	}
	map_release(&seen);
	run_release(&run);
	return error;
}

/* ---- writing ---- */

static int compare_rows(const void *left, const void *right)
{
	const struct metric_row *a = left, *b = right;
	int order = compare_u64(a->process, b->process);
	order = order ? order : compare_u64(a->kind, b->kind);
	order = order ? order : compare_u64(a->tid, b->tid);
	if (order)
		return order;
	return (a->values[0] > b->values[0]) - (a->values[0] < b->values[0]);
}

static bool is_same_batch(const struct metric_row *a, const struct metric_row *b)
{
	return a->process == b->process && a->kind == b->kind && a->tid == b->tid;
}

static void diagnostic_append(struct metric_runs *j, uint32_t runs)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Diagnostic diagnostic = LIBTRACE__DIAGNOSTIC__INIT;
	char text[160];
	snprintf(text, sizeof(text),
		"%" PRIu32 " values of hardware metrics are from %" PRIu32
		" other run%s of the program (trace merge --metrics)",
		j->added_count, runs, runs == 1 ? "" : "s");
	diagnostic.text = text;
	entry.diagnostic = &diagnostic;
	append_entry(j->append, &entry);
}

/* Append the receipts of processes that get rows. */
static void receipts_append(struct metric_runs *j)
{
	for (uint32_t i = 0, end; i < j->added_count; i = end) {
		Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
		const struct process *p =
			process_find(&j->contents->processes, j->added[i].process);
		for (end = i; end < j->added_count && j->added[end].process == j->added[i].process;)
			end++;
		if (!p || !p->receipt)
			continue;
		Libtrace__Receipt receipt = *p->receipt;
		receipt.has_produced = receipt.has_written = true;
		receipt.produced += end - i;
		receipt.written += end - i;
		entry.receipt = &receipt;
		append_entry(j->append, &entry);
	}
}

static void rows_append(struct metric_runs *j, int64_t *values)
{
	for (uint32_t i = 0, end; i < j->added_count; i = end) {
		const struct metric_row *first = &j->added[i];
		const struct schema_event *event = schema_event(first->kind);
		const uint32_t name = schema_column_index(event, own_of(first->kind)->metric);
		for (end = i; end < j->added_count && end - i < APPEND_ROWS_MAX &&
			is_same_batch(first, &j->added[end]);
			end++) {
			int64_t *row = values + (size_t)(end - i) * event->field_count;
			memcpy(row, j->added[end].values, event->field_count * sizeof(*row));
			row[name] = append_text(j->append, j->added[end].name);
		}
		append_rows(j->append, first->kind, first->process, first->tid, end - i, values);
	}
}

int metric_runs_end(struct metric_runs *j, uint32_t runs)
{
	if (!j->added_count)
		return 0;
	int64_t *values = malloc((size_t)APPEND_ROWS_MAX * METRIC_COLUMNS * sizeof(*values));
	if (!values)
		return -ENOMEM;
	append_texts_begin(j->append, j->contents->strings.last_id);
	qsort(j->added, j->added_count, sizeof(*j->added), compare_rows);
	diagnostic_append(j, runs);
	receipts_append(j);
	rows_append(j, values);
	free(values);
	return append_texts_end(j->append);
}

void metric_runs_release(struct metric_runs *j)
{
	run_release(&j->first);
	map_release(&j->workloads);
	map_release(&j->anchors);
	map_release(&j->known);
	free(j->added);
	pool_release(&j->names);
}
