/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_row.h - a row of an event with a duration, built column by column and recorded as it is
 * (REC_ROW, REC_PAST_ROW): for sources whose events are many kinds of things with many columns.
 *
 * The event must be one of writer/lane/plain_rows.c. Owning thread of the lane, with thread.busy
 * set; names take a lock (names.h), nothing else.
 */
#ifndef TRACER_CORE_PLAIN_ROW_H
#define TRACER_CORE_PLAIN_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "tracer/core/lane.h"
#include "tracer/core/names.h"

enum plain_event {
#define EVENT(number, id, name, title) PLAIN_##id = number,
#include "common/schema/events.def"
};
enum plain_column {
#define FIELD(event_id, number, id, column, kind, encoding, title) \
	COLUMN_##event_id##_##id = number,
#include "common/schema/events.def"
};

#define PLAIN_FIRST 3 /* number of the first column of a record, after time and duration */

struct plain_row {
	uint64_t columns[ROW_COLUMNS_MAX];
	uint32_t names; /* bit i: columns[i] is a name */
	uint32_t count;
};

/* Set a column; those that are not set are 0. */
static inline void plain_set(struct plain_row *r, enum plain_column column, uint64_t value)
{
	uint32_t i = (uint32_t)column - PLAIN_FIRST;
	r->columns[i] = value;
	if (r->count <= i)
		r->count = i + 1;
}

/* Set a column of signed numbers. */
static inline void plain_set_signed(struct plain_row *r, enum plain_column column, int64_t value)
{
	plain_set(r, column, (uint64_t)value);
}

/* Set a column to a text; NULL = none. */
static inline void plain_set_text(struct plain_row *r, enum plain_column column, const char *text)
{
	plain_set(r, column, names_ref_of(text));
	r->names |= 1u << ((uint32_t)column - PLAIN_FIRST);
}

/* Set a column to a name; NULL = none. */
static inline void plain_set_name(struct plain_row *r, enum plain_column column, struct name *name)
{
	plain_set(r, column, names_ref(name));
	r->names |= 1u << ((uint32_t)column - PLAIN_FIRST);
}

/* Record the row, whose event begins at `tick` and ends `ticks` later. Return false if it was
 * dropped; the drop is counted. */
static inline bool plain_put(struct thread *t, enum plain_event event, uint64_t tick,
	uint64_t ticks, const struct plain_row *r)
{
	return lane_put(t, tick, REC_ROW, (uint64_t)event << 32 | r->names, ticks, r->columns,
		r->count * sizeof(r->columns[0]));
}

/* Record a row that began `ns_ago` before `tick` and lasted `ns`. */
static inline bool plain_put_past(struct thread *t, enum plain_event event, uint64_t tick,
	uint64_t ns_ago, uint64_t ns, const struct plain_row *r)
{
	uint64_t words[ROW_COLUMNS_MAX + 1] = {ns_ago};
	for (uint32_t i = 0; i < r->count; i++)
		words[i + 1] = r->columns[i];
	return lane_put(t, tick, REC_PAST_ROW, (uint64_t)event << 32 | r->names, ns, words,
		(r->count + 1) * sizeof(words[0]));
}

#endif
