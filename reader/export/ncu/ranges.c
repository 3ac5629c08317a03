/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.c - results of NVTX ranges, with their hardware metrics. */
#include "reader/export/ncu/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/ncu/launch.h"
#include "reader/file/schema.h"

enum { START, THREAD, DOMAIN, RANGE, CONTEXT, NAME, TYPE, VALUE, COLUMNS };

static int rows_add(struct ncu_ranges *r, struct ncu_metrics *names, const struct event_batch *b,
	const int64_t *values)
{
	const int64_t *column[COLUMNS];
	for (uint32_t i = 0; i < COLUMNS; i++)
		column[i] = values + (size_t)i * b->count;
	for (uint32_t row = 0; row < b->count; row++) {
		const uint32_t metric = ncu_metric_index(names, (uint32_t)column[NAME][row]);
		if (metric == NCU_METRIC_NAMES_MAX || column[TYPE][row] != PAYLOAD_DOUBLE)
			continue;
		if (array_room(&r->rows, r->count, &r->capacity, sizeof(*r->rows)))
			return -ENOMEM;
		struct ncu_range_value *v = &r->rows[r->count++];
		*v = (struct ncu_range_value){.start_ns = column[START][row],
			.process = b->process,
			.tid = (uint32_t)column[THREAD][row],
			.context = (uint32_t)column[CONTEXT][row],
			.domain = (uint32_t)column[DOMAIN][row],
			.text = (uint32_t)column[RANGE][row],
			.metric = metric};
		memcpy(&v->value, &column[VALUE][row], sizeof(v->value));
	}
	return 0;
}

int ncu_ranges_collect(struct ncu_ranges *r, struct ncu_metrics *names, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS] = {COLUMN_CUDA_RANGE_METRIC_START,
		COLUMN_CUDA_RANGE_METRIC_THREAD_ID, COLUMN_CUDA_RANGE_METRIC_DOMAIN,
		COLUMN_CUDA_RANGE_METRIC_RANGE, COLUMN_CUDA_RANGE_METRIC_CONTEXT_ID,
		COLUMN_CUDA_RANGE_METRIC_METRIC, COLUMN_CUDA_RANGE_METRIC_TYPE,
		COLUMN_CUDA_RANGE_METRIC_VALUE};
	if (b->kind != KIND_CUDA_RANGE_METRIC || !b->count)
		return 0;
	int64_t *values;
	int error = event_batch_columns_new(b, fields, COLUMNS, &values);
	if (!error)
		error = rows_add(r, names, b, values);
	free(values);
	return error == -EBADMSG ? 0 : error; /* contents_read() reports the damage */
}

static int compare_ranges(const struct ncu_range_value *a, const struct ncu_range_value *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->context < b->context ? -1 : a->context > b->context;
}

static int compare(const void *left, const void *right)
{
	const struct ncu_range_value *a = left, *b = right;
	const int order = compare_ranges(a, b);
	return order ? order : a->metric < b->metric ? -1 : a->metric > b->metric;
}

void ncu_ranges_index(struct ncu_ranges *r)
{
	if (r->count)
		qsort(r->rows, r->count, sizeof(*r->rows), compare);
}

static void metric_add(struct ncu_range_result *to, const struct ncu_range_value *v)
{
	const size_t at = to->message.n_metric_results++;
	ncu__profile_metric_result__init(&to->metrics[at]);
	ncu__profile_metric_value__init(&to->values[at]);
	to->metrics[at].has_name_id = 1;
	to->metrics[at].name_id = launch_metric_count + v->metric;
	to->metrics[at].metric_value = &to->values[at];
	to->values[at].has_double_value = 1;
	to->values[at].double_value = v->value;
	to->list[at] = &to->metrics[at];
}

uint32_t ncu_range_fill(const struct ncu_ranges *r, uint32_t at, struct ncu_range_result *ret)
{
	const struct ncu_range_value *first = &r->rows[at];
	Ncu__RangeResult *m = &ret->message;
	uint32_t end = at;
	ncu__range_result__init(m);
	m->has_thread_id = m->has_api_call_id = m->has_api = m->has_context_id = 1;
	m->thread_id = first->tid;
	m->api = NCU__APITYPE__APIType_CUDA;
	m->context_id = first->context;
	m->metric_results = ret->list;
	for (; end < r->count && !compare_ranges(first, &r->rows[end]); end++)
		if (m->n_metric_results < NCU_METRIC_NAMES_MAX)
			metric_add(ret, &r->rows[end]);
	return end - at;
}

void ncu_ranges_release(struct ncu_ranges *r)
{
	free(r->rows);
	*r = (struct ncu_ranges){.rows = NULL};
}
