/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - conversion of text files of CodeXL to a report. Lines become rows of codexl.def, perf
 * markers become NVTX ranges, and the header becomes the description of session and process.
 *
 * One thread; allocates; all blocks are kept in memory.
 */
#ifndef READER_CODEXL_IMPORT_H
#define READER_CODEXL_IMPORT_H

#include "reader/codexl/file.h"
#include "reader/file/append.h"

/* A file that was read to its end without an error. */
struct codexl_import {
	struct codexl_file *file;
	const char *name; /* file name without its folder */
	uint64_t events;  /* number of rows added for the file */
};

/*
 * Convert files of one session, at most one of each format. Returns 0 with the bytes of the report,
 * which the caller frees with free(); -ENOMEM; or -EOVERFLOW if string ids are exhausted.
 */
int codexl_import(
	struct codexl_import *imports, size_t count, uint8_t **ret_data, size_t *ret_bytes);

#endif
