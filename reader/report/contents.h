/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contents.h - the contents of a report except its events: session, strings, processes, and counts
 * of events.
 *
 * contents_read() walks the blocks once. It keeps session, strings, processes (with receipts,
 * callchain nodes and modules), standard details and diagnostics, and passes every batch of events
 * to the caller's function, so that a command that works in file order needs no second pass. One
 * thread; allocates.
 */
#ifndef READER_REPORT_CONTENTS_H
#define READER_REPORT_CONTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/file/batch.h"
#include "reader/file/open.h"
#include "reader/report/processes.h"
#include "reader/report/strings.h"
#include "reader/report/windows.h"

#define DIAGNOSTICS_KEPT 1000u
#define IMPORTS_MAX 10000u
#define MERGED_MAX 32767u

struct contents {
	Libtrace__Session *session;        /* NULL = none found */
	Libtrace__SessionDetails *details; /* the standard ones, merged at the end; NULL = none */
	uint8_t *packed;                   /* details of each block, until they are merged */
	uint32_t packed_bytes, packed_capacity;
	struct string_table strings;
	struct process_list processes;
	Libtrace__Diagnostic **diagnostics; /* first DIAGNOSTICS_KEPT */
	uint64_t diagnostic_count;
	uint64_t damage_count;        /* diagnostics of data that may be missing or wrong */
	struct windows windows;       /* empty: events were recorded all the time */
	Libtrace__Imported **imports; /* files whose events were added */
	size_t import_count;
	uint32_t import_capacity;
	Libtrace__Merged **merged; /* reports that it was merged from, by number less 1 */
	uint32_t merged_count, merged_capacity;
	uint64_t events[SCHEMA_KINDS]; /* counts by kind; index 0: kinds unknown to this version */
	uint64_t selected[SCHEMA_KINDS]; /* events left by the report's row filter */
	uint64_t events_total;           /* events counted */
	uint64_t events_stated;          /* events according to block headers */
	uint64_t dropped_stated;         /* dropped events according to block headers */
	uint64_t unknown_entries;
	uint64_t clock_points;
	uint32_t module_room; /* MODULES_MAX less the modules of all processes so far */
	uint32_t python_room; /* likewise, code objects of Python */
	uint64_t compressed_blocks;
	uint64_t first_ns,
		last_ns; /* least and greatest times of block headers; first > last: none */
	struct walk_tally tally;
};

/* Functions called during a pass; any may be NULL. They return 0, or a negative errno that ends the
 * pass. */
struct contents_visitor {
	void *user;
	/* Called for every valid block, before its batches. */
	int (*block)(void *user, const struct report_block *block);
	int (*batch)(void *user, struct walk *walk,
		const struct event_batch *batch); /* header is valid; columns not decoded yet */
	void (*problem)(void *user, uint64_t offset, const char *cause);
};

/* Call the `block` function of another visitor, if it has one; `v` may be NULL. */
static inline int contents_visit_block(
	const struct contents_visitor *v, const struct report_block *block)
{
	return v && v->block ? v->block(v->user, block) : 0;
}

/* Call the `problem` function of another visitor, if it has one; `v` may be NULL. */
static inline void contents_report_problem(
	const struct contents_visitor *v, uint64_t offset, const char *cause)
{
	if (v && v->problem)
		v->problem(v->user, offset, cause);
}

/* Return the value of a fact "name=value" about the machine; NULL if the session, which may be
 * NULL, has none. */
const char *session_fact(const Libtrace__Session *s, const char *name);

/* Return the length of a tick of the machine's counter in ns: shorter times are 0 or one tick. 0 if
 * it is not known, or at most 1 ns. */
double contents_tick_ns(const struct contents *c);

/* Initialize empty contents; contents_release() frees what a pass has stored in them. */
void contents_init(struct contents *c);
void contents_release(struct contents *c);

/* Reduce the callchains of all processes to the frames of the view. Call it once, after
 * contents_read(), unless the report's own `callchains` (struct report) already selects the
 * view. */
void contents_choose_callchains(struct contents *c, enum callchain_view view);

/* Read the whole report into `c`. Returns 0, a negative errno of a system failure, or what the
 * visitor returned. Damage is reported to visitor->problem and skipped. */
int contents_read(
	struct contents *c, const struct report *r, const struct contents_visitor *visitor);

/* Make another pass over the batches alone, for work that needs complete contents: call `block` and
 * `batch` of the visitor. Damage is skipped silently. Returns the same as contents_read(). */
int contents_batches(const struct report *r, const struct contents_visitor *visitor);

#endif
