/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - files whose paths were recorded (option file access), and the calls that used them:
 * rows of OSRT_FILE_ACCESS_DESCRIPTORS and OSRT_FILE_ACCESS_EVENTS.
 *
 * Memory: 40 bytes for each file opened in the current report. One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_FILES_H
#define READER_EXPORT_SQLITE_FILES_H

#include <stdint.h>

#include "reader/export/sqlite/decoded.h"
#include "reader/base/map.h"

struct sqlite_export;

/* A file that was open under a descriptor. */
struct opened_file {
	uint32_t process, path; /* ids in the report */
	uint32_t id;            /* fileAccessId */
	int64_t descriptor;
	uint64_t open_ns, close_ns; /* `close_ns` 0 = not known */
};

struct opened_files {
	uint32_t next_id; /* next fileAccessId */

	/* per-report state */
	struct opened_file *rows; /* sorted by process, descriptor and time */
	uint32_t count, capacity;
	struct map types; /* string id of a function -> kind of access + 1 */
};

/* Collect the files that a batch opens, in the first pass. Returns 0 or -ENOMEM. */
int files_collect(struct sqlite_export *x, const struct event_batch *b);

/* Sort the files, determine in a pass of its own when each was closed, and add their rows. Returns
 * 0 or a negative errno. */
int files_find(struct sqlite_export *x);

/* Add a row for a call that used one of the files. Returns 0 or a negative errno. */
int files_call(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row);

/* Forget the files of a report. */
void files_report_end(struct opened_files *f);
void files_release(struct opened_files *f);

#endif
