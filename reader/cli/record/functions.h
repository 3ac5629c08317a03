/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - which functions of libraries to record: --functions and --functions-file.
 */
#ifndef READER_CLI_RECORD_FUNCTIONS_H
#define READER_CLI_RECORD_FUNCTIONS_H

#include <stddef.h>

/*
 * Return the patterns of `list` (NULL = none) and those of `file` (NULL = none), joined by commas;
 * the caller frees them. *ret_list is NULL if there are none. Return 0, or a negative errno after a
 * message: the file cannot be read, or an element is not LIBRARY:FUNCTION, with a prototype
 * (common/schema/prototype.h) or without one.
 */
int functions_join(const char *list, const char *file, char **ret_list);

/* Return the length of the pattern that `text` begins with: up to a comma or blank, except within
 * parentheses, before which there may be blanks. */
size_t function_pattern_length(const char *text);

#endif
