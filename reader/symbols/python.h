/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - Python code objects of one process, from the PYTHON_CODE rows of a report, and places
 * in Python programs.
 *
 * All zero = empty; python_codes_release() at the end. One thread; adding allocates.
 */
#ifndef READER_SYMBOLS_PYTHON_H
#define READER_SYMBOLS_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "common/frame_address.h"
#include "reader/base/map.h"
#include "reader/file/batch.h"
#include "reader/file/schema.h"

/* Limit for all processes of a report together, like MODULES_MAX in modules.h. */
#define PYTHON_ROWS_MAX (1u << 22)

struct python_row {
	uint32_t file, name, table; /* Strings ids */
	uint32_t first_line, lines;
};

struct python_codes {
	struct python_row *rows;
	uint32_t count, capacity;
	struct map by_id; /* id -> index in `rows` + 1 */
};

/* Free all rows and leave the table empty. */
void python_codes_release(struct python_codes *c);

/* Add the rows of a PYTHON_CODE batch. *room counts down from PYTHON_ROWS_MAX. Returns 0, -ENOMEM,
 * or -EBADMSG with the cause. */
int python_codes_add(struct python_codes *c, const struct event_batch *b, uint32_t *room,
	const char **ret_cause);

/* Return the code object that a frame's address (ADDRESS_PYTHON) names; NULL = the report has
 * none. */
const struct python_row *python_codes_find(const struct python_codes *c, uint64_t address);

/* Return true if the file belongs to an installation of Python (the standard library, packages),
 * not to a program. */
bool python_file_is_library(const char *file);

/* Return the "file.py:42" in the symbol of a Python frame, "function (file.py:42)", and its length;
 * NULL if it has no line, or if `module`, the file, belongs to an installation of Python. */
const char *python_place(const char *symbol, const char *module, size_t *ret_bytes);

#endif
