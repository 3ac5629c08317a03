/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h - one block of a report: located by its header, loaded and checked, split into entries.
 *
 * Call report_block_init(), then for each block report_block_find() and, for its contents,
 * report_block_load(); report_block_release() at the end. A block reuses its memory for the next
 * one. Errors: -EBADMSG for invalid contents (with a cause), -EIO and -ENOMEM for system failures.
 * One thread per block; may block on the disk.
 */
#ifndef READER_FILE_BLOCK_H
#define READER_FILE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/file/source.h"
#include "report.pb-c.h"

#define REPORT_FORMAT_VERSION 1u

/* Writers seal a block at 1 MiB. The limits bound the memory that a hostile file can make a
 * reader allocate. NVIDIA's headers are large because they contain the table of metric names. */
#define REPORT_BLOCK_BYTES_MAX (64u << 20)
#define REPORT_HEADER_BYTES_MAX (16u << 20)

struct report_block {
	uint64_t offset; /* offset of the block in the file */
	uint64_t payload_offset;
	uint64_t payload_bytes;
	uint64_t end; /* offset after the block */
	Libtrace__BlockHeader *header;
	const Libtrace__BlockExtension *own; /* NULL = not a block of this project */
	bool reaches_past_end; /* report_block_find() failed because the file ends early */

	uint8_t *stored, *plain; /* payload as stored in the file; decompressed entries */
	size_t stored_capacity, plain_capacity;
	const uint8_t *at, *entries_end; /* entries that were not returned yet */
	uint32_t entries_taken;
	void *zstd;
};

/* Kind of an entry: the number of its field in Entry. */
enum entry_kind {
	ENTRY_UNKNOWN = 0,
	ENTRY_SESSION = 1,
	ENTRY_STRINGS = 2,
	ENTRY_PROCESS = 3,
	ENTRY_BATCH = 4,
	ENTRY_CLOCK = 5,
	ENTRY_DIAGNOSTIC = 6,
	ENTRY_RECEIPT = 7,
	ENTRY_CALLCHAINS = 8,
	ENTRY_SYMBOLS = 9,
	ENTRY_WINDOW = 10,
	ENTRY_IMPORTED = 14,
	ENTRY_MERGED = 16
};

struct report_entry {
	enum entry_kind kind;
	const uint8_t *message, *message_end; /* Entry */
	const uint8_t *inner, *inner_end;     /* message in its only field */
};

/* Initialize an empty block. Release its header, its payload and all its memory. */
void report_block_init(struct report_block *b);
void report_block_release(struct report_block *b);

/* Read the header at `offset` and check its sizes against the remaining bytes. */
int report_block_find(
	struct report_block *b, const struct source *s, uint64_t offset, const char **ret_cause);

/* Read the payload of a block of this project, check its CRC and decompress it. */
int report_block_load(struct report_block *b, const struct source *s, const char **ret_cause);

/* Get the next entry of this project. Returns 1, 0 at the end, or -EBADMSG. */
int report_block_entry(
	struct report_block *b, struct report_entry *ret_entry, const char **ret_cause);

/*
 * Search byte by byte from `from` on for the first valid block: correct CRC, and a sequence number
 * of at least `sequence`. Returns 1 with its offset, 0 if there is none, or a negative errno.
 * *budget is decremented by the bytes examined; when it is exhausted, the search returns 0.
 */
int report_block_search(struct report_block *b, const struct source *s, uint64_t from,
	uint64_t sequence, uint64_t *budget, uint64_t *ret_offset);

#endif
