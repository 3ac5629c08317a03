/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.h - reads the lines of a text file of CodeXL into struct codexl_file.
 *
 * The first line that is not in the format ends the file; f->line and f->cause describe it. Counts
 * in the file announce how many lines follow, so nothing after an error can be trusted. One thread;
 * allocates.
 */
#ifndef READER_CODEXL_READ_H
#define READER_CODEXL_READ_H

#include <stddef.h>

#include "reader/codexl/file.h"

/* Read the next line, given without its end. Returns 0, -EBADMSG with f->line and f->cause set,
 * -ENOMEM, or -EOVERFLOW (too many lines). */
int codexl_file_line(struct codexl_file *f, const char *line, size_t bytes);

/* Check that the file is complete, after the last line. Returns as codexl_file_line(). */
int codexl_file_end(struct codexl_file *f);

/* Read all lines of a descriptor, which stays open, and the end. Returns as codexl_file_line(), or
 * another negative errno, as lines_read(). */
int codexl_file_read(struct codexl_file *f, int fd);

#endif
