/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libraries.c - the rows of schema/libraries.def: libraries whose calls have a source of their own.
 */
#include "common/schema/libraries.h"

#include <stddef.h>

#include "common/text.h"

const struct library library_rows[LIBRARY_ROWS] = {
#define LIBRARY(number, id, title, files, functions) {#id, number, files, functions},
#include "common/schema/libraries.def"
};

static const struct library_call calls[] = {
#define CALL(library, functions, arguments) {LIBRARY_##library, functions, arguments, false},
#define CALL_WHOLE(library, functions, arguments) {LIBRARY_##library, functions, arguments, true},
#include "common/schema/libraries.def"
};

static bool matches(const char *text, const char *patterns)
{
	for (const char *end; patterns; patterns = library_pattern_next(end)) {
		end = library_pattern_end(patterns);
		if (text_matches(text, patterns, end))
			return true;
	}
	return false;
}

const struct library_call *library_call_find(enum library_row library, const char *function)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].library == library && matches(function, calls[i].functions))
			return &calls[i];
	return NULL;
}

static const struct {
	const char *function;
	uint32_t argument;
} lookups[] = {
#define LOOKUP(library, function, argument) {function, argument},
#include "common/schema/libraries.def"
};

uint32_t library_lookup(const char *function)
{
	for (size_t i = 0; i < sizeof(lookups) / sizeof(lookups[0]); i++)
		if (text_equal(function, lookups[i].function))
			return lookups[i].argument + 1;
	return 0;
}

const struct library *library_of_file(const char *file)
{
	for (uint32_t i = 0; i < LIBRARY_ROWS; i++)
		if (matches(file, library_rows[i].files))
			return &library_rows[i];
	return NULL;
}
