/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io.h - read or write a whole buffer, repeating the system call as often as needed.
 *
 * Functions return 0, -EIO at the end of the file, or another negative errno. Any thread; may block
 * on the disk.
 */
#ifndef READER_BASE_IO_H
#define READER_BASE_IO_H

#include <stddef.h>
#include <stdint.h>

/* Write all bytes at the position of the descriptor. */
int io_write(int fd, const void *data, size_t bytes);
/* Write all bytes at `offset`; the position of the descriptor does not change. */
int io_write_at(int fd, const void *data, size_t bytes, uint64_t offset);
/* Read exactly `bytes` at `offset`; the position of the descriptor does not change. */
int io_read_at(int fd, void *ret_data, size_t bytes, uint64_t offset);

#endif
