/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_cupti.c - tests of activity records of all versions of CUPTI.
 *
 * Each column has the value of its member if the record is long enough for it, else 0. Nothing
 * after the end of a record is read.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"
#include "tracer/cuda/cuda.h"
#include "tracer/session/session.h"
#include "tracer/cuda/cupti_abi.h"
#include "tracer/cuda/cupti_decode.h"

/* Return a copy of a record that ends where the memory ends: reading beyond it faults. */
static void *record_at_end(const void *record, size_t bytes)
{
	static uint8_t *page;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	if (!page)
		page = mmap(
			NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || mprotect(page + size, size, PROT_NONE))
		abort();
	return memcpy(page + size - bytes, record, bytes);
}

static const struct cupti_kernel kernel = {.kind = CUPTI_CONCURRENT_KERNEL,
	.cache_config = 0x21,
	.registers_per_thread = 40,
	.start = 1000,
	.end = 1500,
	.device = 1,
	.context = 2,
	.stream = 7,
	.grid = {3, 4, 5},
	.block = {32, 2, 1},
	.static_shared_memory = 1024,
	.dynamic_shared_memory = 2048,
	.local_memory_total_32 = 77,
	.correlation = 99,
	.grid_id = -5,
	.name = "_Z3addPfS_",
	.is_carveout_requested = 1,
	.carveout = 50,
	.graph_node = UINT64_C(1) << 40,
	.graph = 6,
	.channel = 11,
	.channel_type = 1,
	.cluster = {2, 1, 1},
	.local_memory_total = UINT64_C(1) << 33,
	.max_potential_cluster_size = 8,
	.max_active_clusters = 16,
	.is_device_launched = 1};

/* Check the lengths of kernel records from CUDA 10 to 13, and their late members. */
static void kernels_of_all_versions(void)
{
	static const struct {
		uint32_t version;
		size_t bytes;
		int graph, channel, cluster, potential, device_launched;
	} shapes[] = {{0, 144, 0, 0, 0, 0, 0}, {CUPTI_11_0, 160, 1, 0, 0, 0, 0},
		{CUPTI_11_2, 168, 1, 0, 0, 0, 0}, {CUPTI_11_6, 176, 1, 1, 0, 0, 0},
		{CUPTI_11_8, 200, 1, 1, 1, 0, 0}, {CUPTI_12_0, 208, 1, 1, 1, 1, 0},
		{CUPTI_13_0, 216, 1, 1, 1, 1, 1}};
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct cupti_row row;
		const void *record = record_at_end(&kernel, shapes[i].bytes);
		bool known = cupti_decode(record, shapes[i].bytes, &row);
		const uint64_t *v = row.value;
		check(known && row.event == NUMBER_CUDA_KERNEL && row.timing == CUPTI_IS_SPAN &&
				row.start == 1000 && row.end == 1500 && row.correlation == 99,
			"a kernel record of %zu bytes has its kind and times", shapes[i].bytes);
		check(v[COLUMN_CUDA_KERNEL_GRID_Z] == 5 && v[COLUMN_CUDA_KERNEL_BLOCK_X] == 32 &&
				v[COLUMN_CUDA_KERNEL_STREAM_ID] == 7 &&
				v[COLUMN_CUDA_KERNEL_REGISTERS_PER_THREAD] == 40 &&
				(int64_t)v[COLUMN_CUDA_KERNEL_GRID_ID] == -5 &&
				v[COLUMN_CUDA_KERNEL_CACHE_CONFIG_REQUESTED] == 1 &&
				v[COLUMN_CUDA_KERNEL_CACHE_CONFIG_EXECUTED] == 2 &&
				v[COLUMN_CUDA_KERNEL_SHARED_MEMORY_CARVEOUT] == 51,
			"a kernel record of %zu bytes has the members of all versions",
			shapes[i].bytes);
		check(row.texts == UINT64_C(1) << COLUMN_CUDA_KERNEL_NAME &&
				!strcmp((const char *)(uintptr_t)v[COLUMN_CUDA_KERNEL_NAME],
					kernel.name),
			"a kernel record of %zu bytes has its name", shapes[i].bytes);
		check(v[COLUMN_CUDA_KERNEL_GRAPH_NODE_ID] ==
					(shapes[i].graph ? kernel.graph_node : 0) &&
				v[COLUMN_CUDA_KERNEL_CHANNEL_ID] == (shapes[i].channel ? 11u : 0) &&
				v[COLUMN_CUDA_KERNEL_CLUSTER_X] == (shapes[i].cluster ? 2u : 0) &&
				v[COLUMN_CUDA_KERNEL_MAX_POTENTIAL_CLUSTER_SIZE] ==
					(shapes[i].potential ? 8u : 0) &&
				v[COLUMN_CUDA_KERNEL_IS_DEVICE_LAUNCHED] ==
					(uint64_t)shapes[i].device_launched,
			"a kernel record of %zu bytes has its late members, others are 0",
			shapes[i].bytes);
		check(v[COLUMN_CUDA_KERNEL_LOCAL_MEMORY_TOTAL] ==
				(shapes[i].cluster ? kernel.local_memory_total : 77),
			"a kernel record of %zu bytes has local memory, of 64 bits if its version "
			"has that",
			shapes[i].bytes);
		if (shapes[i].version)
			check(cupti_record_bytes(CUPTI_CONCURRENT_KERNEL, shapes[i].version,
				      4096) == shapes[i].bytes,
				"version %u declares %zu bytes", shapes[i].version,
				shapes[i].bytes);
	}
}

static void lengths(void)
{
	check(cupti_record_bytes(CUPTI_CONCURRENT_KERNEL, CUPTI_13_0, 208) == 208,
		"a record is never longer than the step to the next one");
	check(cupti_record_bytes(CUPTI_CONCURRENT_KERNEL, CUPTI_13_1 + 500, 4096) == 216,
		"records of a newer version have at least the known length");
	check(cupti_record_bytes(CUPTI_KERNEL, CUPTI_11_8, 4096) == 200,
		"both kinds of kernel records have one layout");
	check(cupti_record_bytes(CUPTI_STREAM, CUPTI_13_0, 24) == 24,
		"a record of a kind with one layout has its whole length");
	check(cupti_record_bytes(CUPTI_MEMCPY, CUPTI_11_8, 96) == 88 &&
			cupti_record_bytes(CUPTI_MEMCPY, CUPTI_12_8, 96) == 96,
		"copies have the number of copies from 12.8 on");
}

/* Check that a record truncated at any byte is read up to that byte. */
static void cut_anywhere(void)
{
	struct cupti_row whole, row;
	int wrong = 0;
	cupti_decode(&kernel, sizeof(kernel), &whole);
	for (size_t bytes = 16; bytes <= sizeof(kernel); bytes++) {
		if (!cupti_decode(record_at_end(&kernel, bytes), bytes, &row))
			wrong++;
		for (uint32_t i = 1; i <= CUDA_COLUMNS_MAX; i++)
			wrong += row.value[i] && row.value[i] != whole.value[i] &&
				i != COLUMN_CUDA_KERNEL_LOCAL_MEMORY_TOTAL;
	}
	check(!wrong, "a kernel cut off at any byte has whole members or none: %d wrong", wrong);
	check(!cupti_decode(record_at_end(&kernel, 8), 8, &row),
		"a record that is too short is no record");
}

static void what_is_special(void)
{
	struct cupti_row row;
	struct cupti_memcpy_peer peer = {
		.kind = CUPTI_MEMCPY_PEER, .src_device = 1, .dst_device = 2};
	check(cupti_decode(&peer, sizeof(peer), &row) && row.event == NUMBER_CUDA_MEMCPY &&
			row.value[COLUMN_CUDA_MEMCPY_IS_PEER] == 1 &&
			row.value[COLUMN_CUDA_MEMCPY_DST_DEVICE_ID] == 2,
		"a copy between devices is a copy with two more devices");
	struct cupti_unified_memory fault = {
		.kind = CUPTI_UNIFIED_MEMORY, .counter = 3, .value = 0x401000, .start = 500};
	check(cupti_decode(&fault, sizeof(fault), &row) && row.start == 500 && row.end == 500 &&
			row.value[COLUMN_CUDA_UNIFIED_MEMORY_PC] == 0x401000 &&
			row.value[COLUMN_CUDA_UNIFIED_MEMORY_VALUE] == 1,
		"a fault of the CPU has a time, a count of one and an instruction");
	struct cupti_memory memory = {.kind = CUPTI_MEMORY, .timestamp = 42, .source = "lib.so"};
	check(cupti_decode(&memory, sizeof(memory), &row) && row.timing == CUPTI_IS_MOMENT &&
			row.start == 42 && row.end == 42 &&
			row.texts >> COLUMN_CUDA_MEMORY_SOURCE & 1,
		"an allocation has a time and two texts");
	struct cupti_stream stream = {.kind = CUPTI_STREAM, .priority = -5};
	check(cupti_decode(&stream, sizeof(stream), &row) && row.timing == CUPTI_HAS_NO_TIME &&
			(int64_t)row.value[COLUMN_CUDA_STREAM_PRIORITY] == -5,
		"a stream has a signed priority and no time");
	struct cupti_device device = {.kind = CUPTI_DEVICE, .name = "D", .is_mig_enabled = 0};
	check(cupti_decode(&device, sizeof(device), &row) &&
			row.value[COLUMN_CUDA_DEVICE_UUID] == (uint64_t)(uintptr_t)device.uuid &&
			!row.value[COLUMN_CUDA_DEVICE_MIG_UUID],
		"a device has its UUID, and one of MIG only with MIG");
	struct cupti_overhead overhead = {
		.kind = CUPTI_OVERHEAD, .object_kind = 2, .object = {7, 8, 9}, .correlation = 5};
	check(cupti_decode(&overhead, sizeof(overhead), &row) &&
			row.value[COLUMN_CUDA_OVERHEAD_OBJECT_ID] == 8 && row.correlation == 0,
		"overhead of a thread names the thread, and is recorded whatever the call");
	uint32_t unknown[8] = {12345};
	check(!cupti_decode(unknown, sizeof(unknown), &row),
		"a record of an unknown kind is skipped");
}

/* A child of a program that had called CUDA has no page for counts, and its parent's buffers
 * look taken. CUPTI does not work there, but may still request buffers. */
static void a_forked_child_is_refused_buffers(void)
{
	uint8_t *buffer;
	size_t bytes, most;
	uint32_t given = 0;
	cuda.page = NULL;
	cupti.version = CUPTI_13_0;
	session.config.cuda_buffers_bytes = 2u << 20;
	for (int i = 0; i < 3; i++) {
		cuda_activity_requested(&buffer, &bytes, &most);
		given += buffer && bytes;
		if (buffer)
			cuda_activity_completed(NULL, 0, buffer, bytes, 0);
	}
	check(given == 2 && !buffer && !bytes,
		"a child without a page for counts gets two buffers, then none: %u", given);
}

int main(void)
{
	a_forked_child_is_refused_buffers();
	kernels_of_all_versions();
	lengths();
	cut_anywhere();
	what_is_special();
	return tap_done();
}
