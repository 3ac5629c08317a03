/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - events of a report as slices, moments and counters on tracks, in order of their
 * start, for viewers of timelines. timeline.def lists the events that are shown.
 *
 *   timeline_init(); timeline_read(); timeline_next() ...; timeline_release()
 *
 * Of items with the same start, the longest is first, so a nested slice follows the slice around
 * it. Memory: as cursor.h, plus the tracks and all names used. One thread; allocates.
 */
#ifndef READER_EXPORT_TIMELINE_TIMELINE_H
#define READER_EXPORT_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/export/timeline/cuda_waits.h"
#include "reader/export/timeline/log_events.h"
#include "reader/export/timeline/tracks.h"
#include "reader/export/gpus.h"
#include "reader/export/ncu/ncu.h"
#include "reader/nvtx/payloads.h"
#include "reader/report/cursor.h"
#include "reader/symbols/symbols.h"

/* Maximum number of rows with the same start that are sorted; more rows stay in the order of
 * the file. */
#define TIMELINE_EQUALS_MAX 256u

#define TIMELINE_GPUS_MAX 256u /* GPUs with greater numbers have no properties */

enum timeline_shape { TIMELINE_SLICE, TIMELINE_MOMENT, TIMELINE_COUNTER };

/* Form in which events of a kind are shown: a row of timeline.def. Columns are given by their index
 * in a row. */
struct timeline_kind {
	bool is_shown;
	enum timeline_shape shape;
	enum track_kind track;
	const char *category;
	uint32_t name; /* index of the column */
	int duration;  /* index of the column, -1 = none; likewise below */
	int correlation, device, context, stream, domain, chain;
	bool is_numeric[SCHEMA_FIELDS]; /* for each column: its values have no names */
	uint8_t args[SCHEMA_FIELDS];    /* indexes of the columns that are arguments */
	uint32_t arg_count;
	int reported;                    /* column that says which counters are known; -1 = all */
	uint8_t counters[SCHEMA_FIELDS]; /* of samples of the machine: numbers of the fields */
	uint32_t counter_count;
};

/* A name. `number` counts from 1 in order of first use, and never changes. */
struct timeline_name {
	uint32_t number;
	struct string_ref text;
};

struct timeline_item {
	const struct timeline_kind *kind;
	const struct event_row *row;
	struct track *track;
	uint64_t start_ns, duration_ns;
	uint64_t correlation; /* joins a call and the work that it started on a device; 0 = none */
	bool is_call;         /* outermost call with this correlation id */
	struct timeline_name name;
	bool is_real; /* value of a counter: `real`, else `integer` */
	double real;
	int64_t integer;
	bool is_repeated;       /* a further counter of the same row */
	const char *log_fields; /* of an event from a line of output: a JSON object; NULL = none */
};

enum timeline_value_kind {
	TIMELINE_NOTHING,
	TIMELINE_INT,
	TIMELINE_UINT,
	TIMELINE_HEX,
	TIMELINE_REAL,
	TIMELINE_TEXT,
	TIMELINE_JSON /* an extended payload, or words of a call: timeline_payload() */
};

/* Value of a column. */
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
	struct tracks tracks;
	struct timeline_kind kinds[SCHEMA_KINDS];
	struct event_row *rows; /* rows of the current start, and the next row */
	struct timeline_group {
		uint32_t order[TIMELINE_EQUALS_MAX + 1]; /* indexes in `rows` */
		uint32_t count, taken;
		bool has_ahead;   /* the next row has been read: `rows` has count + 1 elements */
		uint32_t counter; /* number of counters of the next row that were returned */
	} group;
	struct map name_numbers;
	struct string_ref *names; /* indexed by number - 1 */
	uint32_t name_count, name_capacity;
	struct pool texts;
	struct ncu_devices *devices;
	struct gpus *gpus; /* numbers of devices on tracks */
	struct map thread_numbers, counter_names;
	struct timeline_thread *threads;
	uint32_t thread_count, thread_capacity;
	struct log_moments logs;
	struct cuda_waits waits;
	struct timeline_kind log_kind;          /* of events from lines of output */
	bool has_ended;                         /* all rows were read */
	const struct contents_visitor *visitor; /* of timeline_read() */
	uint64_t items;                         /* items that timeline_next() returned */
	uint64_t loads;                  /* loads of the cursor that the visitor was called for */
	uint64_t left_out[SCHEMA_KINDS]; /* rows that were not shown, by kind */
	uint64_t steps;                  /* steps that timeline_is_step() found */
	uint64_t crossed;                /* slices left out because too many overlap without
					  * nesting */
	uint64_t no_value;               /* samples of counters left out because they have no
					  * value */
	char text[SCHEMA_FLAGS_BYTES];   /* buffer of the last value returned */
};

/* Initialize. The report and `symbol_path` must outlive `t`. Returns 0 or -ENOMEM; release it in
 * either case. */
int timeline_init(struct timeline *t, const struct report *report, const char *symbol_path);
void timeline_release(struct timeline *t);

/* Read the report once, and begin the items. `visitor` must outlive `t`: its `block` is called
 * again as items are read. Returns 0 or a negative errno. */
int timeline_read(struct timeline *t, const struct contents_visitor *visitor);

/* Show CPU samples, too, as moments of their threads. Call this before timeline_next(). */
void timeline_show_samples(struct timeline *t);

/* Collect names, devices and payloads from a batch, in the first pass. Returns 0 or a negative
 * errno. */
int timeline_visit_batch(struct timeline *t, const struct event_batch *batch);

/* Return the next item, which is valid until the next call. Returns 1, 0 at the end, or a negative
 * errno. */
int timeline_next(struct timeline *t, struct timeline_item *ret_item);

/* Find the name of an item whose kind and row are set. Returns 0 or -ENOMEM. */
int timeline_name_find(
	struct timeline *t, const struct timeline_item *i, struct timeline_name *ret_name);

/* Find the name of this text, which is terminated. Returns 0 or -ENOMEM. */
int timeline_name_of_text(struct timeline *t, const char *text, struct timeline_name *ret_name);

/* Read the payload in a column, by the type in the column before it. */
void timeline_number(const struct event_row *row, uint32_t index, struct timeline_value *v);

/* Read the value of a column; TIMELINE_NOTHING if there is nothing to show. A text is valid until
 * the next call. */
void timeline_value(
	struct timeline *t, const struct event_row *row, uint32_t index, struct timeline_value *v);

/* Print the extended payload in a column, or the words of a call, as JSON. */
void timeline_payload(struct timeline *t, FILE *out, const struct event_row *row, uint32_t index);

/* Return the name of a thread, or of a counter track; "" = none. */
struct string_ref timeline_thread_name(
	const struct timeline *t, const struct process *process, uint32_t tid);
struct string_ref timeline_counter_name(const struct timeline *t, const struct track *track);

/* Return true if the item is a push/pop range whose text matches this shell pattern, and count it:
 * call this once per item. NULL matches nothing. */
bool timeline_is_step(struct timeline *t, const struct timeline_item *i, const char *steps);

/* Return the columns of a device (cuda_device) that is the GPU of this number, or NULL. */
const uint64_t *timeline_gpu(const struct timeline *t, uint32_t number);

/* Return true if several processes called CUDA, so that correlation ids are not unique. */
bool timeline_several(const struct timeline *t);

#endif
