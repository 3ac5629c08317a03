/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - hardware metrics of launches, by process and correlation id. */
#include "reader/export/ncu/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/file/schema.h"

uint32_t ncu_metric_index(struct ncu_metrics *m, uint32_t id)
{
	for (uint32_t i = 0; i < m->name_count; i++)
		if (m->names[i] == id)
			return i;
	if (m->name_count < NCU_METRIC_NAMES_MAX)
		m->names[m->name_count++] = id;
	else
		return NCU_METRIC_NAMES_MAX;
	return m->name_count - 1;
}

enum { CORRELATION, NODE, NAME, TYPE, VALUE, COLUMNS };

static int rows_add(struct ncu_metrics *m, const struct event_batch *b, const int64_t *values)
{
	const int64_t *column[COLUMNS];
	for (uint32_t i = 0; i < COLUMNS; i++)
		column[i] = values + (size_t)i * b->count;
	for (uint32_t row = 0; row < b->count; row++) {
		if (column[NODE][row] || column[TYPE][row] != PAYLOAD_DOUBLE)
			continue;
		uint32_t name = ncu_metric_index(m, (uint32_t)column[NAME][row]);
		if (name == NCU_METRIC_NAMES_MAX)
			continue;
		if (array_room(&m->rows, m->count, &m->capacity, sizeof(*m->rows)))
			return -ENOMEM;
		struct ncu_metric *r = &m->rows[m->count++];
		*r = (struct ncu_metric){.process = b->process,
			.correlation = (uint32_t)column[CORRELATION][row],
			.name = name};
		memcpy(&r->value, &column[VALUE][row], sizeof(r->value));
	}
	return 0;
}

int ncu_metrics_collect(struct ncu_metrics *m, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS] = {COLUMN_CUDA_METRIC_CORRELATION_ID,
		COLUMN_CUDA_METRIC_NODE, COLUMN_CUDA_METRIC_METRIC, COLUMN_CUDA_METRIC_TYPE,
		COLUMN_CUDA_METRIC_VALUE};
	if (b->kind != KIND_CUDA_METRIC || !b->count)
		return 0;
	int64_t *values;
	int error = event_batch_columns_new(b, fields, COLUMNS, &values);
	if (!error)
		error = rows_add(m, b, values);
	else if (error == -EBADMSG)
		error = 0; /* a damaged batch is ignored; contents_read() reports it */
	free(values);
	return error;
}

static int compare(const void *left, const void *right)
{
	const struct ncu_metric *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->correlation != b->correlation)
		return a->correlation < b->correlation ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

void ncu_metrics_index(struct ncu_metrics *m)
{
	if (m->count)
		qsort(m->rows, m->count, sizeof(*m->rows), compare);
}

void ncu_metrics_add(const struct ncu_metrics *m, uint32_t process, uint32_t correlation,
	struct launch_entry *entry)
{
	const struct ncu_metric key = {.process = process, .correlation = correlation};
	uint32_t first = 0, count = m->count;
	while (count) { /* find the first row that is not before the key */
		const uint32_t half = count / 2;
		if (compare(&m->rows[first + half], &key) < 0) {
			first += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	for (uint32_t i = first; i < m->count && m->rows[i].process == process &&
		m->rows[i].correlation == correlation;
		i++)
		if (!launch_metric_add(
			    entry, launch_metric_count + m->rows[i].name, m->rows[i].value))
			return;
}

void ncu_metrics_release(struct ncu_metrics *m)
{
	free(m->rows);
	*m = (struct ncu_metrics){.rows = NULL};
}
