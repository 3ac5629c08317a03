/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopted.h - the state of processes and lanes in the report of a killed writer, for the writer
 * that continues it.
 *
 * All zero = there was no predecessor. One thread; allocates: if memory is short, a process or lane
 * is not found again.
 */
#ifndef WRITER_BASE_ADOPTED_H
#define WRITER_BASE_ADOPTED_H

#include <stdbool.h>
#include <stdint.h>

#include "report.pb-c.h"

struct known;
struct lane_view;
struct spool;
struct writer;

struct adopted_process {
	uint32_t id, pid;
	char spool[64];
	bool is_finished; /* its receipt is in the report */
};

struct adopted {
	Libtrace__LanePosition *lanes;
	uint32_t lane_count, lane_capacity;
	struct adopted_process *processes;
	uint32_t process_count, process_capacity;
};

/* Remember an entry of the report. */
void adopted_add_position(struct adopted *a, const Libtrace__LanePosition *p);
void adopted_add_process(struct adopted *a, struct known *known, const Libtrace__Process *p);
void adopted_add_receipt(struct adopted *a, const struct known *known, const Libtrace__Receipt *r);

/* Forget all processes and lanes. */
void adopted_clear(struct adopted *a);

/* Return the process of the spool; NULL if the report has none. Valid until a process is added. */
const struct adopted_process *adopted_find(const struct writer *w, const struct spool *spool);

/* Set the position of a new lane to the position at which the predecessor stopped. */
void adopted_apply(struct writer *w, const struct spool *spool, struct lane_view *view);

#endif
