/*
 * contents.h - one pass over a report: everything it holds but the events themselves, and counts of
 * these.
 *
 * contents_read() walks the blocks once, keeps session, strings, processes (with receipts,
 * callchain nodes, modules), standard details and diagnostics, and hands every batch of events to
 * the caller's function, so that a command that can work in file order needs no second pass. One
 * thread; allocates.
 */
#ifndef READER_CONTENTS_H
#define READER_CONTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/batch.h"
#include "reader/open.h"
#include "reader/processes.h"
#include "reader/strings.h"
#include "reader/windows.h"

#define DIAGNOSTICS_KEPT 1000u
#define IMPORTS_MAX 10000u

struct contents {
	Libtrace__Session *session;        /* NULL = none found */
	Libtrace__SessionDetails *details; /* the standard ones, merged at the end; NULL = none */
	uint8_t *packed;                   /* those of each block, until they are merged */
	uint32_t packed_bytes, packed_capacity;
	struct string_table strings;
	struct process_list processes;
	Libtrace__Diagnostic **diagnostics; /* the first DIAGNOSTICS_KEPT */
	uint64_t diagnostic_count;
	uint64_t damage_count;        /* diagnostics that something may be missing or wrong */
	struct windows windows;       /* none told: events were recorded all the time */
	Libtrace__Imported **imports; /* files whose events were added */
	size_t import_count;
	uint32_t import_capacity;
	uint64_t events[SCHEMA_KINDS]; /* by kind; index 0: of kinds that this version does not know
					*/
	uint64_t selected[SCHEMA_KINDS]; /* of them those that the report's selection hands out */
	uint64_t events_total, events_told; /* counted; as block headers say */
	uint64_t dropped_told;              /* by block headers */
	uint64_t unknown_entries;
	uint64_t clock_points;
	uint32_t module_room; /* MODULES_MAX less those that the processes have */
	uint64_t compressed_blocks;
	uint64_t first_ns,
		last_ns; /* least and greatest times of block headers; first > last: none */
	struct walk_tally tally;
};

/* What a pass tells its caller. Members may be NULL. Functions return 0, or a negative errno that
 * ends the pass. */
struct contents_visitor {
	void *user;
	int (*block)(void *user, const struct report_block *block);
	int (*batch)(void *user, struct walk *walk,
		const struct event_batch *batch); /* a sound heading; columns not decoded yet */
	void (*problem)(void *user, uint64_t offset, const char *cause);
};

/* For visitors that pass on what they are told: `v` may be NULL. */
static inline int contents_tell_block(
	const struct contents_visitor *v, const struct report_block *block)
{
	return v && v->block ? v->block(v->user, block) : 0;
}

static inline void contents_tell_problem(
	const struct contents_visitor *v, uint64_t offset, const char *cause)
{
	if (v && v->problem)
		v->problem(v->user, offset, cause);
}

void contents_init(struct contents *c);
void contents_release(struct contents *c);

/* 0, or a negative errno when the machine fails or the visitor says so; damage is told and left
 * out. */
int contents_read(
	struct contents *c, const struct report *r, const struct contents_visitor *visitor);

/* Another pass over the batches alone, for what the first one has to be complete for: calls `block`
 * and `batch` of the visitor. Damage is left out, and not told again. */
int contents_batches(const struct report *r, const struct contents_visitor *visitor);

#endif
