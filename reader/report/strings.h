/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strings.h - string table of a report: texts by id.
 *
 * It holds every text that was added, because any event may refer to any text: its memory grows
 * with the report. Texts stay valid until string_table_release(). One thread; allocates.
 */
#ifndef READER_REPORT_STRINGS_H
#define READER_REPORT_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "report.pb-c.h"

struct string_ref {
	const char *text; /* terminated by NUL; may contain invalid UTF-8 */
	uint32_t bytes;
};

struct string_slot {
	uint32_t id; /* 0 = free */
	struct string_ref ref;
};

struct string_table {
	struct string_slot *slots;
	uint32_t capacity, count;
	uint32_t last_id; /* greatest id in the report */
	struct string_piece *pieces;
	size_t piece_used, piece_bytes;
	uint64_t text_bytes;
};

void string_table_init(struct string_table *t);
void string_table_release(struct string_table *t);

/* Add the texts of a Strings entry. Returns 0, -EBADMSG if ids and texts do not match, or
 * -ENOMEM. */
int string_table_add(struct string_table *t, const Libtrace__Strings *strings);

/* Return the text of an id; an empty text for id 0 and for ids that the report does not define. */
struct string_ref string_table_get(const struct string_table *t, uint32_t id);

#endif
