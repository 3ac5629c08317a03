/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack.h - reports that were compressed as a whole by zstd (.ncu-repz).
 *
 * Readers look at any place of a report, so it is unpacked into a file without a name, in TMPDIR,
 * else /var/tmp, that is gone when it is closed. Memory follows the window that the packer used: at
 * most UNPACK_WINDOW_LOG. One thread; allocates; blocks on the disk.
 */
#ifndef READER_FILE_UNPACK_H
#define READER_FILE_UNPACK_H

#include <stdbool.h>

#include "reader/file/source.h"

#define UNPACK_WINDOW_LOG 27 /* 128 MiB, as the zstd command takes without being told */
#define UNPACK_BYTES_MAX (64ull << 30)

/* Does the source begin as what zstd has packed? */
bool source_is_packed(const struct source *s);

/* Unpacks a file and takes its place. At most UNPACK_BYTES_MAX, and half of what is free in that
 * folder, so that a file made to fill the disk does not. 0; -EBADMSG for what is damaged, cut off
 * or too large, with the cause; or another negative errno, with a cause or NULL. */
int source_unpack(struct source *s, const char **ret_cause);

#endif
