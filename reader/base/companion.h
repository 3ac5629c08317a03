/* SPDX-License-Identifier: Apache-2.0 */
/*
 * companion.h - the files that are installed with `trace`, and its helper libtrace-host.
 */
#ifndef READER_BASE_COMPANION_H
#define READER_BASE_COMPANION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Write the absolute path of this program to `ret_path`, which has PATH_MAX bytes. Returns 0 or
 * -ENOENT. */
int companion_program(char *ret_path);

/* Write the path of `name` in the folder of the installed files: LIBTRACE_HOME if set, else
 * ../lib/libtrace relative to the folder of this program. `ret_path` has PATH_MAX bytes; the file
 * may not exist. Returns 0, -ENOENT or -ENAMETOOLONG. */
int companion_path(const char *name, char *ret_path);

/* Run a program with `arguments`, which end with NULL, and write its standard output, and standard
 * error if `with_stderr`, to `ret_text`, terminated by NUL. Remove LD_PRELOAD from its environment,
 * so that it is not traced. Kill it after `patience_ms` milliseconds (-1: never) or when it prints
 * `room` - 1 bytes, and reap it. Returns its wait status; -1, with an empty text, if it did not
 * start or was killed here. */
int companion_run(const char *path, const char *const *arguments, bool with_stderr, int patience_ms,
	char *ret_text, size_t room);

/* Run libtrace-host with companion_run(). Returns the number of bytes that it printed; 0 if there
 * is no helper or no answer. */
size_t companion_ask(const char *const *arguments, int patience_ms, char *ret_text, size_t room);

#endif
