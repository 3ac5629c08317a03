/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_gpus.c - tests of the numbers that GPUs have in timelines.
 */
#include <stdlib.h>
#include <string.h>

#include "reader/export/timeline/gpus.h"
#include "tests/unit/tap.h"

/* Strings: the UUIDs of two GPUs as CUPTI gives them, and of the second as NVML writes it. */
enum { FIRST = 1, SECOND, SECOND_BY_NVML, STRINGS = 3 };

static void strings_fill(struct string_table *t)
{
	static char *const texts[STRINGS] = {"000102030405060708090a0b0c0d0e0f",
		"100102030405060708090a0b0c0d0e0f", "GPU-10010203-0405-0607-0809-0a0b0c0d0e0f"};
	uint32_t ids[STRINGS] = {FIRST, SECOND, SECOND_BY_NVML};
	ProtobufCBinaryData data[STRINGS];
	Libtrace__Strings strings = LIBTRACE__STRINGS__INIT;
	for (uint32_t i = 0; i < STRINGS; i++)
		data[i] = (ProtobufCBinaryData){strlen(texts[i]), (uint8_t *)texts[i]};
	strings.n_ids = strings.n_texts = STRINGS;
	strings.ids = ids;
	strings.texts = data;
	string_table_init(t);
	if (string_table_add(t, &strings))
		exit(1);
}

static void device_add(struct ncu_devices *d, uint32_t process, uint32_t device, uint32_t uuid)
{
	struct ncu_device *row = &d->rows[d->count++];
	row->process = process;
	row->columns[COLUMN_CUDA_DEVICE_DEVICE_ID] = device;
	row->columns[COLUMN_CUDA_DEVICE_UUID] = uuid;
}

/* Process 1 sees the second GPU alone, process 2 both, process 3 a device without a UUID. */
static void processes_agree(const struct string_table *strings, bool sampled)
{
	struct ncu_devices *d = calloc(1, sizeof(*d));
	struct gpus *g = calloc(1, sizeof(*g));
	const char *how = sampled ? "sampled" : "not sampled";
	if (!d || !g)
		exit(1);
	device_add(d, 1, 0, SECOND);
	device_add(d, 2, 0, FIRST);
	device_add(d, 2, 1, SECOND);
	device_add(d, 3, 4, 0);
	if (sampled)
		g->sampled[g->sampled_count++] = (struct gpu_sampled){SECOND_BY_NVML, 1};
	const uint32_t second = sampled ? 1 : 0, first = 1 - second;
	check(!gpus_number(g, d, strings), "%s: devices are numbered", how);
	check(gpus_find(g, 1, 0) == second && gpus_find(g, 2, 1) == second,
		"%s: a GPU has one number in two processes", how);
	check(gpus_find(g, 2, 0) == first, "%s: another GPU has another number", how);
	check(gpus_find(g, 3, 4) == 4 && gpus_find(g, 9, 7) == 7,
		"%s: without a UUID, or a row, a device keeps its number", how);
	check(gpus_columns(g, d, second) == d->rows[0].columns && !gpus_columns(g, d, 9),
		"%s: a number leads to its first row", how);
	gpus_release(g);
	free(g);
	free(d);
}

int main(void)
{
	struct string_table strings;
	strings_fill(&strings);
	processes_agree(&strings, false);
	processes_agree(&strings, true);
	string_table_release(&strings);
	return tap_done();
}
