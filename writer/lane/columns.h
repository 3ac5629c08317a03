/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - columns of consecutive calls: times, flags, callchain.
 *
 * The records are those from s->at on, one slot each. A record is read more than once, and its
 * process may change it in between: two reads are never assumed to be equal. One thread.
 */
#ifndef WRITER_LANE_COLUMNS_H
#define WRITER_LANE_COLUMNS_H

#include "writer/lane/segment.h"

/* The bits in which the records of some calls differ. */
struct differences {
	uint64_t word, a, b;
};

/* Count the consecutive records from `r` on, at most `count`, whose kind is one of the `kinds` from
 * `first_kind` on, and find the bits in which they differ. */
static inline uint32_t columns_scan(const struct record *r, uint32_t count, uint32_t first_kind,
	uint32_t kinds, struct differences *ret_differences)
{
	const struct record first = *r;
	struct differences d = {0};
	uint32_t i = 0;
	for (; i < count && (r[i].word & RECORD_KIND_MASK) - first_kind < kinds; i++) {
		d.word |= r[i].word ^ first.word;
		d.a |= r[i].a ^ first.a;
		d.b |= r[i].b ^ first.b;
	}
	*ret_differences = d;
	return i;
}

/* Fill start and duration, the first two columns of the kind, of `count` calls. Raises the times
 * of the rows, and counts impossible ones. */
void columns_times_put(struct segment *s, struct batch *b, uint32_t count);

/* Fill the flags of `count` calls, and count abandoned and unfinished ones. */
void columns_flags_put(
	struct segment *s, struct batch *b, uint32_t column, uint32_t count, uint64_t differences);

/* Fill a column and the one after it with the callchains of `count` calls and their method. Only
 * the first call can have a callchain, whose record is before the call's. */
void columns_callchain_put(struct segment *s, struct batch *b, uint32_t column, uint32_t count);

#endif
