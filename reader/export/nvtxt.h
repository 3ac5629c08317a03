/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtxt.h - NVTX events as NVTXT, NVIDIA's text form of them.
 *
 * What is written NVIDIA's ImportNvtxt accepts, and `trace import` reads back whole: what NVTXT has
 * no place for stands in comments (reader/nvtxt/note.h). Events come in the order of their start;
 * nothing is held besides the cursor's blocks. One thread; errors of the stream stay with it.
 */
#ifndef READER_EXPORT_NVTXT_H
#define READER_EXPORT_NVTXT_H

#include <stdio.h>

#include "reader/report/cursor.h"

/* What became of the events. */
struct nvtxt_tally {
	uint64_t written[SCHEMA_KINDS];             /* by kind */
	uint64_t left_out[SCHEMA_KINDS];            /* of kinds that NVTXT has no place for */
	uint64_t lost[SCHEMA_KINDS][SCHEMA_FIELDS]; /* values of columns, by place in the schema */
	uint64_t noted;                             /* events with a comment */
	uint64_t changed;                           /* texts that others read changed */
	uint64_t ids; /* left out: of processes or threads above NVTXT_IDS_MAX */
};

/*
 * Writes the events that the cursor's filter lets through; the contents behind it are read, and the
 * cursor has noted all blocks. `name` is that of the report. 0 or a negative errno.
 */
int nvtxt_write(FILE *out, struct cursor *cursor, const char *name, struct nvtxt_tally *ret_tally);

#endif
