/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - the report file: whole blocks or nothing.
 *
 * Life: sink_create() or sink_adopt(), sink_append() any number of times, sink_close(). While open
 * the file is locked (flock LOCK_EX), so a reader can see that it is still being written, and space
 * for a last block of SINK_RESERVE_BYTES is kept allocated behind its end. A block that cannot be
 * written whole leaves the file as it was. One thread. Blocks on the disk.
 */
#ifndef WRITER_SINK_H
#define WRITER_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define SINK_RESERVE_BYTES 65536u

struct sink {
	int fd; /* -1 = closed */
	uint64_t inode;
	uint64_t end;      /* of the last whole block */
	uint64_t reserved; /* space is allocated up to here */
	bool no_reserve;   /* the file system cannot allocate ahead */
};

/*
 * Creates the file, mode 0600; with `overwrite` what has its name is replaced by rename, never
 * written into. Returns 0, -EEXIST, -EISDIR / -EINVAL when it is no regular file, -EBUSY when
 * another writer has it, or what the system says. The caller writes the file header.
 */
int sink_create(struct sink *sink, const char *path, bool overwrite);

/* Opens an existing report to go on behind its first `end` bytes, to which sink_adopt_at() cuts it.
 * Errors as above, -ENOENT; -EPERM: a file of another user, or one with a second name, unless it is
 * the file with that inode, which a writer of the tree has made (0 = none). */
int sink_open(struct sink *sink, const char *path, uint64_t inode);
int sink_adopt_at(struct sink *sink, uint64_t end);

/*
 * Appends by one write. `last` may use the reserve. Returns 0, or a negative errno with the file as
 * before: -ENOSPC, -EDQUOT, -EFBIG and -EIO may pass, so try again later.
 */
int sink_append(struct sink *sink, const struct iovec *parts, int count, bool last);

/* Gives back what is reserved, and the lock. */
void sink_close(struct sink *sink);

#endif
