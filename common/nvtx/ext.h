/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext.h - the extensions of NVTX version 3: structures and numbers of payloads, counters,
 * memory and synchronization objects, as published with NVTX 3.2.
 *
 * Tracer and reader need them: the tracer reads the structures, the reader the numbers in records.
 * tests/apps/nvtx_abi.c compares all of it with NVIDIA's headers if these are installed. Structures
 * are the program's memory, valid during the call only.
 */
#ifndef COMMON_NVTX_EXT_H
#define COMMON_NVTX_EXT_H

#include <stdint.h>

/* ---- payloads ---- */

/* payload_type of event attributes: `payload` points to nvtx_data, `reserved` is the number of
 * payloads */
#define NVTX_PAYLOAD_EXTENDED ((int32_t)0xdfbd0009)

struct nvtx_data {
	uint64_t schema;
	uint64_t bytes; /* NVTX_BYTES_UNKNOWN: only the end of a C string can be found */
	const void *data;
};
#define NVTX_BYTES_UNKNOWN UINT64_MAX

/* Types of entries below NVTX_TYPES_END, and of whole payloads. */
enum nvtx_type {
	NVTX_TYPE_INVALID = 0,
	NVTX_TYPE_CHAR = 1,
	NVTX_TYPE_UCHAR,
	NVTX_TYPE_SHORT,
	NVTX_TYPE_USHORT,
	NVTX_TYPE_INT,
	NVTX_TYPE_UINT,
	NVTX_TYPE_LONG,
	NVTX_TYPE_ULONG,
	NVTX_TYPE_LONGLONG,
	NVTX_TYPE_ULONGLONG,
	NVTX_TYPE_INT8,
	NVTX_TYPE_UINT8,
	NVTX_TYPE_INT16,
	NVTX_TYPE_UINT16,
	NVTX_TYPE_INT32,
	NVTX_TYPE_UINT32,
	NVTX_TYPE_INT64,
	NVTX_TYPE_UINT64,
	NVTX_TYPE_FLOAT,
	NVTX_TYPE_DOUBLE,
	NVTX_TYPE_LONGDOUBLE,
	NVTX_TYPE_SIZE,
	NVTX_TYPE_ADDRESS,
	NVTX_TYPE_WCHAR,
	NVTX_TYPE_CHAR8,
	NVTX_TYPE_CHAR16,
	NVTX_TYPE_CHAR32,
	NVTX_TYPE_BYTE = 32,
	NVTX_TYPE_INT128,
	NVTX_TYPE_UINT128,
	NVTX_TYPE_FLOAT16 = 42,
	NVTX_TYPE_FLOAT32,
	NVTX_TYPE_FLOAT64,
	NVTX_TYPE_FLOAT128,
	NVTX_TYPE_BF16 = 50,
	NVTX_TYPE_TF32 = 52,
	NVTX_TYPE_RANGE_ID = 67,
	NVTX_TYPE_CATEGORY,
	NVTX_TYPE_COLOR,
	NVTX_TYPE_SCOPE,
	NVTX_TYPE_PID32,
	NVTX_TYPE_PID64,
	NVTX_TYPE_TID32,
	NVTX_TYPE_TID64,
	NVTX_TYPE_CSTRING,
	NVTX_TYPE_UTF8,
	NVTX_TYPE_UTF16,
	NVTX_TYPE_UTF32,
	NVTX_TYPE_STRING_HANDLE = 80,
	NVTX_TYPE_SELECTOR = 100,
	NVTX_TYPE_REFERENCED = 1022, /* other payloads of the event point into it */
	NVTX_TYPE_RAW = 1023,
	NVTX_TYPES_END = 1024
};

/* Flags of entries. */
#define NVTX_ENTRY_POINTER 2u           /* points into a payload of the same event */
#define NVTX_ENTRY_FROM_BASE 4u         /* offset from the payload's start */
#define NVTX_ENTRY_FROM_HERE 8u         /* offset from the end of the entry */
#define NVTX_ENTRY_ELSEWHERE 14u        /* any of these */
#define NVTX_ENTRY_ARRAY 0x70u          /* mask; 0 = a single value */
#define NVTX_ARRAY_FIXED 0x10u          /* `detail` elements */
#define NVTX_ARRAY_TERMINATED 0x20u     /* ends at an element of 0 */
#define NVTX_ARRAY_LENGTH_ENTRY 0x30u   /* entry number `detail` contains the length or lengths */
#define NVTX_ARRAY_LENGTH_PAYLOAD 0x40u /* payload number `detail` of the event has them */
#define NVTX_ENTRY_DEEP_COPY 0x100u
#define NVTX_ENTRY_MESSAGE 0x400u

/* The role of an entry in a deferred event. Instead, the flags of its schema may have it. */
#define NVTX_ENTRY_TIMESTAMP 0x800u
#define NVTX_ENTRY_EVENT 0x7000u /* mask */
#define NVTX_ENTRY_BEGIN 0x1000u
#define NVTX_ENTRY_END 0x2000u
#define NVTX_ENTRY_MARK 0x3000u
#define NVTX_SCHEMA_EVENT 0x38u /* mask */
#define NVTX_SCHEMA_PUSH_POP 0x10u
#define NVTX_SCHEMA_START_END 0x18u
#define NVTX_SCHEMA_MARK 0x20u

enum nvtx_layout {
#define LAYOUT(number, id, name) NVTX_LAYOUT_##id = number,
#include "common/schema/events.def"
};

/* Ids of schemas, enumerations, counters, scopes and time domains: a program chooses its own in
 * [NVTX_ID_STATIC, NVTX_ID_DYNAMIC), a tool assigns ids above. */
#define NVTX_ID_STATIC (UINT64_C(1) << 24)
#define NVTX_ID_DYNAMIC (UINT64_C(1) << 32)

enum nvtx_semantic {
#define SEMANTIC(number, id, name) NVTX_SEMANTIC_##id = number,
#include "common/schema/events.def"
};

struct nvtx_semantics {
	uint32_t struct_bytes;
	uint16_t semantic, version; /* SEMANTIC row of events.def */
	const struct nvtx_semantics *next;
};

struct nvtx_semantics_id { /* scope, time */
	struct nvtx_semantics header;
	uint64_t id;
};

struct nvtx_semantics_counter {
	struct nvtx_semantics header;
	uint64_t flags;
	const char *unit;
	uint64_t numerator, denominator;
	int64_t limit_type; /* 1 int64, 2 uint64, 3 double */
	uint64_t minimum, maximum;
};
#define NVTX_COUNTER_HAS_MINIMUM 4u
#define NVTX_COUNTER_HAS_MAXIMUM 8u

struct nvtx_schema_entry {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t detail, offset;
	const struct nvtx_semantics *semantics;
	const void *reserved;
};

/* Which fields of the attributes are valid: bits of their mask. */
#define NVTX_SCHEMA_HAS_NAME 0x2u
#define NVTX_SCHEMA_HAS_TYPE 0x4u
#define NVTX_SCHEMA_HAS_FLAGS 0x8u
#define NVTX_SCHEMA_HAS_ENTRIES 0x10u
#define NVTX_SCHEMA_HAS_COUNT 0x20u
#define NVTX_SCHEMA_HAS_SIZE 0x40u
#define NVTX_SCHEMA_HAS_ALIGNMENT 0x80u
#define NVTX_SCHEMA_HAS_ID 0x100u

struct nvtx_schema_attributes {
	uint64_t mask;
	const char *name;
	uint64_t layout, flags;
	const struct nvtx_schema_entry *entries;
	uint64_t entry_count, static_bytes, pack_bytes, id;
	void *extension;
};

struct nvtx_enum_value {
	const char *name;
	uint64_t value;
	int8_t is_flag;
};

#define NVTX_ENUM_HAS_NAME 0x2u
#define NVTX_ENUM_HAS_ENTRIES 0x4u
#define NVTX_ENUM_HAS_COUNT 0x8u
#define NVTX_ENUM_HAS_SIZE 0x10u
#define NVTX_ENUM_HAS_ID 0x20u

struct nvtx_enum_attributes {
	uint64_t mask;
	const char *name;
	const struct nvtx_enum_value *values;
	uint64_t value_count, value_bytes, id;
	void *extension;
};

struct nvtx_scope_attributes {
	uint64_t struct_bytes;
	const char *path;
	uint64_t parent, id;
};

#define NVTX_SCOPE_NONE 0u
#define NVTX_SCOPE_THREAD 22u    /* the calling thread */
#define NVTX_SCOPE_INNERMOST 31u /* innermost scope of software: the thread */

struct nvtx_time_domain_attributes {
	uint64_t scope, clock, id, flags;
	int64_t ticks_per_second;
	uint64_t origin;
};

/* Clocks: ids of time domains, or these types. */
enum nvtx_clock {
	NVTX_CLOCK_NONE = 0,
	NVTX_CLOCK_TOOL = 1, /* the clock of nvtxTimestampGet() */
	NVTX_CLOCK_TSC = 10,
	NVTX_CLOCK_REALTIME = 12,
	NVTX_CLOCK_REALTIME_COARSE,
	NVTX_CLOCK_MONOTONIC,
	NVTX_CLOCK_MONOTONIC_RAW,
	NVTX_CLOCK_MONOTONIC_COARSE,
	NVTX_CLOCK_BOOTTIME,
	NVTX_CLOCK_TIMESPEC_GET = 42,
	NVTX_CLOCK_CPP_STEADY = 50,
	NVTX_CLOCK_CPP_SYSTEM = 52
};
#define NVTX_ORIGIN_UNIX_EPOCH 3u

/* Return the clock that represents all clocks that show the same time, as glibc and libstdc++ map
 * the clocks of C and C++. Other clocks represent themselves. */
static inline uint64_t nvtx_clock_same(uint64_t clock)
{
	switch (clock) {
	case NVTX_CLOCK_REALTIME_COARSE:
	case NVTX_CLOCK_TIMESPEC_GET:
	case NVTX_CLOCK_CPP_SYSTEM:
		return NVTX_CLOCK_REALTIME;
	case NVTX_CLOCK_MONOTONIC_COARSE:
	case NVTX_CLOCK_CPP_STEADY:
		return NVTX_CLOCK_MONOTONIC;
	default:
		return clock;
	}
}

struct nvtx_sync_point {
	int64_t source, target;
};

struct nvtx_event_batch {
	uint64_t schema, bytes;
	const void *events;
	uint64_t scope, flags;
	const void *flex;
	uint64_t flex_bytes, flex_offset;
};

/* ---- counters ---- */

struct nvtx_counter_attributes {
	uint64_t struct_bytes, schema;
	const char *name, *description;
	uint64_t scope;
	const struct nvtx_semantics *semantics;
	uint64_t id;
};

struct nvtx_counter_batch {
	uint64_t counter;
	const void *values;
	uint64_t value_bytes, flags;
	const int64_t *times;
	uint64_t time_bytes;
};

/* ---- memory ---- */

enum nvtx_memory_type {
	NVTX_MEMORY_VIRTUAL = 1,
	NVTX_MEMORY_CUDA_ARRAY = 0x11,
	NVTX_MEMORY_CU_ARRAY
};

struct nvtx_virtual_range {
	uint64_t bytes;
	const void *address;
};

struct nvtx_array_range {
	uint16_t compatibility, struct_bytes;
	uint32_t reserved;
	const void *array;
	uint64_t offset[3], extent[3];
};

struct nvtx_heap_attributes {
	uint16_t compatibility, struct_bytes;
	uint32_t reserved;
	uint32_t usage, type;
	uint64_t descriptor_bytes;
	const void *descriptor; /* nvtx_virtual_range, for that type */
	uint32_t category, message_type;
	const void *message;
};

/* Arguments of a registration of regions. Resizing, unregistering and marking them as initialized
 * take struct nvtx_regions, without heap and handles. */
struct nvtx_regions_register {
	uint16_t compatibility, struct_bytes;
	uint32_t type;
	uint64_t heap;
	uint64_t count, element_bytes;
	const char *elements;
	uint64_t *handles; /* NULL = not wanted */
};

struct nvtx_regions {
	uint16_t compatibility, struct_bytes;
	uint32_t type;
	uint64_t count, element_bytes;
	const char *elements;
};

struct nvtx_region_name {
	uint32_t reference_type, message_type;
	uint64_t region;
	const void *message;
	uint32_t category, reserved;
};

struct nvtx_regions_name {
	uint16_t compatibility, struct_bytes;
	uint32_t reserved;
	uint64_t count, element_bytes;
	const char *elements; /* nvtx_region_name */
	uint64_t reserved1;
};

struct nvtx_permission {
	uint32_t flags, reference_type;
	uint64_t region;
};

struct nvtx_permissions_assign {
	uint16_t compatibility, struct_bytes;
	uint32_t reserved;
	uint64_t permissions;
	uint64_t count, element_bytes;
	const char *elements; /* nvtx_permission */
	uint64_t reserved1;
};

/* ---- synchronization ---- */

struct nvtx_sync_attributes {
	uint16_t version, size;
	int32_t message_type;
	const void *message;
};

#endif
