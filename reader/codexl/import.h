/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - a report made of text files of CodeXL: what lines say becomes rows of codexl.def, perf
 * markers become NVTX ranges, and the header what is told of session and process.
 *
 * One thread; allocates; the blocks are held until they are written.
 */
#ifndef READER_CODEXL_IMPORT_H
#define READER_CODEXL_IMPORT_H

#include "reader/codexl/file.h"
#include "reader/file/append.h"

/* A file, read to its end without error. */
struct codexl_import {
	struct codexl_file *file;
	const char *name; /* without its folder */
	uint64_t events;  /* rows that it became */
};

/*
 * The bytes of the report, which become the caller's to free(). At most one file of each format;
 * they are taken as files of one session. 0, -ENOMEM, -EOVERFLOW (no more ids).
 */
int codexl_import(
	struct codexl_import *imports, size_t count, uint8_t **ret_data, size_t *ret_bytes);

#endif
