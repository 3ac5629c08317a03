/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c - output of a block: sealing, appending to the file, advancing the tails of the lanes.
 */
#define _GNU_SOURCE
#include "writer/base/output.h"

#include <errno.h>

#include "writer/base/writer.h"
#include "writer/spool/lanes.h"

static int seal(struct writer *w)
{
	struct block_identity identity = {
		.sequence = w->report.next_sequence,
		.root_pid = w->control->root_pid,
		.hostname = w->report.hostname,
		.process_name = w->report.process_name,
		.producer = w->report.has_header ? NULL : w->report.producer,
		.session = w->report.has_header ? NULL : w->report.session,
	};
	int error = block_seal(&w->report.block, &w->report.strings, &identity);
	if (!error && w->report.block.broken)
		error = -ENOMEM;
	w->report.is_sealed = !error;
	return error;
}

static void set_sink_state(struct writer *w, enum sink_state state)
{
	__atomic_store_n(&w->control->sink_state, state, __ATOMIC_RELEASE);
}

/* Give the space of the records that are in the file back to their producers. */
static void tails_advance(struct writer *w)
{
	for (uint32_t i = 0; i < w->spools.count; i++) {
		struct spool *spool = w->spools.all[i];
		for (uint32_t j = 0; j < spool->lane_count; j++) {
			struct lane_view *view = spool->lanes[j];
			struct lane *lane = view->touched ? lane_of(spool, view) : NULL;
			if (lane)
				lane_tail_store(lane, view->position);
			view->touched = false;
		}
	}
	__atomic_add_fetch(&w->control->blocks, 1, __ATOMIC_RELEASE);
}

int writer_flush(struct writer *w, bool last)
{
	static const uint8_t start[] = {
		'N', 'V', 'R', 0, 2, 0, 0, 0, 8, 7}; /* magic, length, FileHeader{version = 7} */
	if (!w->report.is_sealed) {
		if (block_is_empty(&w->report.block) && !w->report.strings.pending_count)
			return 0;
		int error = seal(w);
		if (error)
			return error;
	}
	struct iovec parts[1 + BLOCK_PARTS] = {
		{(void *)start, w->report.has_header ? 0 : sizeof(start)}, w->report.block.parts[0],
		w->report.block.parts[1], w->report.block.parts[2], w->report.block.parts[3],
		w->report.block.parts[4]};
	int error = sink_append(&w->report.sink, parts, 1 + BLOCK_PARTS, last);
	set_sink_state(w, error ? SINK_STALLED : SINK_OK);
	if (error)
		return error;
	w->report.is_sealed = false;
	w->report.has_header = true;
	w->report.next_sequence++;
	block_reset(&w->report.block);
	tails_advance(w);
	return 0;
}

void writer_discard(struct writer *w)
{
	block_reset(&w->report.block);
	strings_forget_pending(&w->report.strings);
	w->report.is_sealed = false;
	for (uint32_t i = 0; i < w->spools.count; i++)
		for (uint32_t j = 0; j < w->spools.all[i]->lane_count; j++)
			w->spools.all[i]->lanes[j]->touched = false;
}

int writer_make_room(struct writer *w)
{
	return block_is_full(&w->report.block, &w->report.strings) ? writer_flush(w, false) : 0;
}
