/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes.h - diagnostics: lines in the report about the recording itself.
 *
 * Characters other than printable ASCII become '?'; a text is cut at 511 bytes. Variables are
 * replaced by options of `trace run` where the user knows those (tree_options.has_option). One
 * thread.
 */
#ifndef WRITER_BASE_NOTES_H
#define WRITER_BASE_NOTES_H

#include <stdint.h>

struct writer;

/* Add a line to the block. `pid` 0: the line is not about a process; `time_ns` 0: the line has no
 * time. */
void writer_note(struct writer *w, uint32_t pid, uint64_t time_ns, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Add a line that reports that data may be missing from the report or wrong: the report is then not
 * complete. */
void writer_note_damage(struct writer *w, uint32_t pid, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
