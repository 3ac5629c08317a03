/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_kind.h - what a file is that a command cannot read, and which command can, if any: for
 * messages. By its first bytes, or else its name. One thread.
 */
#ifndef READER_CLI_BASE_FILE_KIND_H
#define READER_CLI_BASE_FILE_KIND_H

#include <stdbool.h>

#define FOREIGN_BYTES 200

/* "an XSpace of a profiler; info, ... read it": what comes behind "not a report, but ". false: its
 * form is not known. */
bool foreign_kind(const char *path, char ret_text[FOREIGN_BYTES]);

/* Prints why a file that is no report cannot be read. */
void foreign_tell(const char *path);

#endif
