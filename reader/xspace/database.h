/* SPDX-License-Identifier: Apache-2.0 */
/*
 * database.h - an XSpace as tables of nsys, for statistics in SQL: kernels, copies, sets, API calls
 * and NVTX ranges, as far as the XSpace says what they are.
 *
 * One thread; allocates; writes a file.
 */
#ifndef READER_XSPACE_DATABASE_H
#define READER_XSPACE_DATABASE_H

#include "reader/export/sqlite/database.h"
#include "reader/xspace/xspace.h"

struct xspace_tally {
	uint64_t taken, left_out; /* events; those that are none of the above */
};

/* Writes the database, whose name must be free; `cause` has room for DATABASE_CAUSE_BYTES. 0 or a
 * negative errno, and nothing is left of it. */
int xspace_to_database(
	const struct xspace *x, const char *name, struct xspace_tally *ret_tally, char *cause);

#endif
