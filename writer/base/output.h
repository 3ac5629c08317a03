/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - output to the report file: the block that is being filled, and its writing.
 *
 * Functions return 0 or a negative errno. -ENOSPC, -EDQUOT, -EFBIG and -EIO may be temporary: the
 * block is kept, and the same call may be repeated later. One thread; blocks on the disk.
 */
#ifndef WRITER_BASE_OUTPUT_H
#define WRITER_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "writer/report/block.h"
#include "writer/report/sink.h"
#include "writer/report/strings.h"

struct writer;

struct output {
	char path[4096];
	struct sink sink;
	struct block block; /* being filled, or sealed */
	struct strings strings;
	uint64_t next_sequence;
	bool is_sealed;  /* the block waits to be written; nothing may be added */
	bool has_header; /* block 0 is in the file */
	char hostname[256], process_name[1024], producer[32];
	const Libtrace__SessionDetails *session; /* fields of block 0 only */
};

/* Write the block, advance the tails of the lanes that are in it, and report the state of the file
 * in the control page. `last`: the block may use the space that is reserved for the last block. */
int writer_flush(struct writer *w, bool last);

/* Drop the block that could not be written: its records stay in the spools. From then on, only
 * notes may be added. */
void writer_discard(struct writer *w);

/* Write the block if it has no room for the largest output of one chunk of a spool. */
int writer_make_room(struct writer *w);

#endif
