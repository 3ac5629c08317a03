/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - splits an untrusted text file into lines. */
#include "reader/base/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/crc32c.h"

#define READ_BYTES (64u << 10)
#define BINARY_SHARE 16u /* a text has at most one control character in this many bytes */

struct lines {
	const struct lines_visitor *visitor;
	char *line; /* current line, LINE_BYTES_MAX bytes */
	size_t bytes;
	bool too_long;
};

static int line_end(struct lines *l)
{
	int error = l->visitor->line(l->visitor->user, l->line, l->bytes, l->too_long);
	l->bytes = 0;
	l->too_long = false;
	return error;
}

/* Append [at, end) to the line, up to LINE_BYTES_MAX. */
static void line_add(struct lines *l, const char *at, const char *end)
{
	size_t bytes = (size_t)(end - at), room = LINE_BYTES_MAX - l->bytes;
	l->too_long |= bytes > room;
	bytes = bytes > room ? room : bytes;
	memcpy(l->line + l->bytes, at, bytes);
	l->bytes += bytes;
}

static int piece_take(struct lines *l, const char *at, size_t bytes)
{
	const char *end = at + bytes, *newline;
	int error = 0;
	while (!error && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		line_add(l, at, newline);
		error = line_end(l);
		at = newline + 1;
	}
	if (!error)
		line_add(l, at, end);
	return error;
}

/* Return true if the bytes contain a NUL, or more control characters than a text. */
static bool is_binary(const char *at, size_t bytes)
{
	size_t odd = 0;
	for (size_t i = 0; i < bytes; i++) {
		if (!at[i])
			return true;
		odd += (unsigned char)at[i] < '\t' ||
			((unsigned char)at[i] > '\r' && (unsigned char)at[i] < ' ');
	}
	return odd > bytes / BINARY_SHARE;
}

int lines_read(int fd, const struct lines_visitor *v, struct lines_sum *ret_sum)
{
	struct lines l = {.visitor = v, .line = malloc(LINE_BYTES_MAX)};
	char *piece = malloc(READ_BYTES);
	int error = l.line && piece ? 0 : -ENOMEM;
	ssize_t n = 1;
	*ret_sum = (struct lines_sum){0};
	while (!error && n) {
		n = read(fd, piece, READ_BYTES);
		if (n < 0) {
			error = errno == EINTR ? 0 : -errno;
		} else if (!ret_sum->bytes && is_binary(piece, (size_t)n)) {
			error = -EILSEQ;
		} else {
			ret_sum->bytes += (uint64_t)n;
			ret_sum->crc = crc32c(ret_sum->crc, piece, (size_t)n);
			error = piece_take(&l, piece, (size_t)n);
		}
	}
	if (!error && (l.bytes || l.too_long))
		error = line_end(&l);
	free(piece);
	free(l.line);
	return error;
}
