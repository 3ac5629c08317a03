/* SPDX-License-Identifier: Apache-2.0 */
/*
 * database.h - conversion of an XSpace to tables of nsys, for statistics in SQL: kernels, copies,
 * sets and API calls, and everything else of the host as NVTX ranges and marks.
 *
 * One thread; allocates; writes a file.
 */
#ifndef READER_XSPACE_DATABASE_H
#define READER_XSPACE_DATABASE_H

#include "reader/export/sqlite/database.h"
#include "reader/xspace/xspace.h"

struct xspace_tally {
	uint64_t taken, left_out; /* events converted; events of other kinds */
};

/* Write the database to a file that must not exist; `cause` has room for DATABASE_CAUSE_BYTES.
 * Returns 0, or a negative errno after removing the file. */
int xspace_to_database(
	const struct xspace *x, const char *name, struct xspace_tally *ret_tally, char *cause);

#endif
