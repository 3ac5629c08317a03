/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strings.h - texts of the report: one id per distinct text, which is written in the block that
 * first uses it.
 *
 * Ids count up over the whole file and are never reused. Memory is bounded: a table that has grown
 * too large is emptied, and a text that is seen again then gets another id. One thread.
 * strings_id() may allocate.
 */
#ifndef WRITER_REPORT_STRINGS_H
#define WRITER_REPORT_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"
#include "report.pb-c.h"

struct string_slot {
	uint64_t hash;
	uint32_t id; /* 0 = free */
	uint32_t bytes;
	const char *text;
};

struct text_chunk; /* memory for texts */

struct strings {
	struct string_slot *slots;
	uint32_t capacity, count; /* capacity is a power of two */
	uint32_t next_id;
	uint64_t text_bytes;
	struct text_chunk *chunks;  /* chunks of the texts in the table; the first is in use */
	struct text_chunk *retired; /* chunks of texts that only the block still needs */
	/* texts first used in the block that is being filled */
	uint32_t *pending;          /* ids in order of use */
	ProtobufCBinaryData *texts; /* their texts, in the chunks */
	uint32_t pending_count, pending_capacity;
	size_t pending_bytes;
	uint32_t functions[FN_MAX]; /* ids of function names, 0 = not used yet */
};

/* Start an empty table. Return 0 or -ENOMEM. strings_release() frees it and all texts. One
 * thread. */
int strings_init(struct strings *s);
void strings_release(struct strings *s);

/* Return the id of a text; 0 for an empty text, and if memory is short. */
uint32_t strings_id(struct strings *s, const char *text, size_t bytes);

/* Return the id of the name of a row of libc.def; 0 if there is no such row. */
uint32_t strings_function_id(struct strings *s, uint32_t fn);

/* Forget the pending texts, because they are in a block. */
void strings_forget_pending(struct strings *s);

#endif
