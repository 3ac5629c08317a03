/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext.c - conversion of records of NVTX extensions to rows.
 */
#include "writer/nvtx/ext.h"

#include <string.h>

#include "writer/base/names.h"

enum column_source { FROM_NOWHERE, FROM_NUMBERS, FROM_TEXTS };

/* Location of a column in the record, by kind of field, for the kinds in nvtx.def. */
enum {
	SOURCE_TIME = FROM_NOWHERE,
	SOURCE_INT = FROM_NUMBERS,
	SOURCE_UINT = FROM_NUMBERS,
	SOURCE_HEX = FROM_NUMBERS,
	SOURCE_FLAGS = FROM_NUMBERS,
	SOURCE_PAYLOAD = FROM_NUMBERS,
	SOURCE_PAYLOAD_TYPE = FROM_NUMBERS,
	SOURCE_STRING = FROM_TEXTS,
	SOURCE_BYTES = FROM_TEXTS
};

#define EVENT(number, id, name, title)
#define FIELD(event_id, number, id, column, kind, encoding, title) \
	[EVENT_##event_id][number - 1] = SOURCE_##kind,
static const uint8_t sources[EVENT_KINDS][BATCH_COLUMNS] = {
#include "common/schema/nvtx.def"
};
#undef EVENT
#undef FIELD

#define DOMAIN_COLUMN 1u
_Static_assert(NVTX_PAYLOAD_DOMAIN == DOMAIN_COLUMN && NVTX_SYNC_DOMAIN == DOMAIN_COLUMN,
	"the domain is the second column of all");

struct ext {
	uint32_t event, number_count, text_count;
	uint64_t domain;
	uint64_t numbers[BATCH_COLUMNS];
	uint32_t texts[NVTX_EXT_TEXTS_MAX]; /* string ids */
};

/* Read the texts, `bytes` from `at`, from a copy, because a lookup of a name may remap the
 * spool. */
static void texts_read(struct segment *s, struct ext *e, const uint8_t *at, uint32_t bytes)
{
	static uint8_t copy[CHUNK_BYTES];
	uint32_t offset = 0;
	memcpy(copy, at, bytes);
	for (uint32_t i = 0; i < e->text_count; i++) {
		struct nvtx_ext_text text;
		if (bytes - offset < sizeof(text))
			return;
		memcpy(&text, copy + offset, sizeof(text));
		offset += (uint32_t)sizeof(text);
		if (text.bytes > bytes - offset)
			return;
		e->texts[i] = text.bytes
			? strings_id(&s->w->report.strings, (const char *)copy + offset, text.bytes)
			: spool_name_id(s->w, s->spool, text.ref);
		offset += (text.bytes + 7) & ~7u;
		if (offset > bytes)
			return;
	}
}

static void ext_read(struct segment *s, struct ext *e, const struct record *r, uint32_t bytes)
{
	const uint8_t *at = (const uint8_t *)(r + 1);
	uint32_t number_bytes = e->number_count * (uint32_t)sizeof(uint64_t);
	if (number_bytes > bytes)
		return;
	memcpy(e->numbers, at, number_bytes);
	texts_read(s, e, at + number_bytes, bytes - number_bytes);
}

uint32_t nvtx_ext_put(struct segment *s, const struct record_at *at)
{
	const struct record *r = at->r;
	uint64_t ns = segment_ns(s, r->tick);
	struct ext e = {.event = (uint32_t)(r->b & 0xffff),
		.number_count = (uint32_t)(r->b >> 16 & 0xff),
		.text_count = (uint32_t)(r->b >> 24 & 0xff),
		.domain = r->a >> 32};
	if (e.event >= EVENT_KINDS || sources[e.event][DOMAIN_COLUMN] != FROM_TEXTS ||
		e.number_count > BATCH_COLUMNS || e.text_count > NVTX_EXT_TEXTS_MAX)
		return 0;
	if (r->tick > s->latest_tick)
		s->latest_tick = r->tick;
	ext_read(s, &e, r, at->bytes);
	uint32_t domain = spool_name_id(s->w, s->spool, (uint32_t)e.domain);
	struct batch *b = segment_row_add(s, e.event, ns);
	batch_set(b, DOMAIN_COLUMN, domain);
	for (uint32_t column = DOMAIN_COLUMN + 1, number = 0, text = 0; column < BATCH_COLUMNS;
		column++) {
		if (sources[e.event][column] == FROM_NUMBERS && number < e.number_count)
			batch_set(b, column, e.numbers[number++]);
		else if (sources[e.event][column] == FROM_TEXTS && text < e.text_count)
			batch_set(b, column, e.texts[text++]);
	}
	segment_reload(s);
	return at->slots;
}
