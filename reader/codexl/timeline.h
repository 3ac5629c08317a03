/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - reads the lines of a CodeXL timeline (.atp). Used only inside reader/codexl/. One
 * thread; allocates.
 */
#ifndef READER_CODEXL_TIMELINE_H
#define READER_CODEXL_TIMELINE_H

#include <stdbool.h>

#include "reader/codexl/file.h"
#include "reader/codexl/words.h"

/* Read a line: header, title, number, or line of a section. Returns as codexl_file_line(). */
int codexl_timeline_line(struct codexl_file *f, struct codexl_words line);

/* Check that no announced lines are missing. Returns as codexl_file_line(). */
int codexl_timeline_end(struct codexl_file *f);

/* Return whether kernel lines have the index of their queue in a TraceFileVersion; "" = the
 * latest. */
bool codexl_has_queue_index(const char *version);

#endif
