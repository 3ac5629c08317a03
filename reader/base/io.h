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

int io_write(int fd, const void *data, size_t bytes);
int io_write_at(int fd, const void *data, size_t bytes, uint64_t offset);
int io_read_at(int fd, void *ret_data, size_t bytes, uint64_t offset);

#endif
