/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_abi.h - the interface between a tool and NVTX version 3: layouts and numbers, as published
 * with NVTX.
 *
 * They never change (programs carry a copy of NVTX), so the library is built without NVIDIA's
 * headers; tests/apps/nvtx_abi.c compares them with the headers if these are installed.
 */
#ifndef INJECT_NVTX_ABI_H
#define INJECT_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* The argument of InitializeInjectionNvtx2(): returns tables by number. */
typedef const void *(*nvtx_get_table_fn)(uint32_t table);

enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3 };

/* Modules of callbacks. */
enum {
	NVTX_CORE = 1,
	NVTX_CUDA = 2,
	NVTX_OPENCL = 3,
	NVTX_CUDART = 4,
	NVTX_CORE2 = 5,
	NVTX_SYNC = 6
};

struct nvtx_callback_table {
	size_t struct_bytes;
	/* Return a table of ret_count entries, the unused first one included; each entry points to
	 * the slot for a function, or is NULL. Return 0 if there is no such module. */
	int (*module_table)(int module, void (****ret_table)(void), unsigned *ret_count);
};

struct nvtx_version_table {
	size_t struct_bytes;
	uint32_t version;
	uint32_t reserved;
	void (*set_tool_version)(uint32_t version);
};
#define NVTX_TOOL_VERSION 3u

enum { NVTX_COLORED_ARGB = 1 };
enum { NVTX_MESSAGE_CHARS = 1, NVTX_MESSAGE_WIDE = 2, NVTX_MESSAGE_REGISTERED = 3 };

struct nvtx_event_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;  /* PAYLOAD row of events.def, or NVTX_PAYLOAD_EXTENDED */
	int32_t payload_count; /* number of payloads, if it is extended */
	uint64_t payload;
	int32_t message_type;
	const void *message;
};
_Static_assert(sizeof(struct nvtx_event_attributes) == 48, "as in version 2 and 3");

struct nvtx_resource_attributes {
	uint16_t version, size;
	int32_t type;
	uint64_t identifier;
	int32_t message_type;
	const void *message;
};
_Static_assert(sizeof(struct nvtx_resource_attributes) == 32, "as in version 2 and 3");

/* Resource types: class << 16 | index. */
#define NVTX_TYPE_CUDA (4u << 16)
#define NVTX_TYPE_CUDART (5u << 16)
#define NVTX_TYPE_OPENCL (6u << 16)

/* The argument of InitializeInjectionNvtxExtension(). */
struct nvtx_extension_segment {
	size_t number, slot_count;
	intptr_t *slots;
};

struct nvtx_extension {
	uint16_t version, struct_bytes, module, compatibility;
	size_t segment_count;
	struct nvtx_extension_segment *segments;
	const void *unused[2];
};
enum { NVTX_EXTENSION_MEMORY = 1, NVTX_EXTENSION_PAYLOAD = 2, NVTX_EXTENSION_COUNTERS = 4 };
#define NVTX_EXTENSION_MAJOR 1 /* upper half of `compatibility` */

#endif
