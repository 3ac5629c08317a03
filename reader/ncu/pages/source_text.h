/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_text.h - the lines of a source file, for the source page. One thread; allocates.
 */
#ifndef READER_NCU_PAGES_SOURCE_TEXT_H
#define READER_NCU_PAGES_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define SOURCE_TEXT_BYTES_MAX (64u << 20)

struct source_text {
	char *path; /* of the file that was read; NULL: none */
	char *text;
	const char **lines; /* each without its end */
	size_t count;
};

/* Of a text in memory, or of the file of `list` (separated by commas; NULL: none) whose last part
 * is that of `name`. Neither: there are no lines. 0, -ENOMEM, or what reading the file said. */
int source_text_make(
	struct source_text *s, const char *embedded, const char *list, const char *name);
void source_text_release(struct source_text *s);

/* A line, from 1; "" where it is not known. */
const char *source_text_line(const struct source_text *s, uint32_t line);

#endif
