/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.h - reads the lines of an NVTXT file into struct nvtxt_file.
 *
 * A line with an error is reported to the file's `problem` function and skipped. One thread;
 * allocates.
 */
#ifndef READER_NVTXT_PARSE_H
#define READER_NVTXT_PARSE_H

#include <stddef.h>

#include "reader/nvtxt/file.h"

/* Read the next line, without its line end. Returns 0, or -ENOMEM when out of memory or when there
 * are too many events. */
int nvtxt_file_line(struct nvtxt_file *f, const char *line, size_t bytes);

/* Read all lines of a descriptor, which stays open. Returns 0 or a negative errno, as
 * lines_read(). */
int nvtxt_file_read(struct nvtxt_file *f, int fd);

#endif
