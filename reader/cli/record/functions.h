/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - which functions of libraries to record: --functions and --functions-file.
 */
#ifndef READER_CLI_RECORD_FUNCTIONS_H
#define READER_CLI_RECORD_FUNCTIONS_H

/*
 * Return the patterns of `list` (NULL = none) and those of `file` (NULL = none), joined by commas;
 * the caller frees them. *ret_list is NULL if there are none. Return 0, or a negative errno after a
 * message: the file cannot be read, or an element is not LIBRARY:FUNCTION, with a prototype
 * (common/schema/prototype.h) or without one.
 */
int functions_join(const char *list, const char *file, char **ret_list);

#endif
