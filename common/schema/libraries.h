/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libraries.h - the rows of schema/libraries.def: libraries whose calls have a source of their own.
 */
#ifndef COMMON_LIBRARIES_H
#define COMMON_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum library_row {
#define LIBRARY(number, id, title, files, functions) LIBRARY_##id,
#include "common/schema/libraries.def"
	LIBRARY_ROWS
};

struct library {
	const char *name;
	uint32_t number; /* FUNCTION_CALL.library_api */
	const char *files, *functions;
};

/* Arguments to keep of calls. */
struct library_call {
	enum library_row library;
	const char *functions, *arguments;
	bool is_whole; /* the functions have no other argument on the stack */
};

extern const struct library library_rows[LIBRARY_ROWS] __attribute__((visibility("hidden")));

/* Return the end of the first of several patterns with | between them. */
static inline const char *library_pattern_end(const char *patterns)
{
	while (*patterns && *patterns != '|')
		patterns++;
	return patterns;
}

/* Return the pattern after the one that ends at `end`; NULL = that was the last. */
static inline const char *library_pattern_next(const char *end)
{
	return *end ? end + 1 : NULL;
}

/* Return the row of a function of the library; NULL = none. Any thread, async-signal-safe. */
const struct library_call *library_call_find(enum library_row library, const char *function);

/* Return 1 + the argument that has the name of the function that this function looks up; 0 = it
 * looks up none. Any thread, async-signal-safe. */
uint32_t library_lookup(const char *function);

/* Return the library that a file belongs to, by its name without folders; NULL = none has a row.
 * Any thread, async-signal-safe. */
const struct library *library_of_file(const char *file);

#endif
