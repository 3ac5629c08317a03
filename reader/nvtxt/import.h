/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - adds the events of NVTXT files to a finished report, as those that a program makes by
 * NVTX.
 *
 * Events belong to the process with their pid that had begun by then; a pid that the report does
 * not know, or whose process has no receipt (yet), gets a process of its own, which says what file
 * it comes from. Receipts are told again,
 * with the events added. Nothing is written before append_commit(). One thread; allocates.
 */
#ifndef READER_NVTXT_IMPORT_H
#define READER_NVTXT_IMPORT_H

#include "reader/file/append.h"
#include "reader/nvtxt/file.h"
#include "reader/report/contents.h"

/* A file, resolved, and what it added. */
struct nvtxt_import {
	struct nvtxt_file *file;
	const char *name; /* without its folder */
	uint64_t marks, ranges, names;
};

/* Takes all files in: 0, -ENOMEM, -EOVERFLOW (no more ids). */
int nvtxt_import(struct append *a, struct contents *c, struct nvtxt_import *imports, size_t count);

/* The report holds the events of a file with this content. */
bool nvtxt_is_imported(const struct contents *c, const struct nvtxt_file *f);

#endif
