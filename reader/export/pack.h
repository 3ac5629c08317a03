/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.h - output stream that compresses with zstd, as in .ncu-repz.
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_PACK_H
#define READER_EXPORT_PACK_H

#include <stdio.h>

/* Return a stream that writes to `to`, which the caller keeps. fclose() writes the end of the
 * frame; it returns EOF with errno if that fails. Returns NULL with errno on failure. */
FILE *pack_open(FILE *to);

#endif
