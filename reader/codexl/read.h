/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.h - reader for the lines of a text file of CodeXL.
 *
 * The first line with an error ends the file; f->line and f->cause describe the error. The file
 * announces how many lines follow, so lines after an error would be misread. One thread; allocates.
 */
#ifndef READER_CODEXL_READ_H
#define READER_CODEXL_READ_H

#include <stddef.h>

#include "reader/codexl/file.h"

/* Read the next line, without its line end. Returns 0, -EBADMSG with f->line and f->cause set, or
 * -ENOMEM, also for too many lines. */
int codexl_file_line(struct codexl_file *f, const char *line, size_t bytes);

/* Check that the file is complete, after the last line. Returns as codexl_file_line(). */
int codexl_file_end(struct codexl_file *f);

/* Read all lines of a descriptor, which stays open, and check that the file is complete. Returns
 * as codexl_file_line(), or another negative errno, as lines_read(). */
int codexl_file_read(struct codexl_file *f, int fd);

#endif
