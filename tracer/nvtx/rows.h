/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - the record of a call of an NVTX extension: numbers and texts in the order of the columns
 * of its event (REC_NVTX_EXT of common/spool.h).
 *
 * All functions: any thread, also in signal handlers; errno stays unchanged.
 */
#ifndef TRACER_NVTX_ROWS_H
#define TRACER_NVTX_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/nvtx/ranges.h"

struct ext_text {
	const void *bytes;
	uint32_t length;
	struct name *name; /* the name that replaces the bytes; NULL = use the bytes */
};

struct ext_row {
	uint32_t event;  /* number of the event in events.def */
	bool any_domain; /* recorded regardless of the selected domains: the call does not name its
			    domain */
	struct name *domain;
	const uint64_t *numbers; /* the number columns after the domain, in order */
	uint32_t number_count;
	struct ext_text texts[NVTX_EXT_TEXTS_MAX]; /* the text columns, in order */
	uint32_t text_count;
};

#define EXT_NUMBERS(...)                            \
	.numbers = (const uint64_t[]){__VA_ARGS__}, \
	.number_count = sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

#define EVENT(number, id, name, title) EXT_##id = number,
enum ext_event {
#include "common/schema/events.def"
};

enum nvtx_no_value {
#define NO_VALUE(number, id, name) NVTX_NO_VALUE_##id = number,
#include "common/schema/events.def"
};
enum nvtx_heap_what {
#define HEAP(number, id, name) NVTX_HEAP_##id = number,
#include "common/schema/events.def"
};
enum nvtx_region_what {
#define REGION(number, id, name) NVTX_REGION_##id = number,
#include "common/schema/events.def"
};
enum nvtx_permission_what {
#define PERMISSION(number, id, name) NVTX_PERMISSION_##id = number,
#include "common/schema/events.def"
};
enum nvtx_sync_what {
#define SYNC(number, id, name) NVTX_SYNC_##id = number,
#include "common/schema/events.def"
};

/* Convert a type of message; types have the same numbers as kinds of texts. */
static inline enum nvtx_text_kind nvtx_text_kind(int64_t message_type)
{
	bool known = message_type > 0 && message_type <= NVTX_TEXT_NAME;
	return known ? (enum nvtx_text_kind)message_type : NVTX_TEXT_NONE;
}

/* Write the record. Without room it is counted as dropped. */
void ext_put(const struct ext_row *row);

/* Return a zero-terminated text; NULL is empty. A long text becomes a name (text.h), or is cut at
 * NVTX_TEXT_BYTES if there is no room for more names. */
struct ext_text ext_chars(const char *text);

/* Return a message as NVTX passes it; a wide one is converted in `room`, of EXT_ROOM_BYTES. */
#define EXT_ROOM_BYTES (NVTX_TEXT_BYTES + 16)
struct ext_text ext_message(enum nvtx_text_kind kind, const void *text, char *room);

/* Return true if events of this domain are recorded now. */
bool ext_is_on(const struct name *domain);

/* Return `wanted` if a program may choose it, else a new id. */
uint64_t ext_id(bool has_wanted, uint64_t wanted);

/* Set the id that another tool has given for this thread's next registration; 0 = none. */
void ext_give_id(uint64_t id);

/* Return true if all of [address, address + bytes) can be read. Asks the kernel, page by page. */
bool ext_readable(uint64_t address, uint64_t bytes);

#endif
