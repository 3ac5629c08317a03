/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - reader for the lines of an untrusted text file: lines of any length, any bytes.
 *
 * One thread; allocates two buffers; may block on the file.
 */
#ifndef READER_BASE_LINES_H
#define READER_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES_MAX (1u << 20)

struct lines_visitor {
	void *user;
	/* Called for each line, without its line end; `line` is valid until the call returns. A
	 * line longer than LINE_BYTES_MAX is cut there and has `too_long` set. Returns 0, or a
	 * negative errno that stops lines_read(). */
	int (*line)(void *user, const char *line, size_t bytes, bool too_long);
};

struct lines_sum {
	uint64_t bytes; /* bytes read */
	uint32_t crc;   /* CRC-32C of these bytes */
};

/* Read the descriptor to its end and leave it open. Returns 0, -EILSEQ if the file begins with
 * bytes that no text contains, or another negative errno. */
int lines_read(int fd, const struct lines_visitor *v, struct lines_sum *ret_sum);

#endif
