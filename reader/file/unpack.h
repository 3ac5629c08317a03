/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack.h - decompression of reports that are compressed as a whole by zstd (.ncu-repz).
 *
 * Readers need random access, so the report is decompressed into an unnamed file in TMPDIR, else
 * /var/tmp, which disappears when it is closed. Memory depends on the window of the compressor: at
 * most 2^UNPACK_WINDOW_LOG bytes. One thread; allocates; may block on the disk.
 */
#ifndef READER_FILE_UNPACK_H
#define READER_FILE_UNPACK_H

#include <stdbool.h>

#include "reader/file/source.h"

#define UNPACK_WINDOW_LOG 27 /* 128 MiB, the default limit of the zstd command */
#define UNPACK_BYTES_MAX (64ull << 30)

/* Return true if the source begins with a zstd frame. */
bool source_is_packed(const struct source *s);

/* Decompress the file and replace the source by the result. The result is limited to
 * UNPACK_BYTES_MAX and half of the free space of the temporary folder, so that a hostile file
 * cannot fill the disk. Returns 0; -EBADMSG, with the cause, if the data is damaged, truncated or
 * too large; or another negative errno, with a cause or NULL. */
int source_unpack(struct source *s, const char **ret_cause);

#endif
