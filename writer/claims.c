/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claims.c - what a spool may claim: no more than exists of it.
 *
 * A spool is hostile input. Its records may name any text of the file, any number of times and
 * overlapping each other, and its file may be far larger than its data. So what is written is
 * bounded by the data that the file holds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "writer/writer.h"

#define EXTENTS_MAX 65536 /* looked at; a file of more counts as far as these go */
#define TEXTS_PER_RECORD_BYTE                                                              \
	16u /* an honest text is written once, and again only where the table of texts had \
	       grown too large meanwhile */
#define BLOCK_TEXTS_MAX (16u << 20) /* of one lane's end, which is in one block */

uint64_t spool_data_bytes(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	off_t at = 0, bytes = 0;
	for (int i = 0; fd >= 0 && i < EXTENTS_MAX; i++) {
		off_t begin = lseek(fd, at, SEEK_DATA), end;
		if (begin < 0)
			break;
		end = lseek(fd, begin, SEEK_HOLE);
		if (end <= begin)
			break;
		bytes += end - begin;
		at = end;
	}
	if (fd < 0)
		return UINT64_MAX; /* not known: no descriptor to be had */
	close(fd);
	return (uint64_t)bytes;
}

static uint64_t texts_limit(const struct writer *w, const struct spool *spool)
{
	uint64_t data = spool_data_bytes(w->spools.dir_fd, spool->name), limit = data;
	for (uint32_t i = 0; data != UINT64_MAX && i < spool->lane_count; i++)
		limit += spool->lanes[i]->position * TEXTS_PER_RECORD_BYTE;
	return limit;
}

uint32_t spool_text_id(struct writer *w, struct spool *spool, const char *text, uint32_t bytes)
{
	const uint32_t next = w->strings.next_id;
	const uint64_t claimed = spool->text_bytes + bytes;
	if (claimed > spool->text_limit)
		spool->text_limit = texts_limit(w, spool);
	if (claimed > spool->text_limit || w->strings.pending_bytes > BLOCK_TEXTS_MAX) {
		spool->texts_refused++;
		return 0;
	}
	uint32_t id = strings_id(&w->strings, text, bytes);
	if (w->strings.next_id != next)
		spool->text_bytes = claimed;
	return id;
}
