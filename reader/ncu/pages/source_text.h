/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_text.h - the lines of a source file, for the source page.
 *
 * One thread; allocates.
 */
#ifndef READER_NCU_PAGES_SOURCE_TEXT_H
#define READER_NCU_PAGES_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define SOURCE_TEXT_BYTES_MAX (64u << 20)

struct source_text {
	char *path; /* path of the file that was read; NULL = none */
	char *text;
	const char **lines; /* each without its line end */
	size_t count;
};

/* Split a source into lines: the text `embedded`, or else the file of `list` (paths separated by
 * commas; NULL: none) whose last part is that of `name`. Without either there are no lines.
 * Returns 0, -ENOMEM, or the error of reading the file. */
int source_text_make(
	struct source_text *s, const char *embedded, const char *list, const char *name);

/* Free all memory of the text. */
void source_text_release(struct source_text *s);

/* Return a line, counted from 1; "" if it is unknown. */
const char *source_text_line(const struct source_text *s, uint32_t line);

#endif
