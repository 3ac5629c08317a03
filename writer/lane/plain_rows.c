/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_rows.c - rows from records that hold their columns as they are.
 */
#include "writer/lane/plain_rows.h"

#include <string.h>

#include "writer/base/names.h"

/* Events that may be recorded in this way, and the first column that such a record holds: those
 * before it are the time and, where the event has one, the duration. */
static const struct {
	uint32_t event, first;
} plain[] = {{EVENT_OPENCL_DEVICE, OPENCL_DEVICE_START + 1},
	{EVENT_OPENCL_QUEUE, OPENCL_QUEUE_START + 1},
	{EVENT_OPENCL_KERNEL, OPENCL_KERNEL_START + 1},
	{EVENT_OPENCL_BUILD, OPENCL_BUILD_DURATION + 1}, {EVENT_OPENACC, OPENACC_DURATION + 1},
	{EVENT_NCCL, NCCL_DURATION + 1}, {EVENT_NCCL_COMMUNICATOR, NCCL_COMMUNICATOR_DURATION + 1},
	{EVENT_GRAPHICS_LABEL, GRAPHICS_LABEL_DURATION + 1},
	{EVENT_VULKAN_PIPELINE, VULKAN_PIPELINE_DURATION + 1},
	{EVENT_VULKAN_WORKLOAD, VULKAN_WORKLOAD_DURATION + 1}};

/* Return the first column; 0 = no such record of the event. */
static uint32_t first_of(uint32_t event)
{
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (plain[i].event == event)
			return plain[i].first;
	return 0;
}

uint32_t plain_row_put(struct segment *s, const struct record_at *at)
{
	uint64_t words[ROW_COLUMNS_MAX + 1], *columns = words;
	const struct record r = *at->r;
	const bool is_past = (r.word & RECORD_KIND_MASK) == REC_PAST_ROW;
	const uint32_t event = (uint32_t)(r.a >> 32), first = first_of(event);
	uint32_t count = at->bytes / sizeof(words[0]);
	if (!first || count <= is_past || count - is_past > batch_columns(event) - first ||
		count - is_past > ROW_COLUMNS_MAX)
		return 0;
	memcpy(words, at->payload, count * sizeof(words[0]));
	uint64_t ns = segment_ns(s, r.tick), end = segment_ns(s, r.tick + r.b);
	if (is_past) {
		columns++;
		count--;
		ns -= words[0];
		end = ns + r.b;
	}
	for (uint32_t i = 0; i < count; i++)
		if (r.a >> i & 1)
			columns[i] = spool_name_id(s->w, s->spool, (uint32_t)columns[i]);
	struct batch *b = segment_row_add(s, event, ns);
	if (first == 2)
		batch_set(b, 1, end > ns ? end - ns : 0);
	for (uint32_t i = 0; i < count; i++)
		batch_set(b, first + i, columns[i]);
	segment_note_end(s, end > ns ? end : ns);
	segment_reload(s);
	return at->slots;
}
