/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_filter.h - selects functions by name: a shell pattern, evaluated once per string id.
 *
 * All zero = every name. name_filter_release() at the end. One thread; allocates.
 */
#ifndef READER_REPORT_NAME_FILTER_H
#define READER_REPORT_NAME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/report/strings.h"

struct name_filter {
	const char *pattern; /* owned by the caller; NULL = all names */
	uint8_t *known;      /* results by string id: 0 not evaluated, 1 no match, 2 match */
};

/* Free the cached results and leave the filter empty. */
void name_filter_release(struct name_filter *f);

/* Return true if the text of a string id matches; true for all texts if there is no pattern. */
bool name_filter_matches(struct name_filter *f, const struct string_table *strings, uint32_t id);

#endif
