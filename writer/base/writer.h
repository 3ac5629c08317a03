/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - the state of a writer: one process tree, its spools, one report.
 *
 * Data moves from spool to batch to block to file. Positions of lanes advance with the block, and
 * are stored as tails in the spools only when the block is in the file (output.h), so a killed
 * writer loses no events and repeats none. Each part of the state belongs to the file that declares
 * its type. One thread.
 */
#ifndef WRITER_BASE_WRITER_H
#define WRITER_BASE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clockfit.h"
#include "common/tree.h"
#include "writer/base/adopted.h"
#include "writer/base/children.h"
#include "writer/base/expected.h"
#include "writer/base/known.h"
#include "writer/base/names.h"
#include "writer/base/output.h"
#include "writer/base/waited.h"
#include "writer/report/batch.h"
#include "writer/spool/spools.h"
#include "writer/spool/watch.h"

/* Conversion of ticks to times. */
struct writer_clock {
	struct clockfit fit;
	struct clock_point now; /* the latest point, which was taken after the heads were read */
	bool other_boot;        /* the spools are of another boot, and so are their clocks */
};

/* Rows that are being filled, by kind of event. */
struct rows {
	struct batch *batches[EVENT_KINDS];
	uint64_t first_ns, last_ns; /* first and last time of all rows */
	uint32_t callchain_method;  /* method of the last callchain of a call */
};

/* Progress of reading the control page. */
struct control_seen {
	uint32_t spools; /* control.spools at the last look */
	uint32_t diagnostics;
	uint32_t diagnostics_counted; /* number counted by the processes, at the last look */
	uint64_t windows;
	bool is_damaged; /* a process has written over the page, and the report says so */
};

struct totals {
	uint64_t events, dropped;
	uint32_t spools;      /* spools whose Process entry this writer wrote */
	uint64_t last_end_ns; /* end of the process that ended last */
};

#define LIBRARIES_KNOWN 64u

/* The LIBRARY row of a library, by the string id of its file name modulo LIBRARIES_KNOWN. */
struct library_known {
	uint32_t name;   /* 0 = none */
	uint32_t number; /* 0 = it has no row */
};

struct writer {
	const char *dir;
	struct tree_control *control; /* shared; a private copy if the tree has none */
	int control_fd;
	bool recovering; /* the processes died long ago, at times that are not known */
	struct spools spools;
	struct output report;
	struct writer_clock clock;
	struct rows rows;
	struct name_cache names;
	struct library_known libraries[LIBRARIES_KNOWN];
	struct known known;
	struct expectations expected;
	struct children children;
	struct waited waited[WAITED_KEPT];
	struct watch watch;
	struct adopted adopted;
	struct control_seen seen;
	struct totals totals;
	struct slot slots[TREE_SLOTS]; /* state of the sources of events */
};

/* Initialize `w` for the tree in `dir`, which must outlive it, and open that folder. Return 0 or a
 * negative errno. Call writer_release() after a failure, too. */
int writer_init(struct writer *w, const char *dir);

/* Close and free everything. Files of spools remain. */
void writer_release(struct writer *w);

/* Take a clock point. Call this after reading the heads whose records are converted with it. */
void writer_take_time(struct writer *w);

/* Convert a tick of the spool to ns of CLOCK_MONOTONIC. */
uint64_t writer_ns(struct writer *w, const struct spool *spool, uint64_t tick);

#endif
