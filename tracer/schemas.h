/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schemas.h - what the tracer itself has to know of registered payload layouts: where in a payload
 * texts are referred to, and where the attributes of its event lie.
 *
 * Everything else of a layout is the reader's. Kept for the life of the process, at most
 * SCHEMAS_BYTES_MAX; what there is no room for is not looked at in payloads. A lock is taken for
 * adding only. Any thread, with thread.busy set.
 */
#ifndef TRACER_SCHEMAS_H
#define TRACER_SCHEMAS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/nvtx_ext.h"
#include "common/nvtx_layout.h"
#include "common/spool.h"

#define SCHEMAS_BYTES_MAX (4u << 20)
#define SCHEMA_PLACES_MAX 64u /* of one layout */

struct name;

/* A place in a payload. */
struct schema_place {
	uint32_t offset;
	uint16_t type;   /* a text, NVTX_TYPE_STRING_HANDLE, _CATEGORY or _COLOR */
	bool is_pointer; /* to a text that ends with a zero */
	bool is_message; /* of the event */
	uint32_t units;  /* of a text in the payload itself; 0 = it ends with a zero */
};

struct schema {
	struct schema *next; /* of the same hash */
	const struct name *domain;
	uint64_t id;
	struct nvtx_extent extent;
	uint32_t place_count;
	struct schema_place places[];
};

/* Remembers a layout or, with an extent alone, an enumeration. */
void schemas_add(const struct name *domain, uint64_t id, const struct nvtx_schema_attributes *a);
void schemas_add_enum(const struct name *domain, uint64_t id, uint64_t bytes);

/* NULL = not known. */
const struct schema *schemas_find(const struct name *domain, uint64_t id);

/* A forked child: nobody holds the lock. */
void schemas_forked(void);

#endif
