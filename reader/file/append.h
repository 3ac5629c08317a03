/* SPDX-License-Identifier: Apache-2.0 */
/*
 * append.h - adds blocks to a finished report, under its lock and by the rules of docs/FORMAT.md.
 *
 *   append_open(); contents_read() with append_note() for each block; append_text(),
 * append_entry() ...; append_commit(); append_close()
 *
 * Nothing is written before append_commit(), which writes all blocks or cuts the file where it was.
 * One thread; allocates; blocks on the disk, and on a writer at work.
 */
#ifndef READER_FILE_APPEND_H
#define READER_FILE_APPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "reader/base/map.h"
#include "reader/file/open.h"

#define APPEND_BLOCK_BYTES (1u << 20) /* as writers seal them */

struct append {
	int fd;               /* holds the lock; -1 = not open */
	struct report report; /* reads by the same descriptor */
	uint64_t next_sequence;
	Libtrace__ProcessInfo process;           /* as in the other headers; texts are ours */
	const Libtrace__SessionDetails *details; /* of block 0, where that is new; NULL = none */
	bool has_process, compress;
	bool broken; /* memory was short: append_commit() says -ENOMEM */
	/* the block being filled */
	struct buffer strings, entries;
	uint32_t string_ids, num_entries;
	struct buffer ids;
	uint64_t num_events, first_ns, last_ns;
	/* texts told by append_text() */
	struct map texts; /* their address -> id */
	uint32_t next_text_id;
	/* what append_commit() writes: whole blocks */
	struct buffer out;
};

/*
 * Opens the report for reading and writing, and takes its lock, for which it waits up to wait_ns.
 * 0; -EBUSY while a writer is at work; -EBADMSG when it is no report, with the cause; or another
 * negative errno. append_close() also behind a failure.
 */
int append_open(struct append *a, const char *path, uint64_t wait_ns, const char **ret_cause);
void append_close(struct append *a);

/* Takes note of a block that is in the file. */
void append_note(struct append *a, const struct report_block *block);

/*
 * The same for texts that are told apart by their address (pool.h): the id is that of the first
 * time, or a new one above `last_id`. 0 for NULL, for "", and when memory or ids have run out,
 * which append_texts_end() tells: 0, -ENOMEM or -EOVERFLOW.
 */
void append_texts_begin(struct append *a, uint32_t last_id);
uint32_t append_text(struct append *a, const char *text);
int append_texts_end(const struct append *a);

/* Adds an entry, behind the texts of its block. The message stays the caller's. */
void append_entry(struct append *a, const Libtrace__Entry *entry);

/*
 * Adds a batch of events of one kind and thread. values: row by row, the columns in the order of
 * the schema. At most APPEND_ROWS_MAX rows.
 */
#define APPEND_ROWS_MAX 2048u /* as writers have it */
void append_rows(struct append *a, uint32_t kind, uint32_t process, uint32_t tid, uint32_t count,
	const int64_t *values);

/* In place of a file: append_start(), what is to be added, append_blocks(), append_close(). Blocks
 * are told apart from those of the file by nothing but their place; `next_sequence` and
 * `compress` are the caller's to set. */
void append_start(struct append *a);

/* The blocks so far, which become the caller's to free(); NULL and 0 bytes: there are none. 0 or
 * -ENOMEM. */
int append_blocks(struct append *a, uint8_t **ret_data, size_t *ret_bytes);

/* The same as a whole report, for one that is new: `details` are told in its first block. */
int append_file(struct append *a, uint8_t **ret_data, size_t *ret_bytes);

/* Writes at `end`, the offset behind the last whole block. 0 or a negative errno, and then the file
 * ends at `end`. */
int append_commit(struct append *a, uint64_t end);

#endif
