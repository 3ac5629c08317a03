/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.h - a report that `trace import` made of files of CodeXL, as such a file again: every line
 * with every field that was read.
 *
 * Reads the report once for each section, in file order: nothing is held but the contents and a
 * number of lines for each block of a thread. One thread; allocates.
 */
#ifndef READER_CODEXL_WRITE_H
#define READER_CODEXL_WRITE_H

#include <stdio.h>

#include "reader/codexl/file.h"
#include "reader/report/contents.h"

struct codexl_writer;

/* Reads the report; `c` is what it holds, and stays the caller's. NULL = out of memory.
 * *ret_error: a negative errno of the pass. */
struct codexl_writer *codexl_writer_open(const struct report *r, struct contents *c,
	const struct contents_visitor *visitor, int *ret_error);
void codexl_writer_close(struct codexl_writer *w);

/* Does it hold a file of this format? */
bool codexl_writer_has(const struct codexl_writer *w, enum codexl_format format);

/* Writes it. 0 or a negative errno; -EPIPE where the stream has failed. *ret_lost: commands whose
 * call is not in the report. */
int codexl_writer_write(
	struct codexl_writer *w, FILE *out, enum codexl_format format, uint64_t *ret_lost);

#endif
