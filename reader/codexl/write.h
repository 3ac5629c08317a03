/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.h - conversion of a report that `trace import` created from files of CodeXL back to such a
 * file, with every line and every field that was read.
 *
 * Reads the report once per section, in file order. Memory: the contents of the report, and the
 * line count of each block of a thread. One thread; allocates.
 */
#ifndef READER_CODEXL_WRITE_H
#define READER_CODEXL_WRITE_H

#include <stdio.h>

#include "reader/codexl/file.h"
#include "reader/report/contents.h"

struct codexl_writer;

/* Read the report, and fill in `c`, its contents. The caller owns both; they must outlive the
 * result. *ret_error: 0 or a negative errno. After an error the result may be NULL and may only be
 * passed to codexl_writer_close(). */
struct codexl_writer *codexl_writer_open(const struct report *r, struct contents *c,
	const struct contents_visitor *visitor, int *ret_error);
void codexl_writer_close(struct codexl_writer *w);

/* Return true if the report contains a file of this format. */
bool codexl_writer_has(const struct codexl_writer *w, enum codexl_format format);

/* Write the file. Returns 0; -EPIPE if the stream has failed; or another negative errno. *ret_lost:
 * number of commands whose call is not in the report. */
int codexl_writer_write(
	struct codexl_writer *w, FILE *out, enum codexl_format format, uint64_t *ret_lost);

#endif
