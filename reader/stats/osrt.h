/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osrt.h - totals of OS runtime calls by function, from the OSRT_CALL and OSRT_SUMMARY events of a
 * report.
 *
 * osrt_totals_read() makes the passes that exact medians need (durations.h). Memory: 32 KiB per
 * function. One thread; allocates.
 */
#ifndef READER_STATS_OSRT_H
#define READER_STATS_OSRT_H

#include <stdint.h>

#include "reader/report/contents.h"
#include "reader/report/cursor.h"
#include "reader/stats/durations.h"

#define OSRT_FUNCTIONS_MAX \
	8192u /* a real report has some 300; bounds the memory for hostile reports */

struct osrt_function {
	char *name;
	struct durations calls; /* recorded calls, without unfinished ones */
	uint64_t unfinished;    /* calls still running at the end */
	uint64_t summary_count; /* calls in summaries, which were not recorded one by one */
	uint64_t summary_ns;
};

struct osrt_totals {
	struct osrt_function *
		*functions; /* sorted by total of recorded calls, descending, once it is read */
	uint32_t count;
	struct osrt_id {
		uint32_t id;
		struct osrt_function *function;
	} * ids; /* hash table of string ids */
	uint32_t id_capacity, id_count;
	int64_t *columns; /* buffer for decoding */
	/* Filter of calls, of which pid, tid and name are used; set it after osrt_totals_init(). */
	struct cursor_filter filter;
	struct name_filter names;
	uint32_t passes;
};

/* Initialize; release frees the functions. */
void osrt_totals_init(struct osrt_totals *t);
void osrt_totals_release(struct osrt_totals *t);

/*
 * Read the whole report into `c` and `t`. The visitor's `block` is called for every block of every
 * pass (progress), its `problem` in the first pass; both may be NULL. Returns 0 or a negative
 * errno.
 */
int osrt_totals_read(struct osrt_totals *t, struct contents *c, const struct report *r,
	const struct contents_visitor *visitor);

#endif
