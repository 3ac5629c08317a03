/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payloads.h - the extended NVTX payloads of a report, and the layouts that the program
 * registered to describe them.
 *
 * Call nvtx_payloads_init(), nvtx_payloads_take() with every batch of a pass, then
 * nvtx_payloads_ready(); after that payloads are looked up by process and id. Memory grows with the
 * number of payloads (some 50 bytes each) and of registered entries; their bytes remain in the
 * string table of the contents. One thread; allocates.
 */
#ifndef READER_NVTX_PAYLOADS_H
#define READER_NVTX_PAYLOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/nvtx/layout.h"
#include "reader/report/contents.h"

#define NVTX_DEFINITIONS_MAX (1u << 22) /* rows of a kind: bounds memory for hostile reports */

/* Common part of all registrations: process, domain (as the hash of its name), and id. */
struct nvtx_key {
	uint64_t domain, id;
	uint32_t process, index; /* index: of an entry in its layout */
	uint64_t time_ns;
};

/* A registration of a layout, or of an enumeration. */
struct nvtx_layout_row {
	struct nvtx_key key;
	uint32_t name; /* Strings id */
	uint32_t layout;
	uint64_t flags; /* schema_flags */
	bool is_enum;
	uint8_t state;  /* state of `extent`: 0 unknown, 1 being computed, 2 known */
	uint64_t epoch; /* value of nvtx_payloads.epoch for which `state` is valid */
	uint64_t bytes, pack;
	struct nvtx_extent extent;
	uint32_t first, count; /* entries or values of the layout */
};

struct nvtx_entry_row {
	struct nvtx_key key;
	uint32_t name;
	uint64_t type, flags, detail, offset;
};

struct nvtx_value_row { /* A value of an enumeration. */
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

struct nvtx_piece { /* A piece of a payload. The id of its key is the payload; the domain is
		     * unused. */
	struct nvtx_key key;
	uint64_t offset, schema, address, bytes;
	uint32_t data; /* Strings id */
};

struct nvtx_far_text { /* A text copied from an address. The key is that of a piece; its index is
			* unused. */
	struct nvtx_key key;
	uint64_t address;
	uint32_t text; /* Strings id */
};

/* Deferred events, submitted in one payload. */
struct nvtx_deferred_row {
	struct nvtx_key key; /* key as in nvtx_piece */
	uint32_t tid;        /* thread that submitted the payload */
	uint32_t domain;     /* Strings id */
	bool is_batch;
	uint64_t scope, flex_offset;
};

/* The clock of the times in an entry of a layout. The id of the key is nvtx_entry_id(). */
struct nvtx_meaning_row {
	struct nvtx_key key;
	uint64_t clock;
};

static inline uint64_t nvtx_entry_id(uint64_t layout, uint64_t entry)
{
	return layout << 16 | (entry & 0xffff); /* a layout has at most 4096 entries */
}

struct nvtx_time_domain_row {
	struct nvtx_key key;
	uint64_t scope, clock, origin;
	int64_t ticks_per_second;
};

struct nvtx_sync_row { /* The id of the key is the source. */
	struct nvtx_key key;
	uint64_t target;
	int64_t source_time, target_time;
	bool has_slope;
	double slope;
};

/* An id that refers to one event of a batch instead of a payload. No report contains such an id. */
#define NVTX_EVENT_OF_BATCH (UINT64_C(1) << 63)
#define NVTX_EVENT_INDEX_BITS 20u /* a payload has at most 1 MiB */
#define NVTX_EVENT_PAYLOADS_MAX (UINT64_C(1) << 43)

static inline uint64_t nvtx_event_of_batch(uint64_t payload, uint64_t index)
{
	return NVTX_EVENT_OF_BATCH | payload << NVTX_EVENT_INDEX_BITS | index;
}

/* Split such an id into payload and index; returns false if the id is that of a payload. */
static inline bool nvtx_event_in_batch(uint64_t id, uint64_t *ret_payload, uint64_t *ret_index)
{
	*ret_payload = id & NVTX_EVENT_OF_BATCH
		? (id & ~NVTX_EVENT_OF_BATCH) >> NVTX_EVENT_INDEX_BITS
		: id;
	*ret_index = id & ((UINT64_C(1) << NVTX_EVENT_INDEX_BITS) - 1);
	return (id & NVTX_EVENT_OF_BATCH) != 0;
}

/* Rows of a kind; sorted by nvtx_payloads_ready(). */
struct nvtx_rows {
	void *rows;
	uint32_t count, capacity;
};

struct nvtx_payloads {
	const struct contents *contents;
	struct nvtx_rows layouts, entries, values, counters, pieces, texts, deferred, meanings,
		time_domains, syncs;
	int64_t *columns;       /* buffer for decoding */
	bool has_repeats;       /* an id of a process was registered more than once */
	uint64_t epoch;         /* incremented when cached extents become invalid */
	uint32_t epoch_process; /* the process that extents are cached for */
	void *cache;            /* kept by the decoder between payloads (nvtx/decode.c) */
	void (*cache_free)(void *cache);
};

/* Initialize for a pass that fills `c`, which must outlive `p`; release frees all rows and the
 * cache. */
void nvtx_payloads_init(struct nvtx_payloads *p, const struct contents *c);
void nvtx_payloads_release(struct nvtx_payloads *p);

/* Store the rows of a batch whose kind belongs here. Damaged rows are skipped. Returns 0 or
 * -ENOMEM. */
int nvtx_payloads_take(struct nvtx_payloads *p, const struct event_batch *b);

/* Sort the rows, after the last batch. Lookups are valid from then on. */
void nvtx_payloads_ready(struct nvtx_payloads *p);

/* Begin lookups for a payload of this process: cached extents become invalid when an id may have
 * another meaning there. */
void nvtx_payloads_seek(struct nvtx_payloads *p, uint32_t process);

/* Return the layout or enumeration that an id denotes in a process at a time (`index` of the key is
 * unused): the last registration up to then; else the last one before the fork in a process that it
 * was forked from; else the first of all times. Returns NULL if the report has none. */
struct nvtx_layout_row *nvtx_layout_find(struct nvtx_payloads *p, struct nvtx_key wanted);

/* Return the schema of a counter, looked up in the same way; 0 = not known. */
uint64_t nvtx_counter_schema(struct nvtx_payloads *p, struct nvtx_key wanted);

/* Return the clock of the times in entry `index` of layout `id`, looked up in the same way; 0 = not
 * known. */
uint64_t nvtx_entry_clock(struct nvtx_payloads *p, struct nvtx_key wanted);

/* Return the pieces of a payload, ordered by index and offset; NULL with *ret_count 0 = none. */
const struct nvtx_piece *nvtx_pieces_find(
	const struct nvtx_payloads *p, uint32_t process, uint64_t payload, uint32_t *ret_count);

/* Return the row that submitted a payload; NULL = there is none. */
const struct nvtx_deferred_row *nvtx_deferred_find(
	const struct nvtx_payloads *p, uint32_t process, uint64_t payload);

/* Replace the process of a key by its parent and the time by that of the fork: a forked process
 * inherits registrations. Returns false if the process was not forked, or the parent is not
 * known. */
bool nvtx_seek_parent(const struct contents *c, struct nvtx_key *key);

/* Return the Strings id of the text that was copied from an address; 0 = none. */
uint32_t nvtx_far_text(
	const struct nvtx_payloads *p, uint32_t process, uint64_t payload, uint64_t address);

/* Return the hash that identifies a domain in keys. */
uint64_t nvtx_domain_key(const struct contents *c, uint32_t name);

#endif
