/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - events.def as tables: the kinds of events and the meaning of their columns.
 *
 * Constant data; any thread. Commands and exporters are driven by column kinds and do not depend on
 * single events.
 */
#ifndef READER_FILE_SCHEMA_H
#define READER_FILE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT(number, id, name, title) KIND_##id = number,
enum event_number {
#include "common/schema/events.def"
	KIND_END
};
#define FIELD(event_id, number, id, column, kind, encoding, title) FIELD_##event_id##_##id = number,
enum field_number {
#include "common/schema/events.def"
	FIELD_END
};
#define SCHEMA_KINDS 128u
#define SCHEMA_FIELDS 48u
_Static_assert((int)KIND_END <= (int)SCHEMA_KINDS, "tables of event kinds are too small");

enum field_kind {
	FIELD_KIND_TIME,
	FIELD_KIND_DURATION,
	FIELD_KIND_INT,
	FIELD_KIND_UINT,
	FIELD_KIND_HEX,
	FIELD_KIND_CODE, /* return address in the program, whose function and line are shown */
	FIELD_KIND_STRING,
	FIELD_KIND_BYTES,
	FIELD_KIND_FUNCTION,
	FIELD_KIND_SYMBOL,
	FIELD_KIND_ERRNO,
	FIELD_KIND_FLAGS,
	FIELD_KIND_CALLCHAIN,
	FIELD_KIND_METHOD,
	FIELD_KIND_PAYLOAD,
	FIELD_KIND_PAYLOAD_TYPE,
	FIELD_KIND_PROTOTYPE,
	FIELD_KIND_WORD_COUNT,
	FIELD_KIND_WORD
};

#define PAYLOAD(number, id, name) PAYLOAD_##id = number,
enum payload_type {
#include "common/schema/events.def"
};

#define NAMED(number, id, name) NAMED_##id = number,
enum named_thing {
#include "common/schema/events.def"
};

struct schema_field {
	uint32_t event, number;
	const char *column;
	enum field_kind kind;
	const char *title;
};

struct schema_event {
	uint32_t number;
	const char *name, *title;
	uint32_t field_count;
	const struct schema_field
		*fields; /* in the order of events.def; field 0 is the start time */
};

/* Return the event kind with this number, or NULL if this version does not know it. */
const struct schema_event *schema_event(uint32_t number);
const struct schema_event *schema_event_named(const char *name);

/* Return the index in `fields` of the first column of this kind; -1 = none. */
int schema_column(const struct schema_event *event, enum field_kind kind);

/* Return the index in `fields` of the column with this number, which the event must have. */
uint32_t schema_column_index(const struct schema_event *event, uint32_t number);

/* Return the event kind at an index, in the order of events.def; NULL after the last kind. */
const struct schema_event *schema_event_at(uint32_t index);

/* Return the name of a reason in a DROP row; "?" for unknown numbers. */
const char *schema_drop(uint64_t number);

/* Return the text of a VERDICT row, why a program is not traced; "?" for unknown numbers. */
const char *schema_verdict(uint64_t number);

/* Return the name of a value, such as a reason, a verdict or the way a child started; NULL if
 * values of this column have no names. */
const char *schema_value_name(const struct schema_field *field, int64_t value);

/* Write the names of the flags of a FLAGS column, separated by commas; at most
 * SCHEMA_FLAGS_BYTES. */
#define SCHEMA_FLAGS_BYTES 96u
void schema_flag_names(uint64_t value, char *out);

/* Return true for a column, other than the start of the row, that holds a time of the session
 * clock. 0 in such a column means not known. */
bool schema_is_moment(const struct schema_field *field);

#endif
