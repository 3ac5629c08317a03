/*
 * append.h - adds blocks to a finished report, under its lock and by the rules of docs/FORMAT.md.
 *
 *   append_open(); contents_read() with append_note() for each block; append_string(),
 * append_entry() ...; append_commit(); append_close()
 *
 * Nothing is written before append_commit(), which writes all blocks or cuts the file where it was.
 * One thread; allocates; blocks on the disk, and on a writer at work.
 */
#ifndef READER_APPEND_H
#define READER_APPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/open.h"

#define APPEND_BLOCK_BYTES (1u << 20) /* as writers seal them */

struct append_buffer {
	uint8_t *data;
	size_t bytes, capacity;
};

struct append {
	int fd;               /* holds the lock; -1 = not open */
	struct report report; /* reads by the same descriptor */
	uint64_t next_sequence;
	Libtrace__ProcessInfo process; /* as in the other headers; texts are ours */
	bool has_process, compress;
	bool broken; /* memory was short: append_commit() says -ENOMEM */
	/* the block being filled */
	struct append_buffer strings, entries;
	uint32_t string_ids, num_entries;
	struct append_buffer ids;
	/* what append_commit() writes: whole blocks */
	struct append_buffer out;
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

/* Tells a text, which is copied, under an id that no other text of the file has. */
void append_string(struct append *a, uint32_t id, const char *text);

/* Adds an entry, behind the texts of its block. The message stays the caller's. */
void append_entry(struct append *a, const Libtrace__Entry *entry);

/* Writes at `end`, the offset behind the last whole block. 0 or a negative errno, and then the file
 * ends at `end`. */
int append_commit(struct append *a, uint64_t end);

#endif
