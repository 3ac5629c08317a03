/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_decode.c - decoding of activity records by the rows of cupti_records.def.
 */
#include "tracer/cuda/cupti_decode.h"

#include "common/text.h"
#include "tracer/cuda/cupti_abi.h"

/* ---- sizes of records ---- */

struct record_size {
	uint8_t kind, bytes; /* size of this kind since that version of CUPTI */
	uint32_t version;
};

/* Sizes declared by each version (cupti_activity.h and cupti_activity_deprecated.h of CUDA 11.0
 * to 13.0); the newest of a kind first. Other kinds have had one size. */
static const struct record_size sizes[] = {
	{CUPTI_CONCURRENT_KERNEL, 216, CUPTI_13_0},
	{CUPTI_CONCURRENT_KERNEL, 208, CUPTI_12_0},
	{CUPTI_CONCURRENT_KERNEL, 200, CUPTI_11_8},
	{CUPTI_CONCURRENT_KERNEL, 176, CUPTI_11_6},
	{CUPTI_CONCURRENT_KERNEL, 168, CUPTI_11_2},
	{CUPTI_CONCURRENT_KERNEL, 160, CUPTI_11_0},
	{CUPTI_MEMCPY, 96, CUPTI_12_8},
	{CUPTI_MEMCPY, 88, CUPTI_11_6},
	{CUPTI_MEMCPY, 80, CUPTI_11_1},
	{CUPTI_MEMCPY, 72, CUPTI_11_0},
	{CUPTI_MEMCPY_PEER, 96, CUPTI_11_6},
	{CUPTI_MEMCPY_PEER, 88, CUPTI_11_1},
	{CUPTI_MEMCPY_PEER, 80, CUPTI_11_0},
	{CUPTI_MEMSET, 88, CUPTI_11_6},
	{CUPTI_MEMSET, 80, CUPTI_11_1},
	{CUPTI_MEMSET, 72, CUPTI_11_0},
	{CUPTI_SYNCHRONIZATION, 56, CUPTI_12_8},
	{CUPTI_SYNCHRONIZATION, 40, CUPTI_11_0},
	{CUPTI_CUDA_EVENT, 56, CUPTI_12_8},
	{CUPTI_CUDA_EVENT, 24, CUPTI_11_0},
	{CUPTI_UNIFIED_MEMORY, 104, CUPTI_12_8},
	{CUPTI_UNIFIED_MEMORY, 64, CUPTI_11_0},
};

size_t cupti_record_bytes(uint32_t kind, uint32_t version, size_t distance)
{
	if (kind == CUPTI_KERNEL)
		kind = CUPTI_CONCURRENT_KERNEL;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].kind == kind && version >= sizes[i].version)
			return sizes[i].bytes < distance ? sizes[i].bytes : distance;
	return distance;
}

/* ---- fields to columns ---- */

enum form { FORM_UNSIGNED, FORM_SIGNED, FORM_TEXT };

struct member {
	uint8_t column, bytes, form;
	uint8_t offset;
};

#define FORM_OF(member) \
	_Generic((member), const char *: FORM_TEXT, int32_t: FORM_SIGNED, int64_t: FORM_SIGNED, \
		default: FORM_UNSIGNED)
#define MEMBER_OF(record, member) (((struct record *)0)->member)

enum layout_id {
#define RECORD(kind, event, record, start, end) LAYOUT_##record,
#include "tracer/cuda/cupti_records.def"
	LAYOUTS
};

static const struct {
	uint8_t layout;
	struct member member;
} members[] = {
#define VALUE(event, field, record, name)                                   \
	{LAYOUT_##record,                                                   \
		{COLUMN_##event##_##field, sizeof(MEMBER_OF(record, name)), \
			FORM_OF(MEMBER_OF(record, name)), offsetof(struct record, name)}},
#include "tracer/cuda/cupti_records.def"
};
#define MEMBERS (sizeof(members) / sizeof(members[0]))

struct layout {
	uint8_t kind, event;
	uint8_t start, end; /* offsets; the kind's offset = the record has no time */
};

static const struct layout layouts[LAYOUTS] = {
#define RECORD(kind, event, record, start, end)                                    \
	[LAYOUT_##record] = {kind, NUMBER_##event, offsetof(struct record, start), \
		offsetof(struct record, end)},
#include "tracer/cuda/cupti_records.def"
};

static int layout_of(uint32_t kind)
{
	if (kind == CUPTI_KERNEL)
		kind = CUPTI_CONCURRENT_KERNEL;
	for (int i = 0; i < LAYOUTS; i++)
		if (layouts[i].kind == kind)
			return i;
	return -1;
}

/* Return the index of a layout's first field; its fields are consecutive. */
static size_t members_begin(uint8_t layout)
{
	static uint16_t first[LAYOUTS]; /* 1 + index; a race stores the same value twice */
	uint16_t known = __atomic_load_n(&first[layout], __ATOMIC_RELAXED);
	if (known)
		return known - 1u;
	size_t i = 0;
	while (i < MEMBERS && members[i].layout != layout)
		i++;
	__atomic_store_n(&first[layout], (uint16_t)(i + 1), __ATOMIC_RELAXED);
	return i;
}

/* Return the number at `offset`, 0 if the record has no such field. */
static uint64_t read_at(const uint8_t *record, size_t bytes, unsigned offset, unsigned width)
{
	uint64_t value = 0;
	if (offset + width <= bytes)
		bytes_copy(&value, record + offset, width);
	return value;
}

static uint64_t member_read(const uint8_t *record, size_t bytes, const struct member *m)
{
	uint64_t value = read_at(record, bytes, m->offset, m->bytes);
	return m->form == FORM_SIGNED && m->bytes == 4 ? (uint64_t)(int64_t)(int32_t)value : value;
}

#define READ(record, member)                                       \
	read_at(record, bytes, offsetof(struct READ_FROM, member), \
		sizeof(MEMBER_OF(READ_FROM, member)))

/* ---- columns that are not a copy of a field ---- */

static void kernel_finish(struct cupti_row *row, const uint8_t *record, size_t bytes)
{
#define READ_FROM cupti_kernel
	uint64_t cache = READ(record, cache_config);
	row->value[COLUMN_CUDA_KERNEL_CACHE_CONFIG_REQUESTED] = cache & 15;
	row->value[COLUMN_CUDA_KERNEL_CACHE_CONFIG_EXECUTED] = cache >> 4;
	if (READ(record, is_carveout_requested) && bytes > offsetof(struct cupti_kernel, carveout))
		row->value[COLUMN_CUDA_KERNEL_SHARED_MEMORY_CARVEOUT] = READ(record, carveout) + 1;
	if (bytes < offsetof(struct cupti_kernel, local_memory_total) + 8)
		row->value[COLUMN_CUDA_KERNEL_LOCAL_MEMORY_TOTAL] =
			READ(record, local_memory_total_32);
#undef READ_FROM
}

static void overhead_finish(struct cupti_row *row, const uint8_t *record, size_t bytes)
{
#define READ_FROM cupti_overhead
	bool is_thread = READ(record, object_kind) == 2;
	row->value[COLUMN_CUDA_OVERHEAD_OBJECT_ID] =
		is_thread ? READ(record, object[1]) : READ(record, object[0]);
#undef READ_FROM
}

enum { COUNTER_CPU_FAULT = 3, COUNTER_THRASHING = 5, COUNTER_REMOTE_MAP = 7 };

/* Complete the row: some records have no end, and the value of a fault of the CPU is the address of
 * the instruction. */
static void unified_memory_finish(struct cupti_row *row)
{
	uint64_t counter = row->value[COLUMN_CUDA_UNIFIED_MEMORY_COUNTER_KIND];
	if (counter == COUNTER_CPU_FAULT || counter == COUNTER_THRASHING ||
		counter == COUNTER_REMOTE_MAP)
		row->end = row->start;
	if (counter == COUNTER_CPU_FAULT) {
		row->value[COLUMN_CUDA_UNIFIED_MEMORY_PC] =
			row->value[COLUMN_CUDA_UNIFIED_MEMORY_VALUE];
		row->value[COLUMN_CUDA_UNIFIED_MEMORY_VALUE] = 1;
	}
}

static void device_finish(struct cupti_row *row, const struct cupti_device *device, size_t bytes)
{
	row->texts |=
		UINT64_C(1) << COLUMN_CUDA_DEVICE_UUID | UINT64_C(1) << COLUMN_CUDA_DEVICE_MIG_UUID;
	if (bytes >= offsetof(struct cupti_device, uuid) + 16)
		row->value[COLUMN_CUDA_DEVICE_UUID] = (uint64_t)(uintptr_t)device->uuid;
	if (bytes >= offsetof(struct cupti_device, mig_uuid) + 16 && device->is_mig_enabled)
		row->value[COLUMN_CUDA_DEVICE_MIG_UUID] = (uint64_t)(uintptr_t)device->mig_uuid;
}

static void row_finish(struct cupti_row *row, const void *record, size_t bytes, uint32_t kind)
{
	switch (row->event) {
	case NUMBER_CUDA_KERNEL:
		kernel_finish(row, record, bytes);
		break;
	case NUMBER_CUDA_MEMCPY:
		row->value[COLUMN_CUDA_MEMCPY_IS_PEER] = kind == CUPTI_MEMCPY_PEER;
		break;
	case NUMBER_CUDA_OVERHEAD:
		overhead_finish(row, record, bytes);
		break;
	case NUMBER_CUDA_UNIFIED_MEMORY:
		unified_memory_finish(row);
		break;
	case NUMBER_CUDA_DEVICE:
		device_finish(row, record, bytes);
		break;
	default:
		break;
	}
}

static uint32_t correlation_column(uint32_t event)
{
	switch (event) {
#define CASE(event_id)          \
	case NUMBER_##event_id: \
		return COLUMN_##event_id##_CORRELATION_ID;
		CASE(CUDA_KERNEL)
		CASE(CUDA_MEMCPY)
		CASE(CUDA_MEMSET)
		CASE(CUDA_SYNC)
		CASE(CUDA_EVENT)
		CASE(CUDA_GRAPH_TRACE)
		CASE(CUDA_MEM_DECOMPRESS)
#undef CASE
	default:
		return 0;
	}
}

bool cupti_decode(const void *record, size_t bytes, struct cupti_row *ret_row)
{
	uint32_t kind = (uint32_t)read_at(record, bytes, 0, sizeof(kind));
	int id = layout_of(kind);
	if (id < 0 || bytes < 16)
		return false;
	const struct layout *layout = &layouts[id];
	*ret_row = (struct cupti_row){.event = layout->event};
	if (layout->start) {
		ret_row->timing = layout->start == layout->end ? CUPTI_IS_MOMENT : CUPTI_IS_SPAN;
		ret_row->start = read_at(record, bytes, layout->start, 8);
		ret_row->end = read_at(record, bytes, layout->end, 8);
	}
	for (size_t i = members_begin((uint8_t)id); i < MEMBERS && members[i].layout == id; i++) {
		const struct member *m = &members[i].member;
		ret_row->value[m->column] = member_read(record, bytes, m);
		if (m->form == FORM_TEXT)
			ret_row->texts |= UINT64_C(1) << m->column;
	}
	row_finish(ret_row, record, bytes, kind);
	ret_row->correlation = (uint32_t)ret_row->value[correlation_column(layout->event)];
	return true;
}
