/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize.h - finds the names of all addresses of a report, for storing them in it.
 *
 * One thread; allocates.
 */
#ifndef READER_SYMBOLS_SYMBOLIZE_H
#define READER_SYMBOLS_SYMBOLIZE_H

#include "reader/file/append.h"
#include "reader/symbols/symbols.h"

#define SYMBOLIZE_REASONS 8u

struct symbolize_tally {
	uint64_t addresses;            /* distinct ones of each process */
	uint64_t known;                /* of them stored before */
	uint64_t resolved, unresolved; /* of those that are added */
	struct {
		const char *reason; /* of the symbols' pool */
		uint64_t count;
	} reasons[SYMBOLIZE_REASONS]; /* the first ones met */
};

/*
 * Appends what the report, which has been read into the symbols' contents, does not have yet. An
 * address that was in several modules has a row for each. 0 or a negative errno; nothing is
 * committed.
 */
int symbolize(struct symbols *s, struct append *a, struct symbolize_tally *ret_tally);

#endif
