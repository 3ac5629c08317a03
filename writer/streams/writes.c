/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writes.c - events of what programs write to standard output and error.
 *
 * Secrets are replaced here, before the text is in the report. A program may write a secret and its
 * name in two pieces, so the search continues from piece to piece of a process's stream.
 */
#include "writer/streams/writes.h"

#include <string.h>

#include "common/redact.h"

/* Of a process: the search for secrets in its two streams. */
struct searches {
	struct redact_search stream[2];
};

uint32_t stream_put(struct segment *s, const struct record_at *at)
{
	const struct record r = *at->r;
	const unsigned number = r.b & STREAM_NUMBER;
	char text[STREAM_PIECE_BYTES];
	if ((number != 1 && number != 2) || !at->bytes || at->bytes > sizeof(text))
		return 0;
	struct searches *searches =
		slot_get(&s->spool->slots[SLOT_STREAMS], sizeof(*searches), NULL);
	memcpy(text, at->payload, at->bytes);
	if (searches)
		redact_text(&searches->stream[number - 1], text, at->bytes);
	else
		memset(text, '*', at->bytes);
	struct batch *b = segment_row_add(s, EVENT_STREAM_WRITE, segment_ns(s, r.tick));
	batch_set(b, STREAM_WRITE_STREAM, number);
	batch_set(b, STREAM_WRITE_POSITION, r.a);
	batch_set(b, STREAM_WRITE_SIZE, at->bytes);
	batch_set(b, STREAM_WRITE_REDIRECTED, (r.b & STREAM_REDIRECTED) != 0);
	batch_set(b, STREAM_WRITE_TEXT, strings_id(&s->w->report.strings, text, at->bytes));
	return at->slots;
}
