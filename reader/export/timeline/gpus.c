/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.c - numbers of GPUs that are the same in all processes of a report. */
#include "reader/export/timeline/gpus.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "reader/file/schema.h"

int gpus_collect(struct gpus *g, const struct event_batch *b)
{
	static const uint32_t fields[] = {FIELD_GPU_DEVICE_GPU, FIELD_GPU_DEVICE_UUID};
	if (b->kind != KIND_GPU_DEVICE || !b->count)
		return 0;
	int64_t *values;
	int error = event_batch_columns_new(b, fields, 2, &values);
	for (uint32_t i = 0; !error && i < b->count && g->sampled_count < GPUS_SAMPLED_MAX; i++)
		g->sampled[g->sampled_count++] = (struct gpu_sampled){
			.uuid = (uint32_t)values[b->count + i], .number = (uint32_t)values[i]};
	free(values);
	return error == -EBADMSG ? 0 : error; /* contents_read() reports the damage */
}

/* Compare the hex digits of two UUIDs: NVML writes GPU- before them, and dashes between them. */
static bool is_same(struct string_ref nvml, struct string_ref hex)
{
	uint32_t at = 0, i = nvml.bytes > 4 && !memcmp(nvml.text, "GPU-", 4) ? 4 : 0;
	for (; i < nvml.bytes; i++)
		if (nvml.text[i] != '-' && (at == hex.bytes || nvml.text[i] != hex.text[at++]))
			return false;
	return at && at == hex.bytes;
}

static struct string_ref uuid_of(
	const struct ncu_devices *d, uint32_t row, const struct string_table *strings)
{
	return string_table_get(strings, (uint32_t)d->rows[row].columns[FIELD_CUDA_DEVICE_UUID]);
}

/* Return the earlier row of the same GPU, or `row`. */
static uint32_t same_before(
	const struct ncu_devices *d, uint32_t row, const struct string_table *strings)
{
	const struct string_ref uuid = uuid_of(d, row, strings);
	for (uint32_t i = 0; i < row; i++) {
		const struct string_ref other = uuid_of(d, i, strings);
		if (uuid.bytes == other.bytes && uuid.bytes &&
			!memcmp(uuid.text, other.text, uuid.bytes))
			return i;
	}
	return row;
}

static bool is_taken(const struct gpus *g, uint32_t rows, uint32_t number)
{
	for (uint32_t i = 0; i < rows; i++)
		if (g->numbers[i] == number)
			return true;
	return false;
}

/* Choose the number of a GPU that no earlier row has. */
static uint32_t number_new(const struct gpus *g, const struct ncu_devices *d, uint32_t row,
	const struct string_table *strings)
{
	const struct string_ref uuid = uuid_of(d, row, strings);
	uint32_t number = (uint32_t)d->rows[row].columns[FIELD_CUDA_DEVICE_DEVICE_ID];
	if (!uuid.bytes)
		return number;
	for (uint32_t i = 0; i < g->sampled_count; i++)
		if (is_same(string_table_get(strings, g->sampled[i].uuid), uuid))
			number = g->sampled[i].number;
	if (is_taken(g, row, number))
		for (number = 0; is_taken(g, row, number);)
			number++;
	return number;
}

int gpus_number(
	struct gpus *g, const struct ncu_devices *devices, const struct string_table *strings)
{
	int error = 0;
	for (uint32_t row = 0; !error && row < devices->count; row++) {
		const struct ncu_device *d = &devices->rows[row];
		const uint32_t before = same_before(devices, row, strings);
		g->numbers[row] =
			before < row ? g->numbers[before] : number_new(g, devices, row, strings);
		error = map_put(&g->by_device, d->process, d->columns[FIELD_CUDA_DEVICE_DEVICE_ID],
			g->numbers[row] + 1);
	}
	return error;
}

uint32_t gpus_find(const struct gpus *g, uint32_t process, uint32_t device)
{
	const uint32_t found = map_get(&g->by_device, process, device);
	return found ? found - 1 : device;
}

const uint64_t *gpus_columns(
	const struct gpus *g, const struct ncu_devices *devices, uint32_t number)
{
	for (uint32_t i = 0; i < devices->count; i++)
		if (g->numbers[i] == number)
			return devices->rows[i].columns;
	return NULL;
}

void gpus_release(struct gpus *g)
{
	map_release(&g->by_device);
}
