/* SPDX-License-Identifier: Apache-2.0 */
/*
 * append.h - appends blocks to a finished report, under its lock and by the rules of
 * docs/FORMAT.md.
 *
 *   append_open(); contents_read() with append_note() for each block; append_text(),
 *   append_entry() ...; append_commit(); append_close()
 *
 * Nothing is written before append_commit(), which writes all blocks or truncates the file to its
 * previous size. One thread; allocates; may block on the disk and on an active writer.
 */
#ifndef READER_FILE_APPEND_H
#define READER_FILE_APPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "reader/base/map.h"
#include "reader/file/open.h"

#define APPEND_BLOCK_BYTES (1u << 20) /* block size at which writers seal a block */

struct append {
	int fd;               /* holds the lock; -1 = not open */
	struct report report; /* reads through the same descriptor */
	uint64_t next_sequence;
	Libtrace__ProcessInfo process;           /* copied from the first header that has it */
	const Libtrace__SessionDetails *details; /* for block 0 of a new report; NULL = none */
	bool has_process, compress;
	bool broken; /* out of memory: append_commit() returns -ENOMEM */
	/* block being filled */
	struct buffer strings, entries;
	uint32_t string_ids, num_entries;
	struct buffer ids;
	uint64_t num_events, first_ns, last_ns, num_dropped, num_deferred;
	/* Standard entries of the block, as stored, and their numbers; names of their metrics,
	 * owned by the caller until the block is sealed */
	struct buffer standard;
	uint32_t num_sources, num_results, num_range_results;
	Libtrace__StringTable *metric_names;
	/* texts added by append_text() */
	struct map texts; /* address -> id */
	uint32_t next_text_id;
	/* whole blocks that append_commit() will write */
	struct buffer out;
};

/*
 * Open the report for reading and writing and take its lock, waiting for it up to wait_ns. Returns
 * 0; -EBUSY if a writer is still active; -EBADMSG, with the cause, if the file is not a report; or
 * another negative errno. Call append_close() after a failure, too.
 */
int append_open(struct append *a, const char *path, uint64_t wait_ns, const char **ret_cause);
/* Release the lock, close the file and free the state; blocks not committed are lost. */
void append_close(struct append *a);

/* Register a block that the file already contains. */
void append_note(struct append *a, const struct report_block *block);

/*
 * Add texts that are identified by their address (pool.h): append_text() returns the id of an
 * earlier call, or a new id above `last_id`. It returns 0 for NULL, for "", and when memory or ids
 * are exhausted, which append_texts_end() reports: 0, -ENOMEM or -EOVERFLOW.
 */
void append_texts_begin(struct append *a, uint32_t last_id);
uint32_t append_text(struct append *a, const char *text);
int append_texts_end(const struct append *a);

/* Add an entry, after the texts of its block. The caller keeps the message. */
void append_entry(struct append *a, const Libtrace__Entry *entry);

/* Add an entry in its encoded form, as append_entry() does, and count its events by hand. */
void append_packed(struct append *a, const void *entry, size_t bytes);

/* Seal the block being filled, so that what follows is in another one. */
void append_seal(struct append *a);

/*
 * Add a batch of events of one kind and thread. `values`: row by row, columns in schema order. At
 * most APPEND_ROWS_MAX rows. append_rows_partly() adds the column BATCH_UNKNOWN of batch.h, a
 * number per row; NULL = none.
 */
#define APPEND_ROWS_MAX 2048u /* same limit as in writers */
void append_rows(struct append *a, uint32_t kind, uint32_t process, uint32_t tid, uint32_t count,
	const int64_t *values);
void append_rows_partly(struct append *a, uint32_t kind, uint32_t process, uint32_t tid,
	uint32_t count, const int64_t *values, const uint64_t *unknown);

/* Start to build blocks in memory, without a file: append_start(), add entries, append_blocks(),
 * append_close(). The caller sets `next_sequence` and `compress`. */
void append_start(struct append *a);

/* Return the blocks built so far in *ret_data, which the caller frees; NULL and 0 bytes if there
 * are none. Returns 0 or -ENOMEM. */
int append_blocks(struct append *a, uint8_t **ret_data, size_t *ret_bytes);

#define APPEND_FILE_BEGIN_BYTES 10u
extern const uint8_t append_file_begin[APPEND_FILE_BEGIN_BYTES]; /* the header of a file */

/* Like append_blocks(), for a new report: return the file header and the blocks; block 0 contains
 * `details`. */
int append_file(struct append *a, uint8_t **ret_data, size_t *ret_bytes);

/* Write all blocks at `end`, the offset after the last whole block. Returns 0, or a negative errno
 * with the file truncated to `end`. */
int append_commit(struct append *a, uint64_t end);

#endif
