/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.h - names of reports: %p %h %e %n %q{VARIABLE} %%.
 *
 * Used in the traced process too: no allocation, no libc. Any thread.
 */
#ifndef COMMON_PATTERN_H
#define COMMON_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_DEFAULT "report%n.rep"

/* The values of the letters. */
struct pattern_values {
	uint32_t pid;                            /* %p */
	const char *executable;                  /* %e: the name after its last slash */
	const char *(*lookup)(const char *name); /* %q{NAME}: value or NULL */
	/* %h is the host's name; %n the least number from 1 for which no such file exists. */
};

/*
 * Expand `pattern` (NULL = PATTERN_DEFAULT) to an absolute path; a name that does not end in .rep
 * (or -rep) gets .rep, and in a directory (an existing one, or a name that ends in a slash) the
 * report is named PATTERN_DEFAULT. The value of a letter never adds a slash or becomes "..", so the
 * file is in the directory that the pattern names. Return 0, or a negative errno with the reason
 * in *ret_reason (a constant).
 */
int pattern_expand(const char *pattern, const struct pattern_values *values, char *ret_path,
	size_t bytes, const char **ret_reason);

/*
 * Check whether a report can be created there. Return NULL, or the reason why not (a constant):
 * the file exists and may not be replaced, or its directory is missing or not writable. For a
 * message before anything is started; only the writer knows for certain.
 */
const char *pattern_check(const char *path, bool overwrite);

#endif
