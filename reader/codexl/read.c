/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - reader for a file of CodeXL, line by line. */
#include "reader/codexl/read.h"

#include <string.h>

#include "reader/base/lines.h"
#include "reader/codexl/table.h"
#include "reader/codexl/timeline.h"

int codexl_file_line(struct codexl_file *f, const char *line, size_t bytes)
{
	struct codexl_words words = {line, line + bytes};
	f->line++;
	if (f->line == 1 && bytes >= 3 && !memcmp(line, "\xef\xbb\xbf", 3))
		words.at += 3; /* skip the byte order mark */
	if (words.end > words.at && words.end[-1] == '\r')
		words.end--;
	if (memchr(words.at, 0, (size_t)(words.end - words.at)))
		return codexl_wrong(f, "zero byte: not a text file");
	return f->format == CODEXL_TIMELINE ? codexl_timeline_line(f, words)
					    : codexl_table_line(f, words);
}

int codexl_file_end(struct codexl_file *f)
{
	return f->format == CODEXL_TIMELINE ? codexl_timeline_end(f) : codexl_table_end(f);
}

static int visit_line(void *user, const char *line, size_t bytes, bool too_long)
{
	struct codexl_file *f = user;
	if (!too_long)
		return codexl_file_line(f, line, bytes);
	f->line++;
	return codexl_wrong(f, "line of more than %u bytes", LINE_BYTES_MAX);
}

int codexl_file_read(struct codexl_file *f, int fd)
{
	const struct lines_visitor visitor = {f, visit_line};
	struct lines_sum sum;
	int error = lines_read(fd, &visitor, &sum);
	f->bytes = sum.bytes;
	f->crc = sum.crc;
	return error ? error : codexl_file_end(f);
}
