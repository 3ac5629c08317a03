/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.c - the one number of each GPU in timelines, databases and tables. */
#define _GNU_SOURCE
#include "reader/export/gpus.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/base/order.h"
#include "reader/file/schema.h"

#define UUID_DIGITS 32u
#define NUMBERS_MAX (1u << 31) /* greater ones that processes use are no numbers of GPUs */

int gpus_collect(struct gpus *g, const struct event_batch *b)
{
	static const uint32_t of_device[] = {FIELD_CUDA_DEVICE_DEVICE_ID, FIELD_CUDA_DEVICE_UUID},
			      of_sampled[] = {FIELD_GPU_DEVICE_GPU, FIELD_GPU_DEVICE_UUID};
	const bool is_sampled = b->kind == KIND_GPU_DEVICE;
	int64_t *values;
	if ((!is_sampled && b->kind != KIND_CUDA_DEVICE) || !b->count)
		return 0;
	int error = event_batch_columns_new(b, is_sampled ? of_sampled : of_device, 2, &values);
	for (uint32_t i = 0; !error && i < b->count; i++) {
		if (array_room(&g->mentions, g->mention_count, &g->mention_capacity,
			    sizeof(*g->mentions)))
			error = -ENOMEM;
		else
			g->mentions[g->mention_count++] =
				(struct gpu_mention){.process = b->process,
					.device = (uint32_t)values[i],
					.uuid = (uint32_t)values[b->count + i],
					.is_sampled = is_sampled};
	}
	free(values);
	return error == -EBADMSG ? 0 : error; /* contents_read() reports the damage */
}

/* Parse 32 hex digits; NVML writes GPU- before them, and dashes between them. Returns false if the
 * text is no UUID. */
static bool uuid_parse(struct string_ref text, uint64_t ret_uuid[2])
{
	uint32_t i = text.bytes > 4 && !memcmp(text.text, "GPU-", 4) ? 4 : 0, digits = 0;
	ret_uuid[0] = ret_uuid[1] = 0;
	for (; i < text.bytes; i++) {
		const int c = tolower((unsigned char)text.text[i]);
		if (c == '-')
			continue;
		if (!isxdigit(c) || digits == UUID_DIGITS)
			return false;
		uint64_t *half = &ret_uuid[digits++ / (UUID_DIGITS / 2)];
		*half = *half << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return digits == UUID_DIGITS && (ret_uuid[0] || ret_uuid[1]);
}

/* Find a GPU by its key in a map; add it if needed. Returns its index + 1; 0 = out of memory. */
static uint32_t gpu_get(struct gpus *g, struct map *map, uint64_t a, uint64_t b)
{
	const uint32_t known = map_get(map, a, b);
	if (known)
		return known;
	if (array_room(&g->rows, g->count, &g->capacity, sizeof(*g->rows)) ||
		map_put(map, a, b, g->count + 1))
		return 0;
	g->rows[g->count++] = (struct gpu){.report = UINT64_MAX, .wanted = UINT32_MAX};
	return g->count;
}

static void gpu_note(struct gpu *gpu, const struct gpu_mention *m, uint64_t report)
{
	if (report < gpu->report)
		gpu->report = report;
	if (m->is_sampled == gpu->is_sampled ? m->device < gpu->wanted : m->is_sampled) {
		gpu->wanted = m->device;
		gpu->is_sampled = m->is_sampled;
	}
}

static int mention_enter(
	struct gpus *g, const struct gpu_mention *m, uint64_t report, struct string_ref text)
{
	uint64_t uuid[2];
	const bool has_uuid = uuid_parse(text, uuid);
	if (m->is_sampled && !has_uuid)
		return 0;
	const uint32_t gpu = has_uuid ? gpu_get(g, &g->by_uuid, uuid[0], uuid[1])
				      : gpu_get(g, &g->by_report, report, m->device);
	if (!gpu)
		return -ENOMEM;
	if (has_uuid)
		memcpy(g->rows[gpu - 1].uuid, uuid, sizeof(uuid));
	gpu_note(&g->rows[gpu - 1], m, report);
	return m->is_sampled ? 0 : map_put(&g->by_device, m->process, m->device, gpu);
}

int gpus_enter(struct gpus *g, uint32_t report, struct contents *contents)
{
	int error = 0;
	map_release(&g->by_device);
	for (uint32_t i = 0; !error && i < g->mention_count; i++) {
		const struct gpu_mention *m = &g->mentions[i];
		const struct process *p = process_find(&contents->processes, m->process);
		error = mention_enter(g, m, (uint64_t)report << 32 | (p ? p->facts->report : 0),
			string_table_get(&contents->strings, m->uuid));
	}
	g->mention_count = 0;
	return error;
}

int gpus_add(struct gpus *g, uint32_t report, uint32_t device, uint32_t *ret_index)
{
	const struct gpu_mention m = {.device = device};
	const uint64_t whole = (uint64_t)report << 32;
	const uint32_t gpu = gpu_get(g, &g->by_report, whole, device);
	if (!gpu)
		return -ENOMEM;
	gpu_note(&g->rows[gpu - 1], &m, whole);
	*ret_index = gpu - 1;
	return 0;
}

static int gpu_order(const void *one, const void *two, void *user)
{
	const struct gpus *g = user;
	const struct gpu *a = &g->rows[*(const uint32_t *)one],
			 *b = &g->rows[*(const uint32_t *)two];
	int order = b->is_sampled - a->is_sampled;
	order = order ? order : compare_u64(a->report, b->report);
	order = order ? order : compare_u64(a->wanted, b->wanted);
	order = order ? order : compare_u64(a->uuid[0], b->uuid[0]);
	return order ? order : compare_u64(a->uuid[1], b->uuid[1]);
}

int gpus_number(struct gpus *g)
{
	struct map taken = {0};
	uint32_t *order = calloc((size_t)g->count + 1, sizeof(*order)), next = 0;
	int error = order ? 0 : -ENOMEM;
	for (uint32_t i = 0; order && i < g->count; i++)
		order[i] = i;
	if (order)
		qsort_r(order, g->count, sizeof(*order), gpu_order, g);
	for (uint32_t i = 0; !error && i < g->count; i++) {
		struct gpu *gpu = &g->rows[order[i]];
		const bool is_first = gpu->wanted < NUMBERS_MAX && !map_get(&taken, gpu->wanted, 0);
		gpu->number = is_first ? gpu->wanted : UINT32_MAX;
		if (is_first && gpu->wanted >= next)
			next = gpu->wanted + 1;
		if (is_first)
			error = map_put(&taken, gpu->wanted, 0, 1);
	}
	for (uint32_t i = 0; !error && i < g->count; i++)
		if (g->rows[order[i]].number == UINT32_MAX)
			g->rows[order[i]].number = next++;
	map_release(&taken);
	free(order);
	return error;
}

bool gpus_index(const struct gpus *g, uint32_t process, uint32_t device, uint32_t *ret_index)
{
	const uint32_t found = map_get(&g->by_device, process, device);
	*ret_index = found - 1;
	return found;
}

uint32_t gpus_find(const struct gpus *g, uint32_t process, uint32_t device)
{
	uint32_t index;
	return gpus_index(g, process, device, &index) ? g->rows[index].number : device;
}

void gpus_release(struct gpus *g)
{
	map_release(&g->by_uuid);
	map_release(&g->by_report);
	map_release(&g->by_device);
	free(g->rows);
	free(g->mentions);
	*g = (struct gpus){0};
}
