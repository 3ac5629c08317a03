/* SPDX-License-Identifier: Apache-2.0 */
/* mutate_report.c - mutations of reports: of entries, of block headers, and of whole blocks. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/crc32c.h"
#include "reader/file/block.h"
#include "reader/file/open.h"
#include "report.pb-c.h"
#include "tests/fuzz/growing.h"
#include "tests/fuzz/mutate.h"

#define BLOCKS_MAX 256u
#define ENTRY_MAX (1u << 20)

struct piece { /* a block of a report, whose payload begins at `payload` */
	size_t begin, header, payload, end;
	uint32_t counts[5]; /* number of standard entries, by type */
	bool is_packed;
};

struct pieces {
	struct piece list[BLOCKS_MAX];
	size_t count;
};

static void pieces_find(struct pieces *p, const uint8_t *data, size_t bytes)
{
	struct report report;
	struct report_block b;
	const char *cause;
	p->count = 0;
	if (report_open_memory(&report, data, bytes, &cause))
		return;
	report_block_init(&b);
	for (uint64_t at = report.first_block; at < bytes && p->count < BLOCKS_MAX; at = b.end) {
		if (report_block_find(&b, &report.source, at, &cause))
			break;
		p->list[p->count++] = (struct piece){.begin = at,
			.header = at + 4,
			.payload = b.payload_offset,
			.end = b.end,
			.counts = {b.header->num_sources, b.header->num_results,
				b.header->num_range_results, b.header->num_cmdlist_results,
				b.header->num_graph_results},
			.is_packed = b.own && b.own->compression};
	}
	report_block_release(&b);
	report_close(&report);
}

static uint32_t u32_at(const uint8_t *data)
{
	uint32_t value;
	memcpy(&value, data, 4);
	return value;
}

/* Append a block with this header, which is given the size of this payload. */
static void put_block(struct growing *g, const uint8_t *header, size_t header_bytes,
	const uint8_t *payload, size_t payload_bytes)
{
	uint8_t size[16] = {5 << 3};
	size_t size_bytes = 1 + growing_varint(size + 1, payload_bytes);
	if (header_bytes >= size_bytes &&
		!memcmp(header + header_bytes - size_bytes, size, size_bytes))
		header_bytes -= size_bytes; /* subtracted already */
	uint32_t whole = (uint32_t)(header_bytes + size_bytes);
	growing_put(g, &whole, 4);
	growing_put(g, header, header_bytes);
	growing_put(g, size, size_bytes); /* the last value counts */
	growing_put(g, payload, payload_bytes);
}

static const ProtobufCMessageDescriptor *entry_type(const struct piece *p, uint32_t index)
{
	static const ProtobufCMessageDescriptor *const types[] = {&ncu__source_data__descriptor,
		&ncu__profile_result__descriptor, &ncu__range_result__descriptor,
		&ncu__cmdlist_result__descriptor, &ncu__graph_result__descriptor};
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (index < p->counts[i])
			return types[i];
		index -= p->counts[i];
	}
	return p->is_packed ? NULL : &libtrace__entry__descriptor;
}

/* Mutate the entry at `at`, which is number `index`. */
static void put_entry(struct growing *g, const struct piece *p, const uint8_t *at, size_t bytes,
	uint32_t index, unsigned seed)
{
	const ProtobufCMessageDescriptor *type = entry_type(p, index);
	uint8_t *entry = malloc(ENTRY_MAX);
	if (!entry)
		abort();
	if (type && bytes <= ENTRY_MAX / 2) {
		memcpy(entry, at, bytes);
		uint32_t now = (uint32_t)mutate_message(type, entry, bytes, ENTRY_MAX / 2, seed);
		growing_put(g, &now, 4);
		growing_put(g, entry, now);
	}
	free(entry);
}

/* Append the payload with one entry mutated, doubled, or removed. */
static void put_payload(
	struct growing *g, const struct piece *p, const uint8_t *data, unsigned seed)
{
	uint32_t count = 0, index = 0;
	for (size_t at = p->payload; at + 4 <= p->end && u32_at(data + at) <= p->end - at - 4;
		at += 4 + u32_at(data + at))
		count++;
	const uint32_t chosen = count ? growing_random(g) % count : 0;
	for (size_t at = p->payload; at < p->end; index++) {
		const bool is_entry = at + 4 <= p->end && u32_at(data + at) <= p->end - at - 4;
		const size_t bytes = is_entry ? 4 + (size_t)u32_at(data + at) : p->end - at;
		const uint64_t way = growing_random(g) % 16;
		if (index != chosen || !is_entry) {
			growing_put(g, data + at, bytes);
		} else if (way) {
			put_entry(g, p, data + at + 4, bytes - 4, index, seed);
			if (way == 1)
				growing_put(g, data + at, bytes);
		}
		at += bytes;
	}
}

static void put_changed(
	struct growing *g, const struct piece *p, const uint8_t *data, unsigned seed)
{
	size_t header_bytes = p->payload - p->header, room = header_bytes + 4096;
	uint8_t *header = malloc(room);
	struct growing payload = growing_child(g);
	if (!header)
		abort();
	memcpy(header, data + p->header, header_bytes);
	if (growing_random(g) % 4) {
		put_payload(&payload, p, data, seed);
	} else {
		header_bytes = mutate_message(
			&libtrace__block_header__descriptor, header, header_bytes, room, seed);
		growing_put(&payload, data + p->payload, p->end - p->payload);
	}
	put_block(g, header, header_bytes, payload.data, payload.bytes);
	g->is_full |= payload.is_full;
	growing_free(&payload);
	free(header);
}

size_t mutate_report(uint8_t *data, size_t bytes, size_t max, unsigned seed)
{
	static struct pieces p;
	struct growing g = growing_new(max, seed);
	pieces_find(&p, data, bytes);
	if (!p.count || growing_random(&g) % 16 == 0)
		return LLVMFuzzerMutate(data, bytes, max);
	const size_t chosen = growing_random(&g) % p.count;
	const uint64_t way = growing_random(&g) % 32;
	growing_put(&g, data, p.list[0].begin);
	for (size_t i = 0; i < p.count; i++) {
		const struct piece *b = &p.list[i];
		if (i == chosen && way > 2)
			put_changed(&g, b, data, seed + 1);
		else if (i != chosen || way)
			growing_put(&g, data + b->begin, b->end - b->begin);
		if (i == chosen && way == 1)
			growing_put(&g, data + b->begin, b->end - b->begin);
	}
	if (!g.is_full && g.bytes) {
		bytes = g.bytes;
		memcpy(data, g.data, bytes);
	}
	growing_free(&g);
	return bytes;
}

/* Find the field by its tag and old value. */
void mutate_mend(uint8_t *data, size_t bytes)
{
	struct report report;
	struct report_block b;
	const char *cause;
	if (report_open_memory(&report, data, bytes, &cause))
		return;
	report_block_init(&b);
	for (uint64_t at = report.first_block; at < bytes; at = b.end) {
		if (report_block_find(&b, &report.source, at, &cause))
			break;
		if (!b.own || !b.own->has_payload_crc32c)
			continue;
		uint32_t old = b.own->payload_crc32c;
		uint32_t now = crc32c(0, data + b.payload_offset, (size_t)b.payload_bytes);
		uint8_t field[5] = {0x1d};
		memcpy(field + 1, &old, 4);
		uint8_t *place = memmem(data + at, (size_t)(b.payload_offset - at), field, 5);
		if (place)
			memcpy(place + 1, &now, 4);
	}
	report_block_release(&b);
}
