/* SPDX-License-Identifier: Apache-2.0 */
/*
 * companion.h - the files that are installed with `trace`, and its helper libtrace-host.
 */
#ifndef READER_BASE_COMPANION_H
#define READER_BASE_COMPANION_H

#include <limits.h>
#include <stddef.h>

/* Write the absolute path of this program to `ret_path`, which has PATH_MAX bytes. Returns 0 or
 * -ENOENT. */
int companion_program(char *ret_path);

/* Write the path of `name` in the folder of the library: that of LIBTRACE_HOME, else
 * ../lib/libtrace beside this program. `ret_path` has PATH_MAX bytes; the file may not exist.
 * Returns 0, -ENOENT or -ENAMETOOLONG. */
int companion_path(const char *name, char *ret_path);

/* Run libtrace-host with `arguments`, which end with NULL, and write what it printed, at most
 * `room` - 1 bytes and a null byte, to `ret_text`. The helper is killed after `patience_ms`
 * milliseconds (-1: never); it is not traced by a preloaded library, and its end is waited for.
 * Returns the number of bytes; 0 if there is no helper, it printed nothing or too much, or took too
 * long. */
size_t companion_ask(const char *const *arguments, int patience_ms, char *ret_text, size_t room);

#endif
