/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - the lines of a text file that somebody else wrote: of any length, and any bytes.
 *
 * One thread; allocates two buffers; blocks on the file.
 */
#ifndef READER_BASE_LINES_H
#define READER_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES_MAX (1u << 20)

struct lines_visitor {
	void *user;
	/* A line without its end, valid until the call returns; of one that is longer than
	 * LINE_BYTES_MAX that much. 0, or a negative errno that ends the reading. */
	int (*line)(void *user, const char *line, size_t bytes, bool too_long);
};

struct lines_sum {
	uint64_t bytes; /* read */
	uint32_t crc;   /* their CRC-32C */
};

/* Reads the descriptor, which stays open, to its end. 0, -EILSEQ where the begin of the file is
 * no text (bytes that no text has), or another negative errno. */
int lines_read(int fd, const struct lines_visitor *v, struct lines_sum *ret_sum);

#endif
