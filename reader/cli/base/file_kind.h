/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_kind.h - the kind of a file that is not a report, for messages.
 *
 * Messages name the command that can read the file, if any. The first bytes of the file decide, or
 * else its name. One thread.
 */
#ifndef READER_CLI_BASE_FILE_KIND_H
#define READER_CLI_BASE_FILE_KIND_H

#include <stdbool.h>

#define FOREIGN_BYTES 400

/* Describe a file in words that follow "not a report, but ", such as "an XSpace of a profiler;
 * info, ... read it". Returns false and "" if the kind is unknown. */
bool foreign_kind(const char *path, char ret_text[FOREIGN_BYTES]);

/* Likewise, but for reports of Nsight Systems alone, by their name. */
bool foreign_is_of_nsys(const char *path, char ret_text[FOREIGN_BYTES]);

/* Print why a file or folder that is not a report cannot be read. */
void foreign_explain(const char *path);

#endif
