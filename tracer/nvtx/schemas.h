/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schemas.h - the parts of registered payload layouts that the tracer needs: the positions of texts
 * and of attributes of the event in a payload.
 *
 * The reader interprets the rest of a layout. Layouts are kept for the life of the process, in at
 * most SCHEMAS_BYTES_MAX; if there is no room for a layout, its payloads are not searched. Only
 * adding takes a lock. Any thread, with thread.busy set.
 */
#ifndef TRACER_NVTX_SCHEMAS_H
#define TRACER_NVTX_SCHEMAS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/nvtx/ext.h"
#include "common/nvtx/layout.h"
#include "common/spool.h"

#define SCHEMAS_BYTES_MAX (4u << 20)
#define SCHEMA_PLACES_MAX 64u /* places of one layout */

struct name;

/* An offset in a payload, and the type of the value at that offset. */
struct schema_place {
	uint32_t offset;
	uint16_t type;   /* a text, NVTX_TYPE_STRING_HANDLE, _CATEGORY or _COLOR */
	bool is_pointer; /* a pointer to a zero-terminated text */
	bool is_message; /* the text is the event's message */
	uint32_t units;  /* length of a text in the payload itself; 0 = it is zero-terminated */
};

struct schema {
	struct schema *next; /* next layout of the bucket */
	const struct name *domain;
	uint64_t id;
	struct nvtx_extent extent;
	uint32_t place_count;
	struct schema_place places[];
};

/* Remember a layout or, by its size alone, an enumeration. Nothing happens if the lock is not free
 * in time. */
void schemas_add(const struct name *domain, uint64_t id, const struct nvtx_schema_attributes *a);
void schemas_add_enum(const struct name *domain, uint64_t id, uint64_t bytes);

/* Return the layout; NULL = not known. No lock. */
const struct schema *schemas_find(const struct name *domain, uint64_t id);

/* Release the lock in a forked child. */
void schemas_forked(void);

#endif
