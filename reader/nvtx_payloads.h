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
	uint64_t flags; /* schema_flags */
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

/* Deferred events, handed over in one payload. */
struct nvtx_deferred_row {
	struct nvtx_key key; /* as of a piece */
	uint32_t tid;        /* who handed them over */
	uint32_t domain;     /* Strings id */
	bool is_batch;
	uint64_t scope, flex_offset;
};

/* Which clock the times of an entry of a layout are of. Its key's id is nvtx_entry_id(). */
struct nvtx_meaning_row {
	struct nvtx_key key;
	uint64_t clock;
};

static inline uint64_t nvtx_entry_id(uint64_t layout, uint64_t entry)
{
	return layout << 16 | (entry & 0xffff); /* layouts have at most 4096, ids count upwards */
}

struct nvtx_time_domain_row {
	struct nvtx_key key;
	uint64_t scope, clock, origin;
	int64_t ticks_per_second;
};

struct nvtx_sync_row { /* key.id: the source */
	struct nvtx_key key;
	uint64_t target;
	int64_t source_time, target_time;
	bool has_slope;
	double slope;
};

/* In place of a payload: one event of a batch, by its place there. No report has such an id. */
#define NVTX_EVENT_OF_BATCH (UINT64_C(1) << 63)
#define NVTX_EVENT_INDEX_BITS 20u /* a payload has at most 1 MiB */
#define NVTX_EVENT_PAYLOADS_MAX (UINT64_C(1) << 43)

static inline uint64_t nvtx_event_of_batch(uint64_t payload, uint64_t index)
{
	return NVTX_EVENT_OF_BATCH | payload << NVTX_EVENT_INDEX_BITS | index;
}

/* The payload of such an id, and the place in it; false = it is the id of a payload itself. */
static inline bool nvtx_event_in_batch(uint64_t id, uint64_t *ret_payload, uint64_t *ret_index)
{
	*ret_payload = id & NVTX_EVENT_OF_BATCH
		? (id & ~NVTX_EVENT_OF_BATCH) >> NVTX_EVENT_INDEX_BITS
		: id;
	*ret_index = id & ((UINT64_C(1) << NVTX_EVENT_INDEX_BITS) - 1);
	return (id & NVTX_EVENT_OF_BATCH) != 0;
}

/* Rows of a kind, sorted once all are there. */
struct nvtx_rows {
	void *rows;
	uint32_t count, capacity;
};

struct nvtx_payloads {
	const struct contents *contents;
	struct nvtx_rows layouts, entries, values, counters, pieces, texts, deferred, meanings,
		time_domains, syncs;
	int64_t *columns; /* room for decoding */
	bool is_ready;
	bool has_repeats;       /* an id of a process was registered more than once */
	uint64_t epoch;         /* counts the times at which layouts were asked for */
	uint32_t epoch_process; /* of that time */
	struct decode *kept;    /* the batch that an event was printed of last (nvtx_decode.c) */
};

/* `c` is the contents that the pass fills; it stays the caller's. */
void nvtx_payloads_init(struct nvtx_payloads *p, const struct contents *c);
void nvtx_payloads_release(struct nvtx_payloads *p);

/* Rows of a batch, if it has any of these. 0 or -ENOMEM; damaged ones are left out. */
int nvtx_payloads_take(struct nvtx_payloads *p, const struct event_batch *b);

/* All batches were taken. */
void nvtx_payloads_ready(struct nvtx_payloads *p);

/* Room for `more` rows behind those that there are; NULL = no memory, or too many. */
void *nvtx_rows_room(struct nvtx_rows *r, uint32_t more, size_t bytes);

/* What follows is asked for a payload of this process and time: extents found before hold no longer
 * when ids may mean something else. */
void nvtx_payloads_seek(struct nvtx_payloads *p, uint32_t process);

/* The layout or enumeration that an id means in a process at a time (`index` of the key is unused):
 * its last registration by then, or else by the process's fork in one that it was forked from, or
 * else the first at all. NULL = the report has none. */
struct nvtx_layout_row *nvtx_layout_find(struct nvtx_payloads *p, struct nvtx_key wanted);

/* Schema of a counter, found in the same way; 0 = not known. */
uint64_t nvtx_counter_schema(struct nvtx_payloads *p, struct nvtx_key wanted);

/* The clock that entry `index` of the layout `id` has its times from, found in the same way; 0 =
 * not told. */
uint64_t nvtx_entry_clock(struct nvtx_payloads *p, struct nvtx_key wanted);

/* Pieces of a payload, by index and offset; *ret_count may become 0. */
const struct nvtx_piece *nvtx_pieces_find(
	const struct nvtx_payloads *p, uint32_t process, uint64_t payload, uint32_t *ret_count);

/* The row that handed over a payload; NULL = none did. */
const struct nvtx_deferred_row *nvtx_deferred_find(
	const struct nvtx_payloads *p, uint32_t process, uint64_t payload);

/* Goes on, with process and time, where a forked process has from what it does not register itself:
 * its parent, and the time of the fork. False = not forked, or the parent is not known. */
bool nvtx_seek_parent(const struct contents *c, struct nvtx_key *key);

/* The text that a payload has at an address: its Strings id, 0 = none. */
uint32_t nvtx_far_text(
	const struct nvtx_payloads *p, uint32_t process, uint64_t payload, uint64_t address);

/* What stands for a domain in keys. */
uint64_t nvtx_domain_key(const struct contents *c, uint32_t name);

#endif
