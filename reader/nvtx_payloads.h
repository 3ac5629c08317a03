/*
 * nvtx_payloads.h - extended NVTX payloads of a report: their bytes, and what the program
 * registered to say what these mean.
 *
 * nvtx_payloads_init(), nvtx_payloads_take() with every batch of a pass, nvtx_payloads_ready();
 * then payloads can be asked for by process and id. Memory follows the number of payloads (some 50
 * bytes each) and of registered entries; their bytes stay in the string table of the contents. One
 * thread; allocates.
 */
#ifndef READER_NVTX_PAYLOADS_H
#define READER_NVTX_PAYLOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/nvtx_layout.h"
#include "reader/contents.h"

#define NVTX_DEFINITIONS_MAX (1u << 22) /* rows of a kind: bounds what a report can make us hold */

/* What registrations have in common: in which process and domain (by the hash of its name), its id.
 */
struct nvtx_key {
	uint64_t domain, id;
	uint32_t process, index; /* of entries: their place */
	uint64_t time_ns;
};

/* A registration of a layout, or of an enumeration. */
struct nvtx_layout_row {
	struct nvtx_key key;
	uint32_t name; /* Strings id */
	uint32_t layout;
	bool is_enum;
	uint8_t state;  /* of `extent`: 0 not asked for yet, 1 being found, 2 found */
	uint64_t epoch; /* of the payloads in which `state` holds */
	uint64_t bytes, pack;
	struct nvtx_extent extent;
	uint32_t first, count; /* its entries or values */
};

struct nvtx_entry_row {
	struct nvtx_key key;
	uint32_t name;
	uint64_t type, flags, detail, offset;
};

struct nvtx_value_row { /* of an enumeration */
	struct nvtx_key key;
	uint32_t name, enumeration;
	uint64_t bytes;
	int64_t value;
	bool is_flag;
};

struct nvtx_counter_row {
	struct nvtx_key key;
	uint64_t schema;
};

struct nvtx_piece { /* of a payload; key: id = payload, domain unused */
	struct nvtx_key key;
	uint64_t offset, schema, address, bytes;
	uint32_t data; /* Strings id */
};

struct nvtx_far_text { /* key as of a piece; index unused */
	struct nvtx_key key;
	uint64_t address;
	uint32_t text; /* Strings id */
};

/* Rows of a kind, sorted once all are there. */
struct nvtx_rows {
	void *rows;
	uint32_t count, capacity;
};

struct nvtx_payloads {
	const struct contents *contents;
	struct nvtx_rows layouts, entries, values, counters, pieces, texts;
	int64_t *columns; /* room for decoding */
	bool is_ready;
	bool has_repeats;       /* an id of a process was registered more than once */
	uint64_t epoch;         /* counts the times at which layouts were asked for */
	uint32_t epoch_process; /* of that time */
};

/* `c` is the contents that the pass fills; it stays the caller's. */
void nvtx_payloads_init(struct nvtx_payloads *p, const struct contents *c);
void nvtx_payloads_release(struct nvtx_payloads *p);

/* Rows of a batch, if it has any of these. 0 or -ENOMEM; damaged ones are left out. */
int nvtx_payloads_take(struct nvtx_payloads *p, const struct event_batch *b);

/* All batches were taken. */
void nvtx_payloads_ready(struct nvtx_payloads *p);

/* What follows is asked for a payload of this process and time: extents found before hold no longer
 * when ids may mean something else. */
void nvtx_payloads_seek(struct nvtx_payloads *p, uint32_t process);

/* The layout or enumeration that an id means in a process at a time (`index` of the key is unused):
 * its last registration by then, or else by the process's fork in one that it was forked from, or
 * else the first at all. NULL = the report has none. */
struct nvtx_layout_row *nvtx_layout_find(struct nvtx_payloads *p, struct nvtx_key wanted);

/* Schema of a counter, found in the same way; 0 = not known. */
uint64_t nvtx_counter_schema(struct nvtx_payloads *p, struct nvtx_key wanted);

/* Pieces of a payload, by index and offset; *ret_count may become 0. */
const struct nvtx_piece *nvtx_pieces_find(
	const struct nvtx_payloads *p, uint32_t process, uint64_t payload, uint32_t *ret_count);

/* The text that a payload has at an address: its Strings id, 0 = none. */
uint32_t nvtx_far_text(
	const struct nvtx_payloads *p, uint32_t process, uint64_t payload, uint64_t address);

/* What stands for a domain in keys. */
uint64_t nvtx_domain_key(const struct contents *c, uint32_t name);

#endif
