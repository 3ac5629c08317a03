/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.c - the formats of files of CodeXL, by name.
 */
#include "reader/codexl/format.h"

#include <string.h>

enum codexl_format codexl_format_of(const char *path)
{
	static const char *const suffixes[] = {[CODEXL_TIMELINE] = ".atp",
		[CODEXL_COUNTERS] = ".csv",
		[CODEXL_OCCUPANCY] = ".occupancy"};
	size_t bytes = strlen(path);
	unsigned format = 0;
	for (; format < CODEXL_FORMATS; format++) {
		size_t suffix = strlen(suffixes[format]);
		if (bytes > suffix && !strcmp(path + bytes - suffix, suffixes[format]))
			break;
	}
	return format;
}

const char *codexl_format_name(enum codexl_format format)
{
	static const char *const names[] = {"atp", "csv", "occupancy"};
	return names[format];
}
