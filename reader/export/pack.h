/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.h - a stream that compresses by zstd what is written to it, as .ncu-repz is.
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_PACK_H
#define READER_EXPORT_PACK_H

#include <stdio.h>

/* Writes go to `to`, which stays the caller's; fclose() writes the end of the frame, and says by
 * EOF and errno when that failed. NULL with errno. */
FILE *pack_open(FILE *to);

#endif
