/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_waits.c - contexts, and records of events sorted by process, event and call. */
#include "reader/export/timeline/cuda_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "reader/file/schema.h"

static int record_order(const void *one, const void *two)
{
	const struct cuda_record *a = one, *b = two;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

static int record_add(struct cuda_waits *w, uint32_t process, uint32_t event, uint32_t correlation,
	uint32_t stream)
{
	if (!correlation)
		return 0;
	if (array_room(&w->records, w->count, &w->capacity, sizeof(*w->records)))
		return -ENOMEM;
	w->records[w->count++] = (struct cuda_record){process, event, correlation, stream};
	w->is_sorted = false;
	return 0;
}

int cuda_waits_take(struct cuda_waits *w, const struct event_batch *b)
{
	static const uint32_t of_context[] = {FIELD_CUDA_CONTEXT_CONTEXT_ID,
		FIELD_CUDA_CONTEXT_DEVICE_ID},
			      of_event[] = {FIELD_CUDA_EVENT_EVENT_ID,
				      FIELD_CUDA_EVENT_CORRELATION_ID, FIELD_CUDA_EVENT_STREAM_ID};
	const bool is_context = b->kind == KIND_CUDA_CONTEXT;
	const uint32_t *fields = is_context ? of_context : of_event;
	const uint32_t columns = is_context ? 2 : 3;
	if ((!is_context && b->kind != KIND_CUDA_EVENT) || !b->count)
		return 0;
	int64_t *values;
	int error = event_batch_columns_new(b, fields, columns, &values);
	for (uint32_t i = 0; !error && i < b->count; i++) {
		const uint32_t first = (uint32_t)values[i], second = (uint32_t)values[b->count + i];
		if (is_context && second < UINT32_MAX)
			error = map_put(&w->devices, b->process, first, second + 1);
		else if (!is_context)
			error = record_add(w, b->process, first, second,
				(uint32_t)values[2 * (size_t)b->count + i]);
	}
	free(values);
	return error == -EBADMSG ? 0 : error; /* contents_read() reports the damage */
}

void cuda_waits_release(struct cuda_waits *w)
{
	map_release(&w->devices);
	free(w->records);
	*w = (struct cuda_waits){0};
}

uint32_t cuda_waits_device(const struct cuda_waits *w, uint32_t process, uint32_t context)
{
	const uint32_t known = map_get(&w->devices, process, context);
	return known ? known - 1 : 0;
}

const struct cuda_record *cuda_waits_record(
	struct cuda_waits *w, uint32_t process, uint32_t event, uint32_t correlation)
{
	const struct cuda_record key = {process, event, correlation, 0};
	uint32_t low = 0, high = w->count;
	if (!w->is_sorted && w->count)
		qsort(w->records, w->count, sizeof(*w->records), record_order);
	w->is_sorted = true;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (record_order(&w->records[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	const struct cuda_record *found = low ? &w->records[low - 1] : NULL;
	return found && found->process == process && found->event == event ? found : NULL;
}
