/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - the events of a report as slices, moments and counters of lanes, in order of their
 * start, for viewers of timelines. timeline.def says what has a place there.
 *
 *   timeline_init(); contents_read() with timeline_visit_block(), timeline_visit_batch();
 *   timeline_start(); timeline_next() ...; timeline_release()
 *
 * Of equal starts the longest comes first, so that what lies in something comes behind it. Memory:
 * that of cursor.h, of the lanes, and of every name used. One thread; allocates.
 */
#ifndef READER_EXPORT_TIMELINE_TIMELINE_H
#define READER_EXPORT_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/export/timeline/tracks.h"
#include "reader/export/ncu/ncu.h"
#include "reader/nvtx/payloads.h"
#include "reader/report/cursor.h"
#include "reader/symbols/symbols.h"

/* Rows of one start that are put in order; of more the order is that of the file. */
#define TIMELINE_EQUALS_MAX 256u

enum timeline_shape { TIMELINE_SLICE, TIMELINE_MOMENT, TIMELINE_COUNTER };

/* How events of a kind are shown: a row of timeline.def. Places are those of a row's values. */
struct timeline_kind {
	bool is_shown;
	enum timeline_shape shape;
	enum lane_kind lane;
	const char *category;
	uint32_t name; /* place of the column */
	int duration;  /* -1 = none; so are those below */
	int correlation, device, context, stream, domain, chain;
	bool is_numeric[SCHEMA_FIELDS]; /* its values have no names */
	uint8_t args[SCHEMA_FIELDS];    /* places of columns that say more */
	uint32_t arg_count;
};

/* A name: `number` counts from 1 in order of first use, and stays. */
struct timeline_name {
	uint32_t number;
	struct string_ref text;
};

struct timeline_item {
	const struct timeline_kind *kind;
	const struct event_row *row;
	struct lane *lane;
	uint64_t start_ns, duration_ns;
	uint64_t correlation; /* joins a call and what the device did for it; 0 = none */
	bool is_call;         /* the outermost call of that correlation */
	struct timeline_name name;
	bool is_real; /* of a counter: `real`, else `integer` is its value */
	double real;
	int64_t integer;
};

enum timeline_value_kind {
	TIMELINE_NOTHING,
	TIMELINE_INT,
	TIMELINE_UINT,
	TIMELINE_HEX,
	TIMELINE_REAL,
	TIMELINE_TEXT,
	TIMELINE_JSON /* an extended payload: timeline_payload() */
};

/* What a column says. */
struct timeline_value {
	enum timeline_value_kind kind;
	uint64_t number;
	double real;
	struct string_ref text;
};

struct timeline_thread {
	uint32_t name; /* Strings id */
	uint64_t ns;
	bool by_program;
};

struct timeline {
	struct cursor cursor;
	struct contents contents;
	struct symbols symbols;
	struct nvtx_payloads payloads;
	struct lanes lanes;
	struct timeline_kind kinds[SCHEMA_KINDS];
	struct event_row *rows; /* of the start at hand, and the one behind them */
	struct timeline_group {
		uint32_t order[TIMELINE_EQUALS_MAX + 1]; /* places in rows */
		uint32_t count, taken;
		uint32_t ahead; /* place of the row behind; count + 1 rows are held */
		bool has_ahead;
	} group;
	struct map name_numbers;
	struct string_ref *names; /* by number - 1 */
	uint32_t name_count, name_capacity;
	struct pool texts;
	struct ncu_devices *devices;
	struct map thread_numbers, counter_names;
	struct timeline_thread *threads;
	uint32_t thread_count, thread_capacity;
	/* As in contents_visitor, for each block when its events' turn comes; may be NULL. */
	int (*loaded)(void *user, const struct report_block *block);
	void *user;
	uint64_t loads;                  /* of the cursor, that `loaded` knows of */
	uint64_t left_out[SCHEMA_KINDS]; /* rows, by kind */
	uint64_t steps;                  /* that timeline_is_step() found */
	uint64_t crossed;                /* slices left out: too many lay across each other */
	uint64_t no_value;               /* samples of counters left out: they have no number */
	char text[SCHEMA_FLAGS_BYTES];   /* of the value asked for last */
};

/* 0 or -ENOMEM. The report, and `symbol_path`, live longer. */
int timeline_init(struct timeline *t, const struct report *report, const char *symbol_path);
void timeline_release(struct timeline *t);

/* For contents_read(): 0 or a negative errno. */
int timeline_visit_block(struct timeline *t, const struct report_block *block);
int timeline_visit_batch(struct timeline *t, const struct event_batch *batch);

void timeline_start(struct timeline *t);

/* The next one: 1, 0 at the end, or a negative errno. It holds until the next call. */
int timeline_next(struct timeline *t, struct timeline_item *ret_item);

/* The name of an item whose kind and row are set. 0 or -ENOMEM. */
int timeline_name_find(
	struct timeline *t, const struct timeline_item *i, struct timeline_name *ret_name);

/* The payload in column `place`, as the column before it says. */
void timeline_number(const struct event_row *row, uint32_t place, struct timeline_value *v);

/* What column `place` of the row says; TIMELINE_NOTHING where that is nothing. A text holds until
 * the next call. */
void timeline_value(
	struct timeline *t, const struct event_row *row, uint32_t place, struct timeline_value *v);

/* Prints the extended payload in column `place` as JSON. */
void timeline_payload(struct timeline *t, FILE *out, const struct event_row *row, uint32_t place);

/* The name of a thread, "" = none; of a counter lane. */
struct string_ref timeline_thread_name(
	const struct timeline *t, const struct process *process, uint32_t tid);
struct string_ref timeline_counter_name(const struct timeline *t, const struct lane *lane);

/* Is it a range of a thread whose text this pattern of a shell matches? NULL matches none. Ask once
 * for each item: it is counted. */
bool timeline_is_step(struct timeline *t, const struct timeline_item *i, const char *steps);

/* Did several processes call CUDA? Correlation ids are those of a process. */
bool timeline_several(const struct timeline *t);

/* The name of the program without folders; never NULL. */
const char *timeline_program(const struct process *process);

#endif
