/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - import of NVTXT files into a finished report, as NVTX events of the program.
 *
 * An event belongs to the process with its pid; if the pid was reused, to the last process that had
 * started by the time of the event. A process is added for a pid that is not in the report, or
 * whose process has no receipt yet; it is named after the NVTXT file that contains its pid.
 * Receipts are rewritten with the added events. Nothing is written before append_commit(). One
 * thread; allocates.
 */
#ifndef READER_NVTXT_IMPORT_H
#define READER_NVTXT_IMPORT_H

#include "reader/file/append.h"
#include "reader/nvtxt/file.h"
#include "reader/report/contents.h"

/* A resolved file, and the numbers of events added from it. */
struct nvtxt_import {
	struct nvtxt_file *file;
	const char *name; /* file name without its folder */
	uint64_t marks, ranges, names;
};

/* Append the events of all files. Returns 0, -ENOMEM, or -EOVERFLOW if string ids are exhausted. */
int nvtxt_import(struct append *a, struct contents *c, struct nvtxt_import *imports, size_t count);

/* Return true if the events of a file with these contents are already in the report. */
bool nvtxt_is_imported(const struct contents *c, const struct nvtxt_file *f);

#endif
