/* SPDX-License-Identifier: Apache-2.0 */
/* name_filter.c - evaluation of a shell pattern, once per string id. */
#include "reader/report/name_filter.h"

#include <fnmatch.h>
#include <stdlib.h>

#define NAMES_KNOWN 65536u

void name_filter_release(struct name_filter *f)
{
	free(f->known);
	*f = (struct name_filter){0};
}

static bool matches(const struct name_filter *f, const struct string_table *strings, uint32_t id)
{
	return !fnmatch(f->pattern, string_table_get(strings, id).text, 0);
}

bool name_filter_matches(struct name_filter *f, const struct string_table *strings, uint32_t id)
{
	if (!f->pattern)
		return true;
	if (!f->known)
		f->known = calloc(NAMES_KNOWN, 1);
	if (!f->known || id >= NAMES_KNOWN)
		return matches(f, strings, id);
	if (!f->known[id])
		f->known[id] = matches(f, strings, id) ? 2 : 1;
	return f->known[id] == 2;
}
