/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stored.h - names of one process that `trace symbolize` stored in the report.
 *
 * Format: Symbols entries of docs/FORMAT.md. All zero = empty. The first lookup sorts the rows;
 * none may be added after it. stored_symbols_release() at the end. One thread; allocates.
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
	uint32_t order; /* order in the file: the last row is the valid one */
};

struct stored_symbols {
	struct stored_symbol *rows;
	struct stored_frame *frames;
	uint32_t count, capacity, frame_count, frame_capacity;
	bool sorted;
};

/* Free all rows and leave the table empty. */
void stored_symbols_release(struct stored_symbols *s);

/* Add an entry; the caller keeps the message. Returns 0, -ENOMEM, or -EBADMSG with the cause. */
int stored_symbols_add(
	struct stored_symbols *s, const Libtrace__Symbols *entry, const char **ret_cause);

/* Iterate over the rows of an address, the last in the file first: pass `after` NULL first, then
 * the row returned. NULL = no more. */
const struct stored_symbol *stored_symbols_find(
	struct stored_symbols *s, uint64_t address, const struct stored_symbol *after);

#endif
