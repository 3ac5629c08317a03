/*
 * names.h - which functions an analysis is about: a shell pattern, asked once for each string id.
 *
 * All zero = every name. name_filter_release() at the end. One thread; allocates.
 */
#ifndef READER_NAMES_H
#define READER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/strings.h"

struct name_filter {
	const char *pattern; /* the caller's; NULL = all */
	uint8_t *known;      /* by string id: 0 not asked yet, 1 no, 2 yes */
};

void name_filter_release(struct name_filter *f);

/* Does the text with this id match? */
bool name_filter_matches(struct name_filter *f, const struct string_table *strings, uint32_t id);

#endif
