/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtxt.h - NVTX events as NVTXT, NVIDIA's text format for them.
 *
 * NVIDIA's ImportNvtxt accepts the output, and `trace import` restores all events from it: comments
 * carry what NVTXT cannot represent (reader/nvtxt/note.h). Events are written in order of their
 * start. Memory: as cursor.h. One thread; errors remain set in the stream.
 */
#ifndef READER_EXPORT_NVTXT_H
#define READER_EXPORT_NVTXT_H

#include <stdio.h>

#include "reader/report/cursor.h"

/* Counts of events written, left out and changed. */
struct nvtxt_tally {
	uint64_t written[SCHEMA_KINDS];  /* indexed by kind */
	uint64_t left_out[SCHEMA_KINDS]; /* indexed by kind; NVTXT has no command for it */
	uint64_t lost[SCHEMA_KINDS][SCHEMA_FIELDS]; /* values that were lost, by column index in
						     * the schema */
	uint64_t noted;                             /* events with a comment */
	uint64_t changed;                           /* messages that readers other than `trace
						     * import` see changed */
	uint64_t ids; /* events left out because a process or thread id is above NVTXT_IDS_MAX */
};

/*
 * Write the events that the cursor's filter selects. The cursor's contents have been read and its
 * blocks added. `name` is the name of the report. Returns 0 or a negative errno.
 */
int nvtxt_write(FILE *out, struct cursor *cursor, const char *name, struct nvtxt_tally *ret_tally);

#endif
