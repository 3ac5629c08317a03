/* SPDX-License-Identifier: Apache-2.0 */
/* block.c - loading, checking and splitting of one block of a report. */
#include "reader/file/block.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/crc32c.h"
#include "common/varint.h"

static uint32_t le32_at(const uint8_t *p)
{
	uint32_t n;
	memcpy(&n, p, 4);
	return le32toh(n);
}

void report_block_init(struct report_block *b)
{
	*b = (struct report_block){0};
}

static void header_drop(struct report_block *b)
{
	if (b->header)
		libtrace__block_header__free_unpacked(b->header, NULL);
	b->header = NULL;
	b->own = NULL;
	b->at = b->entries_end = NULL;
}

void report_block_release(struct report_block *b)
{
	header_drop(b);
	free(b->stored);
	free(b->plain);
	ZSTD_freeDCtx(b->zstd);
	*b = (struct report_block){0};
}

/* Ensure the capacity; the old contents are lost. */
static int reserve(uint8_t **data, size_t *capacity, size_t bytes)
{
	if (bytes <= *capacity)
		return 0;
	size_t more = bytes < 4096 ? 4096 : bytes + bytes / 4;
	free(*data);
	*data = malloc(more);
	*capacity = *data ? more : 0;
	return *data ? 0 : -ENOMEM;
}

static int cut_off(struct report_block *b, const char **ret_cause)
{
	b->reaches_past_end = true;
	*ret_cause = "block extends past the end of the file";
	return -EBADMSG;
}

static int header_read(struct report_block *b, const struct source *s, uint64_t offset,
	uint32_t *ret_bytes, const char **ret_cause)
{
	uint8_t size[4];
	uint64_t end = source_end(s, offset);
	if (end - offset < 4)
		return cut_off(b, ret_cause);
	int error = source_read(s, offset, size, 4);
	if (error)
		return error;
	uint32_t bytes = le32_at(size);
	*ret_cause = "impossible size of a block header";
	if (bytes > end - offset - 4)
		return cut_off(b, ret_cause);
	if (bytes == 0 || bytes > REPORT_HEADER_BYTES_MAX)
		return -EBADMSG;
	error = reserve(&b->stored, &b->stored_capacity, bytes);
	*ret_bytes = bytes;
	return error ? error : source_read(s, offset + 4, b->stored, bytes);
}

int report_block_find(
	struct report_block *b, const struct source *s, uint64_t offset, const char **ret_cause)
{
	uint32_t bytes = 0;
	header_drop(b);
	b->reaches_past_end = false;
	b->offset = offset;
	b->entries_taken = 0;
	int error = header_read(b, s, offset, &bytes, ret_cause);
	if (error)
		return error;
	b->header = libtrace__block_header__unpack(NULL, bytes, b->stored);
	*ret_cause = "malformed block header";
	if (!b->header)
		return -EBADMSG;
	b->own = b->header->libtrace;
	b->payload_offset = offset + 4 + bytes;
	b->payload_bytes = b->header->payload_size;
	b->end = b->payload_offset + b->payload_bytes;
	return b->end > source_end(s, offset) ? cut_off(b, ret_cause) : 0;
}

/* Skip the standard entries, which precede the entries of this project. */
static int standard_skip(struct report_block *b, const char **ret_cause)
{
	const Libtrace__BlockHeader *h = b->header;
	uint64_t count = (uint64_t)h->num_sources + h->num_results + h->num_range_results +
		h->num_cmdlist_results + h->num_graph_results;
	*ret_cause = "entry extends past the end of its block";
	for (; count; count--) {
		if (b->entries_end - b->at < 4 ||
			le32_at(b->at) > (uint64_t)(b->entries_end - b->at - 4))
			return -EBADMSG;
		b->at += 4 + le32_at(b->at);
	}
	return 0;
}

static int frame_unpack(struct report_block *b, const char **ret_cause)
{
	*ret_cause = "impossible size of a compressed block";
	if (b->own->uncompressed_bytes > REPORT_BLOCK_BYTES_MAX)
		return -EBADMSG;
	size_t bytes = (size_t)b->own->uncompressed_bytes;
	int error = reserve(&b->plain, &b->plain_capacity, bytes);
	if (error)
		return error;
	if (!b->zstd)
		b->zstd = ZSTD_createDCtx();
	if (!b->zstd)
		return -ENOMEM;
	size_t n = ZSTD_decompressDCtx(
		b->zstd, b->plain, bytes, b->at, (size_t)(b->entries_end - b->at));
	*ret_cause = "cannot unpack a compressed block";
	if (ZSTD_isError(n) || n != bytes)
		return -EBADMSG;
	b->at = b->plain;
	b->entries_end = b->plain + bytes;
	return 0;
}

int report_block_load(struct report_block *b, const struct source *s, const char **ret_cause)
{
	*ret_cause = "block of a newer format version";
	if (b->own->format_version > REPORT_FORMAT_VERSION)
		return -EBADMSG;
	*ret_cause = "block too large";
	if (b->payload_bytes > REPORT_BLOCK_BYTES_MAX)
		return -EBADMSG;
	int error = reserve(&b->stored, &b->stored_capacity, (size_t)b->payload_bytes);
	if (!error)
		error = source_read(s, b->payload_offset, b->stored, (size_t)b->payload_bytes);
	if (error)
		return error;
	*ret_cause = "wrong checksum of a block";
	if (!b->own->has_payload_crc32c ||
		crc32c(0, b->stored, (size_t)b->payload_bytes) != b->own->payload_crc32c)
		return -EBADMSG;
	b->at = b->stored;
	b->entries_end = b->stored + b->payload_bytes;
	error = standard_skip(b, ret_cause);
	if (error || b->own->compression == LIBTRACE__COMPRESSION__COMPRESSION_NONE)
		return error;
	*ret_cause = "unknown compression of a block";
	return b->own->compression == LIBTRACE__COMPRESSION__COMPRESSION_ZSTD
		? frame_unpack(b, ret_cause)
		: -EBADMSG;
}

int report_block_entry(struct report_block *b, struct report_entry *e, const char **ret_cause)
{
	uint64_t tag, bytes;
	*ret_cause = "entry extends past the end of its block";
	if (b->at == b->entries_end)
		return 0;
	if (b->entries_end - b->at < 4 || le32_at(b->at) > (uint64_t)(b->entries_end - b->at - 4))
		return -EBADMSG;
	e->message = b->at + 4;
	e->message_end = b->at = e->message + le32_at(b->at);
	b->entries_taken++;
	e->kind = ENTRY_UNKNOWN;
	e->inner = e->inner_end = e->message_end;
	const uint8_t *p = varint_get(e->message, e->message_end, &tag);
	if (!p || (tag & 7) != WIRE_BYTES || tag >> 3 > ENTRY_MERGED)
		return 1;
	p = varint_get(p, e->message_end, &bytes);
	*ret_cause = "malformed entry";
	if (!p || bytes > (uint64_t)(e->message_end - p))
		return -EBADMSG;
	e->kind = (enum entry_kind)(tag >> 3);
	e->inner = p;
	e->inner_end = p + bytes;
	return 1;
}
