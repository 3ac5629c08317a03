/* SPDX-License-Identifier: Apache-2.0 */
/* block_search.c - search of a damaged report for the next valid block. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/varint.h"
#include "reader/file/block.h"

#define WINDOW_BYTES (256u << 10)
#define HEADER_BYTES_LIKELY (1u << 20) /* our headers stay below 64 KiB */
#define HEADER_FIELDS_MAX 64u

/*
 * Return true if the fields of a block header, extension included, fill exactly these bytes. This
 * is cheap enough to check at every byte of a file: few field numbers are in use, so random bytes
 * fail at once.
 */
static bool header_is_likely(const uint8_t *p, const uint8_t *end)
{
	bool own = false;
	for (uint32_t fields = 0; p < end; fields++) {
		uint64_t tag, n;
		p = varint_get(p, end, &tag);
		uint64_t field = tag >> 3;
		if (!p || fields == HEADER_FIELDS_MAX ||
			!((field >= 1 && field <= 7) || field == 1000))
			return false;
		bool bytes = field == 3 || field == 4 || field == 6 || field == 1000;
		if ((tag & 7) != (bytes ? WIRE_BYTES : WIRE_VARINT))
			return false;
		p = varint_get(p, end, &n);
		if (!p || (bytes && n > (uint64_t)(end - p)))
			return false;
		p += bytes ? n : 0;
		own |= field == 1000;
	}
	return own;
}

static uint64_t spend(uint64_t *budget, uint64_t bytes)
{
	*budget -= bytes < *budget ? bytes : *budget;
	return *budget;
}

/* Check for a valid block at `offset`. `head`: bytes of the window from `offset` on. Returns 1, 0
 * if there is none, or a negative errno. */
static int try_offset(struct report_block *b, const struct source *s, uint64_t offset,
	const uint8_t *head, size_t head_bytes, uint64_t sequence, uint64_t *budget)
{
	uint32_t bytes;
	const char *cause;
	memcpy(&bytes, head, 4);
	bytes = le32toh(bytes);
	if (bytes < 4 || bytes > HEADER_BYTES_LIKELY || bytes > s->size - offset - 4)
		return 0;
	if (bytes <= head_bytes - 4 && !header_is_likely(head + 4, head + 4 + bytes))
		return 0;
	if (bytes > head_bytes - 4 && !spend(budget, bytes))
		return 0;
	int error = report_block_find(b, s, offset, &cause);
	if (!error && (!b->own || !b->own->has_sequence || b->own->sequence < sequence))
		return 0;
	spend(budget, bytes);
	if (!error && !spend(budget, b->payload_bytes))
		return 0;
	if (!error)
		error = report_block_load(b, s, &cause);
	return error == -EBADMSG ? 0 : error ? error : 1;
}

int report_block_search(struct report_block *b, const struct source *s, uint64_t from,
	uint64_t sequence, uint64_t *budget, uint64_t *ret_offset)
{
	uint8_t *window = malloc(WINDOW_BYTES);
	int result = window ? 0 : -ENOMEM;
	while (!result && s->size > from && s->size - from >= 8 && *budget) {
		size_t bytes =
			s->size - from < WINDOW_BYTES ? (size_t)(s->size - from) : WINDOW_BYTES;
		result = source_read(s, from, window, bytes);
		spend(budget, bytes);
		size_t at = 0;
		for (; !result && at + 8 <= bytes && *budget; at++) {
			/* A header begins with one of the fields 1 to 7, or with field 1000. */
			uint8_t first = window[at + 4];
			if ((first < 0x08 || first > 0x3f) && first != 0xc2)
				continue;
			result = try_offset(
				b, s, from + at, window + at, bytes - at, sequence, budget);
			*ret_offset = from + at;
		}
		from += at;
	}
	free(window);
	return result;
}
