/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_thread.h - a thread of a profile of Firefox, with tables of its own: texts, frames,
 * stacks (callchains), and rows of samples and markers, which are written column by column.
 *
 * A track that is not of one thread (a stream of a device, start/end ranges of a process) is shown
 * as a thread. One thread; allocates; rows are in a temporary file.
 */
#ifndef READER_EXPORT_TIMELINE_FIREFOX_THREAD_H
#define READER_EXPORT_TIMELINE_FIREFOX_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/base/map.h"
#include "reader/export/temporary_stream.h"
#include "reader/report/processes.h"
#include "reader/stats/profile.h"

enum firefox_row_kind { FIREFOX_SAMPLE, FIREFOX_MOMENT, FIREFOX_SLICE };

/* A sample or marker. Its size divides that of a stream's buffer, so that no row is cut. */
struct firefox_row {
	uint64_t start_ns;
	uint64_t value_ns; /* of a sample: processor time; of a slice: duration */
	uint32_t name;     /* row of the text; of a sample: 0 */
	uint32_t stack;    /* row of the stack + 1; 0 = none */
	uint32_t category; /* of a marker: number of its kind of event */
	uint32_t kind;     /* enum firefox_row_kind */
};

struct firefox_stack {
	uint32_t frame, prefix; /* row of the frame; row of the stack around it + 1, 0 = none */
};

/* Texts and frames are found by the numbers of the profile that they are from. */
struct firefox_thread {
	const struct process *process;
	uint32_t tid, track; /* number of the track that is shown as a thread; 0 = a thread */
	const char *name, *process_name;
	struct map text_rows, frame_rows, stack_rows;
	const char **texts;
	uint32_t text_count, text_capacity;
	uint32_t *frames; /* frames of the profile */
	uint32_t frame_count, frame_capacity;
	struct firefox_stack *stacks;
	uint32_t stack_count, stack_capacity;
	uint64_t samples, markers;
	struct temporary_stream rows, data; /* `data`: what markers have besides, as JSON */
	uint64_t start_ns;                  /* times are written relative to it */
};

void firefox_thread_release(struct firefox_thread *t);

/* Return the row + 1 of a text, which must be in a pool and outlive `t`; 0 = out of memory. */
uint32_t firefox_text(struct firefox_thread *t, const char *text);

/* Return the row + 1 of the stack of a node of the profile's tree below `root`; 0 = out of memory,
 * or the root itself. */
uint32_t firefox_stack(
	struct firefox_thread *t, const struct profile *p, uint32_t root, uint32_t node);

/* Append a row. Returns 0 or a negative errno. */
int firefox_row_add(
	struct firefox_thread *t, struct temporary_file *file, const struct firefox_row *row);

/* Write the thread as a JSON object. Returns 0 or a negative errno. */
int firefox_thread_print(
	struct firefox_thread *t, struct temporary_file *file, const struct profile *p, FILE *out);

/* Print nanoseconds as milliseconds. */
void firefox_print_ms(FILE *out, uint64_t ns);

#endif
