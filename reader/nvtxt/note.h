/* SPDX-License-Identifier: Apache-2.0 */
/*
 * note.h - comments in NVTXT files written by `trace export`: they carry values that NVTXT cannot
 * represent, and other readers skip them.
 *
 *   # libtrace: WORD key=value key=value ...
 *
 * WORD: `file` (once, before the events: times are relative to `origin`, ns of the session's
 * clock), `event` (after a command: more values of it), `name` (on its own line: a name set by
 * NVTX), `skip` (after a command: the command is for other readers only). Values have %XX for
 * blanks, control characters and %. One thread.
 */
#ifndef READER_NVTXT_NOTE_H
#define READER_NVTXT_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/base/pool.h"

enum nvtxt_note_word {
	NVTXT_NOTE_NONE,
	NVTXT_NOTE_FILE,
	NVTXT_NOTE_EVENT,
	NVTXT_NOTE_NAME,
	NVTXT_NOTE_SKIP
};

/* Texts are in the pool; NULL or 0 = not present. */
struct nvtxt_note {
	enum nvtxt_note_word word;
	const char *domain, *text;
	bool has_level, has_start_thread;
	uint64_t origin;                                        /* values of `file` */
	uint64_t payload_type, payload;                         /* number of a PAYLOAD row; bits of
								 * the value */
	uint64_t flags, level, range, start_thread, instant;    /* values of `event` */
	uint64_t what, process, thread, identifier, type, time; /* values of `name`; the time is
								 * relative to the origin */
};

/*
 * Parse a comment, from its '#' on. Returns 1; 0 if it is not a comment of libtrace; -EBADMSG if a
 * value is invalid; or -ENOMEM. Keys that this version does not know are ignored.
 */
int nvtxt_note_read(
	struct nvtxt_note *ret_note, struct pool *pool, const char *comment, size_t bytes);

/* Write " key=value". */
void nvtxt_note_number(FILE *out, const char *key, uint64_t number);
void nvtxt_note_text(FILE *out, const char *key, const char *text, size_t bytes);

#endif
