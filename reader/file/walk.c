/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - visits the blocks of a report in file order and continues after damage. */
#include <errno.h>
#include <stdio.h>

#include "reader/file/open.h"

/* Budget of searches per byte of the file: every byte is examined once, and bytes that look like a
 * header once more. */
#define SEARCH_BYTES_PER_BYTE 4u
#define SEARCH_BYTES_LEAST (16u << 20)

void walk_start(struct walk *w, const struct report *r)
{
	*w = (struct walk){.report = r, .offset = r->first_block};
	w->budget = r->source.size * SEARCH_BYTES_PER_BYTE + SEARCH_BYTES_LEAST;
	report_block_init(&w->block);
}

void walk_stop(struct walk *w)
{
	report_block_release(&w->block);
}

void walk_problem(struct walk *w, uint64_t offset, const char *cause)
{
	w->tally.problems++;
	if (w->problem)
		w->problem(w->user, offset, cause);
}

static bool is_unused_space(const struct source *s, uint64_t offset)
{
	uint8_t bytes[4096];
	for (; offset < s->size; offset += sizeof(bytes)) {
		size_t n = s->size - offset < sizeof(bytes) ? (size_t)(s->size - offset)
							    : sizeof(bytes);
		if (source_read(s, offset, bytes, n))
			return false;
		for (size_t i = 0; i < n; i++)
			if (bytes[i])
				return false;
	}
	return true;
}

/* Return 1 if a valid block, or the end of the file, follows at `offset`; 0 if not; or a negative
 * errno. */
static int is_block_or_end(struct walk *w, uint64_t offset)
{
	const char *cause;
	const struct source *s = &w->report->source;
	if (offset >= s->size)
		return offset == s->size;
	int error = report_block_find(&w->block, s, offset, &cause);
	if (error == -EBADMSG)
		return w->block.reaches_past_end && is_unused_space(s, offset);
	return error ? error : w->block.own && w->block.own->sequence >= w->next_sequence;
}

static void damage(struct walk *w, uint64_t from, uint64_t to, const char *cause)
{
	char text[160];
	w->tally.bad_blocks++;
	w->tally.skipped_bytes += to - from;
	snprintf(text, sizeof(text), "%s (%llu bytes skipped)", cause,
		(unsigned long long)(to - from));
	walk_problem(w, from, text);
	w->offset = to;
}

/* Skip the bad block at w->offset: advance w->offset to where reading can continue.
 * `sizes_hold`: the header of the block could be read. */
static int damage_skip(struct walk *w, bool sizes_hold, bool cut_off, const char *cause)
{
	const struct source *s = &w->report->source;
	uint64_t from = w->offset, end = w->block.end, next = s->size;
	if (sizes_hold) {
		int good = is_block_or_end(w, end);
		if (good < 0)
			return good;
		if (good) {
			damage(w, from, end, cause);
			return 0;
		}
	}
	int found = report_block_search(
		&w->block, s, from + 1, w->is_ours ? w->next_sequence : 0, &w->budget, &next);
	if (found < 0)
		return found;
	if (found || !(cut_off || is_unused_space(s, from))) {
		damage(w, from, found ? next : s->size, cause);
		return 0;
	}
	w->tally.torn_bytes = s->size - from;
	w->offset = s->size;
	return 0;
}

static void check_sequence(struct walk *w)
{
	const Libtrace__BlockExtension *own = w->block.own;
	char text[160];
	if (!own->has_sequence || own->sequence < w->next_sequence) {
		walk_problem(w, w->block.offset, "sequence number of a block out of order");
	} else if (own->sequence > w->next_sequence) {
		uint64_t missing = own->sequence - w->next_sequence;
		w->tally.missing_blocks += missing;
		snprintf(text, sizeof(text), "%llu blocks missing before block %llu",
			(unsigned long long)missing, (unsigned long long)own->sequence);
		walk_problem(w, w->block.offset, text);
	}
	w->is_ours = true;
	if (own->has_sequence && own->sequence >= w->next_sequence && own->sequence < UINT64_MAX)
		w->next_sequence = own->sequence + 1;
}

static void account(struct walk *w)
{
	const struct report_block *b = &w->block;
	w->tally.blocks++;
	w->tally.sources += b->header->num_sources;
	w->tally.results += b->header->num_results;
	w->tally.range_results += b->header->num_range_results;
	w->tally.cmdlist_results += b->header->num_cmdlist_results;
	w->tally.graph_results += b->header->num_graph_results;
	if (b->own) {
		check_sequence(w);
	} else {
		w->tally.foreign_blocks++;
		if (w->is_ours)
			walk_problem(w, b->offset,
				"block without the extension that the other blocks have");
	}
	w->offset = b->end;
}

int walk_next(struct walk *w)
{
	const struct source *s = &w->report->source;
	while (w->offset < s->size + s->tail_bytes) {
		const char *cause;
		int error = report_block_find(&w->block, s, w->offset, &cause);
		bool sizes_hold = !error;
		if (!error && w->block.own)
			error = report_block_load(&w->block, s, &cause);
		if (!error) {
			account(w);
			return 1;
		}
		if (error == -EBADMSG)
			error = damage_skip(w, sizes_hold, w->block.reaches_past_end, cause);
		if (error)
			return error;
	}
	return 0;
}
