/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - the report file: whole blocks or nothing.
 *
 * Use: sink_create(), or sink_open() and sink_adopt_at(); sink_append() any number of times;
 * sink_close(). While open, the file is locked (flock LOCK_EX), so a reader can see that it is
 * still being written, and space for a last block of SINK_RESERVE_BYTES is kept allocated after its
 * end. A block that cannot be written whole leaves the file as it was. One thread. Blocks on the
 * disk.
 */
#ifndef WRITER_REPORT_SINK_H
#define WRITER_REPORT_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define SINK_RESERVE_BYTES 65536u

struct sink {
	int fd; /* -1 = closed */
	uint64_t inode;
	uint64_t end;           /* end of the last whole block */
	uint64_t reserved;      /* space is allocated up to this offset */
	bool no_reserve;        /* the file system cannot allocate ahead */
	char *temporary, *path; /* the file's name, and the one that it gets with its first block;
				   NULL = it has its name */
};

/*
 * Create the file, mode 0600. With `overwrite`, a file of that name is replaced by rename(), never
 * written to; if the disk is full, not before a block can be written, or never. Return 0; -EEXIST;
 * -EISDIR, or -EINVAL if it is not a regular file; -EBUSY if another writer has it open; or a
 * negative errno of the system. The caller writes the file header.
 */
int sink_create(struct sink *sink, const char *path, bool overwrite);

/* Open an existing report, to continue it after its first `end` bytes; sink_adopt_at() truncates it
 * to them. Errors as above, and -ENOENT; -EPERM if the file belongs to another user or has a second
 * name, and is not the file with `inode`, which a writer of the tree created (0 = none). */
int sink_open(struct sink *sink, const char *path, uint64_t inode);
int sink_adopt_at(struct sink *sink, uint64_t end);

/*
 * Append the parts by one write(). `last`: the reserve may be used. Return 0, or a negative errno
 * with the file as before: -ENOSPC, -EDQUOT, -EFBIG and -EIO may be temporary, so try again later.
 */
int sink_append(struct sink *sink, const struct iovec *parts, int count, bool last);

/* Free the reserve, and unlock and close the file. */
void sink_close(struct sink *sink);

#endif
