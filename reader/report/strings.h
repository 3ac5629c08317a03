/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strings.h - the texts of a report by their id.
 *
 * Holds every distinct text of the report that was added: the one part of a reader whose memory
 * follows the report, since any event may name any text. string_table_init/release; texts stay
 * valid until release. One thread; allocates.
 */
#ifndef READER_REPORT_STRINGS_H
#define READER_REPORT_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "report.pb-c.h"

struct string_ref {
	const char *text; /* NUL behind it; may have other bytes than UTF-8 */
	uint32_t bytes;
};

struct string_slot {
	uint32_t id; /* 0 = free */
	struct string_ref ref;
};

struct string_table {
	struct string_slot *slots;
	uint32_t capacity, count;
	uint32_t last_id; /* the greatest told */
	struct string_piece *pieces;
	size_t piece_used, piece_bytes;
	uint64_t text_bytes;
};

void string_table_init(struct string_table *t);
void string_table_release(struct string_table *t);

/* Adds what a Strings entry brings. 0, -EBADMSG when ids and texts do not match, -ENOMEM. */
int string_table_add(struct string_table *t, const Libtrace__Strings *strings);

/* The text; one of zero length for id 0 and for ids that were never told. */
struct string_ref string_table_get(const struct string_table *t, uint32_t id);

#endif
