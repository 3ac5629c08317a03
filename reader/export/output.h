/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - output file that gets its name only when it is complete.
 *
 * The file is written under a temporary name in the same folder. One thread; writes files.
 */
#ifndef READER_EXPORT_OUTPUT_H
#define READER_EXPORT_OUTPUT_H

#include <stdbool.h>

/* Create the temporary file. Returns its descriptor, with its name in *ret_temporary, which the
 * caller frees; -EEXIST if `name` exists and must not be overwritten; or another negative errno. */
int output_begin(const char *name, bool overwrite, char **ret_temporary);

/* Flush the temporary file to the disk and rename it to `name`. Returns 0 or a negative errno;
 * -EEXIST if the name was taken meanwhile. On failure the temporary file still exists. */
int output_end(const char *temporary, const char *name, bool overwrite);

/* Return true if `name` exists and is not a regular file: a device, a pipe, a folder. */
bool output_is_special(const char *name);

/* Open a special file for writing. Returns a descriptor or a negative errno; -EPERM for a named
 * pipe that another user created, because that user could read the data. */
int output_special_open(const char *name);

/* Create the missing parent folders of a file. Returns 0 or a negative errno. */
int output_folders_make(const char *name);

#endif
