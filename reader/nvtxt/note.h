/* SPDX-License-Identifier: Apache-2.0 */
/*
 * note.h - comments in NVTXT files that `trace export` wrote: they carry what NVTXT has no place
 * for, and other readers skip them.
 *
 *   # libtrace: WORD key=value key=value ...
 *
 * WORD: `file` (once, before the events: times count from `origin` ns of the session's clock),
 * `event` (behind a command: more of it), `name` (alone: a name given by NVTX), `skip` (behind a
 * command: for other readers only). Values have %XX for blanks, control characters and %.
 * One thread.
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

/* Texts are in the pool; NULL = not there. Numbers that are not there are 0. */
struct nvtxt_note {
	enum nvtxt_note_word word;
	const char *domain, *text;
	bool has_level, has_start_thread;
	uint64_t origin;                                     /* file */
	uint64_t payload_type, payload;                      /* number of a PAYLOAD row, the bits */
	uint64_t flags, level, range, start_thread, instant; /* event */
	uint64_t what, process, thread, identifier, type, time; /* name; time: less the origin */
};

/*
 * Reads a comment, from its #. Returns 1; 0: it is not one of these; -EBADMSG: one with a value
 * that cannot be; -ENOMEM. Keys that this version does not know are left out.
 */
int nvtxt_note_read(
	struct nvtxt_note *ret_note, struct pool *pool, const char *comment, size_t bytes);

/* " key=value" */
void nvtxt_note_number(FILE *out, const char *key, uint64_t number);
void nvtxt_note_text(FILE *out, const char *key, const char *text, size_t bytes);

#endif
