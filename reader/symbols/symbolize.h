/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize.h - resolution of all addresses of a report, to store their names in it.
 *
 * One thread; allocates.
 */
#ifndef READER_SYMBOLS_SYMBOLIZE_H
#define READER_SYMBOLS_SYMBOLIZE_H

#include "reader/file/append.h"
#include "reader/symbols/symbols.h"

#define SYMBOLIZE_REASONS 8u

struct symbolize_tally {
	uint64_t addresses;            /* distinct addresses of each process */
	uint64_t known;                /* addresses already stored */
	uint64_t resolved, unresolved; /* rows added */
	struct {
		const char *reason; /* text in the pool of the symbols */
		uint64_t count;
	} reasons[SYMBOLIZE_REASONS]; /* first ones encountered */
};

/*
 * Append a row for each address whose function the report does not store yet. The report must have
 * been read into the contents of `s`. An address that was in several modules gets a row for each.
 * Returns 0 or a negative errno; does not commit.
 */
int symbolize(struct symbols *s, struct append *a, struct symbolize_tally *ret_tally);

#endif
