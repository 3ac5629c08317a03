/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - a file that gets its name only when it is complete.
 *
 * It is written under another name in the same folder. One thread; writes files.
 */
#ifndef READER_EXPORT_OUTPUT_H
#define READER_EXPORT_OUTPUT_H

#include <stdbool.h>

/* Makes the other file: its descriptor, with its name in *ret_temporary, which the caller frees.
 * -EEXIST where `name` is there and is not to be overwritten, or another negative errno. */
int output_begin(const char *name, bool overwrite, char **ret_temporary);

/* Puts it on the disk and gives it its name. 0 or a negative errno: -EEXIST where somebody else
 * made one meanwhile; the other file is still there then. */
int output_end(const char *temporary, const char *name, bool overwrite);

/* Is there something of this name that is no regular file (a device, a pipe, a folder)? */
bool output_is_special(const char *name);

/* Opens such a one for writing: a descriptor or a negative errno; -EPERM: a pipe that another user
 * has made, and would read. */
int output_special_open(const char *name);

/* Makes the folders that a file of this name lies in, where they are missing. 0 or a negative
 * errno. */
int output_folders_make(const char *name);

#endif
