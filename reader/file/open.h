/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.h - open report, and walks over its blocks in file order.
 *
 * A walk continues after damage: a bad block is reported to `problem` and skipped. If the sizes of
 * the bad block are valid, the next block follows it; otherwise the walk searches the file for the
 * next valid block. A torn tail (a last block that was cut off) is normal after a writer was
 * killed: it is counted, but not reported as damage. Walks of one report are independent, and do
 * not change the report.
 */
#ifndef READER_FILE_OPEN_H
#define READER_FILE_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/file/block.h"
#include "reader/file/schema.h"
#include "reader/file/source.h"

#define REPORT_WAIT_NS 5000000000ull
/* cause if the file does not begin with the header of a report */
#define REPORT_IS_NONE "not a report"

struct event_batch; /* batch.h */

struct report {
	struct source source;
	char *name;
	uint64_t first_block; /* offset after the file header */
	bool unfinished;      /* a writer was still active when the file was opened: the report ends
			       * with the blocks written until then */
	/* Reduce a batch to the rows that readers get; the choice is valid until the next batch.
	 * Returns false if no row is left. NULL = readers get all rows (selection.h). */
	bool (*choose_rows)(void *user, struct event_batch *b);
	void *choose_user;   /* owned by the caller; must outlive all reads */
	unsigned callchains; /* enum callchain_view (reader/symbols/callchains.h) */
	/* Columns of which the source of a converted file has no value, by kind: a bit for each
	 * index in schema_event.fields. Their values are 0 here, and must not be shown. */
	uint64_t unknown[SCHEMA_KINDS];
	/* Likewise, columns that some rows lack: the column BATCH_UNKNOWN of a batch says which. */
	uint64_t partly[SCHEMA_KINDS];
};

/* Apply the row filter of the report, if it has one, to a batch. Returns false if no row is
 * left. */
static inline bool report_choose_rows(const struct report *r, struct event_batch *b)
{
	return !r->choose_rows || r->choose_rows(r->choose_user, b);
}

/*
 * Open a report, which may be compressed as a whole (unpack.h). If a writer is still active on it,
 * wait up to wait_ns for it to finish. Returns 0; -EBADMSG, with the cause, if the file is not a
 * report; or another negative errno. The caller calls report_close().
 */
int report_open(struct report *r, const char *path, uint64_t wait_ns, const char **ret_cause);

/* Like report_open(), for an open file, without waiting. report_close() closes the descriptor; a
 * failing call leaves it open. */
int report_open_fd(struct report *r, int fd, const char *path, const char **ret_cause);

/* Like report_open(), for memory, which the caller keeps until report_close(). */
int report_open_memory(struct report *r, const void *data, size_t bytes, const char **ret_cause);
void report_close(struct report *r);

struct walk_tally {
	uint64_t blocks;           /* valid blocks */
	uint64_t foreign_blocks;   /* valid blocks without our extension */
	uint64_t sources, results; /* standard entries; `results`: results of kernels */
	uint64_t range_results, cmdlist_results, graph_results;
	uint64_t bad_blocks, skipped_bytes; /* damage */
	uint64_t missing_blocks;            /* missing blocks, by gaps in the sequence numbers */
	uint64_t torn_bytes;                /* bytes of the torn tail */
	uint64_t problems;
};

struct walk {
	const struct report *report;
	struct report_block block;
	uint64_t offset; /* offset of the next block */
	uint64_t next_sequence;
	bool is_ours;    /* a block with our extension was found */
	uint64_t budget; /* bytes that searches may still examine: bounds the time that a hostile
			    file can take */
	struct walk_tally tally;
	void (*problem)(void *user, uint64_t offset, const char *cause); /* may be NULL */
	void *user;
};

/* Start a walk at the first block. The caller owns `w`; walk_stop() frees what it holds. */
void walk_start(struct walk *w, const struct report *r);
void walk_stop(struct walk *w);

/* Load the next valid block into w->block. Returns 1; 0 at the end; or a negative errno (-EIO,
 * -ENOMEM) on a system failure. */
int walk_next(struct walk *w);

/* Report a problem found inside the current block. */
void walk_problem(struct walk *w, uint64_t offset, const char *cause);

#endif
