/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stored.h - the names that `trace symbolize` put into the report, of one process.
 *
 * Source: the Symbols entries of docs/FORMAT.md. All zero = empty. Rows are sorted by the first
 * lookup, and none are added behind it. stored_symbols_release() at the end. One thread; allocates.
 */
#ifndef READER_SYMBOLS_STORED_H
#define READER_SYMBOLS_STORED_H

#include <stdbool.h>
#include <stdint.h>

#include "report.pb-c.h"

struct stored_frame {
	uint32_t function, file, line; /* Strings ids; 0 = not known */
};

struct stored_symbol {
	uint64_t address, offset;
	uint32_t module, reason; /* Strings ids */
	uint32_t first_frame, frame_count;
	uint32_t order; /* of telling: the last one holds */
};

struct stored_symbols {
	struct stored_symbol *rows;
	struct stored_frame *frames;
	uint32_t count, capacity, frame_count, frame_capacity;
	bool sorted;
};

void stored_symbols_release(struct stored_symbols *s);

/* Takes an entry in; the message stays the caller's. 0, -ENOMEM, or -EBADMSG with the cause. */
int stored_symbols_add(
	struct stored_symbols *s, const Libtrace__Symbols *entry, const char **ret_cause);

/* The rows of an address, the last told first: begin with `after` NULL, go on with the one
 * returned. NULL = no more. */
const struct stored_symbol *stored_symbols_find(
	struct stored_symbols *s, uint64_t address, const struct stored_symbol *after);

#endif
