/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.h - a report: the file, and walking over its blocks in file order.
 *
 * A walk goes on behind damage: a bad block is told to `problem` and left out. Where the sizes of
 * the bad block hold, the next block is behind it; where they do not, the file is searched for the
 * next sound block. What is cut off at the end (a torn tail) is normal for a writer that was
 * killed: it is counted, not told as damage. Walks of one report are independent; a report is not
 * changed by them.
 */
#ifndef READER_FILE_OPEN_H
#define READER_FILE_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/file/block.h"
#include "reader/file/source.h"

#define REPORT_WAIT_NS 5000000000ull
#define REPORT_IS_NONE "not a report" /* the cause where a file begins in another way */

struct event_batch; /* batch.h */

struct report {
	struct source source;
	char *name;
	uint64_t first_block; /* offset behind the file header */
	bool unfinished; /* a writer still held the file when it was opened: this is what was there
			    by then */
	/* Reduces a batch to the rows that readers get; the choice holds until the next batch.
	 * False: no row is left. NULL = readers get all rows (selection.h). */
	bool (*choose_rows)(void *user, struct event_batch *b);
	void *choose_user; /* the caller's; lives as long as the report is read */
};

/* Applies the report's row filter, if it has one, to a batch. False: no row is left. */
static inline bool report_choose_rows(const struct report *r, struct event_batch *b)
{
	return !r->choose_rows || r->choose_rows(r->choose_user, b);
}

/*
 * Opens a report, which may be compressed as a whole (unpack.h); when a writer is at work on it,
 * waits up to wait_ns for it to finish. Returns 0;
 * -EBADMSG when it is no report (with the cause), or another negative errno. The caller closes.
 */
int report_open(struct report *r, const char *path, uint64_t wait_ns, const char **ret_cause);

/* The same over an open file, without waiting. The descriptor is closed by report_close(), unless
 * this fails. */
int report_open_fd(struct report *r, int fd, const char *path, const char **ret_cause);

/* The same over memory that stays the caller's. */
int report_open_memory(struct report *r, const void *data, size_t bytes, const char **ret_cause);
void report_close(struct report *r);

struct walk_tally {
	uint64_t blocks;           /* sound ones */
	uint64_t foreign_blocks;   /* of them without our extension */
	uint64_t sources, results; /* standard entries; results: of kernels */
	uint64_t range_results, cmdlist_results, graph_results;
	uint64_t bad_blocks, skipped_bytes; /* damage */
	uint64_t missing_blocks;            /* by sequence numbers */
	uint64_t torn_bytes;                /* cut off at the end */
	uint64_t problems;
};

struct walk {
	const struct report *report;
	struct report_block block;
	uint64_t offset; /* of the next block */
	uint64_t next_sequence;
	bool is_ours;    /* a block with our extension was seen */
	uint64_t budget; /* bytes that searches may still look at: bounds the time a hostile file
			    can take */
	struct walk_tally tally;
	void (*problem)(void *user, uint64_t offset, const char *cause); /* may be NULL */
	void *user;
};

/* `w` is the caller's; walk_stop() gives back what it holds. */
void walk_start(struct walk *w, const struct report *r);
void walk_stop(struct walk *w);

/* The next sound block, loaded, in w->block: 1; 0 at the end; a negative errno (-EIO, -ENOMEM) when
 * the machine fails. */
int walk_next(struct walk *w);

/* Tells a problem found inside the block at hand. */
void walk_problem(struct walk *w, uint64_t offset, const char *cause);

#endif
