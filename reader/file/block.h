/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h - one block of a report: found and bounded by its header, loaded and checked, then taken
 * apart into entries.
 *
 * report_block_init(), then for each block report_block_find() and, to see inside,
 * report_block_load(); report_block_release() at the end. A block keeps its memory for the next
 * one. All errors: -EBADMSG for what the file says (with a cause), -EIO, -ENOMEM for the machine.
 * One thread per block; may block on the disk.
 */
#ifndef READER_FILE_BLOCK_H
#define READER_FILE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/file/source.h"
#include "report.pb-c.h"

#define REPORT_FORMAT_VERSION 1u

/* Writers seal a block at 1 MiB. The limits bound what a hostile file can make us hold. */
#define REPORT_BLOCK_BYTES_MAX (64u << 20)
#define REPORT_HEADER_BYTES_MAX (16u << 20) /* NVIDIA's carry the table of metric names */

struct report_block {
	uint64_t offset; /* of the block in the file */
	uint64_t payload_offset;
	uint64_t payload_bytes;
	uint64_t end; /* offset behind the block */
	Libtrace__BlockHeader *header;
	const Libtrace__BlockExtension *own; /* NULL: not one of ours */
	bool reaches_past_end;               /* find: the cause was that the file ends too early */

	uint8_t *stored, *plain; /* payload as in the file; our entries when they were compressed */
	size_t stored_capacity, plain_capacity;
	const uint8_t *at, *entries_end; /* our entries not taken yet */
	uint32_t entries_taken;
	void *zstd;
};

/* What an entry is: the number of its field in Entry. */
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
	ENTRY_IMPORTED = 14
};

struct report_entry {
	enum entry_kind kind;
	const uint8_t *message, *message_end; /* the Entry */
	const uint8_t *inner, *inner_end;     /* the message in its one field */
};

void report_block_init(struct report_block *b);
void report_block_release(struct report_block *b);

/* Reads the header at `offset` and checks the sizes against the bytes left. */
int report_block_find(
	struct report_block *b, const struct source *s, uint64_t offset, const char **ret_cause);

/* Reads the payload of one of our blocks, checks its CRC, unpacks it. */
int report_block_load(struct report_block *b, const struct source *s, const char **ret_cause);

/* The next of our entries: 1, 0 at the end, -EBADMSG. */
int report_block_entry(
	struct report_block *b, struct report_entry *ret_entry, const char **ret_cause);

/*
 * The first sound block (right CRC, sequence number of at least `sequence`) behind `from`, by
 * looking at every byte. Returns 1 with its offset, 0 when there is none, or a negative errno.
 * *budget counts down the bytes that may still be looked at; when it is used up: 0.
 */
int report_block_search(struct report_block *b, const struct source *s, uint64_t from,
	uint64_t sequence, uint64_t *budget, uint64_t *ret_offset);

#endif
