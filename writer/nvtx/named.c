/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named.c - NVTX records that name things, and texts longer than a record.
 */
#include "writer/nvtx/named.h"

#include <string.h>

#include "writer/base/names.h"

uint32_t nvtx_long_id(
	struct writer *w, struct spool *spool, const char *text, uint32_t bytes, uint64_t *flags)
{
	struct nvtx_long rest = {.bytes = NVTX_TEXT_BYTES, .is_cut = 1};
	char begin[NVTX_TEXT_BYTES];
	if (bytes == NVTX_TEXT_ROOM_BYTES)
		memcpy(&rest, text + NVTX_TEXT_BYTES, sizeof(rest));
	if (rest.bytes > NVTX_TEXT_BYTES || rest.bytes > bytes)
		rest.bytes = (uint16_t)(bytes < NVTX_TEXT_BYTES ? bytes : NVTX_TEXT_BYTES);
	memcpy(begin, text, rest.bytes);
	uint32_t whole = spool_name_id(w, spool, rest.ref);
	if (whole && !rest.is_cut)
		*flags &= ~(uint64_t)RECORD_TEXT_CUT;
	return whole ? whole : strings_id(&w->report.strings, begin, rest.bytes);
}

/* Read `bytes` from the front of a payload, and remove them from it. Missing bytes are zeros. */
static void payload_take(const uint8_t **at, uint32_t *left, void *to, uint32_t bytes)
{
	uint32_t have = *left < bytes ? *left : bytes;
	memset(to, 0, bytes);
	memcpy(to, *at, have);
	*at += have;
	*left -= have;
}

uint32_t nvtx_named_put(struct segment *s, const struct record_at *at)
{
	struct nvtx_named named;
	const struct record *r = at->r;
	const uint8_t *text = at->payload;
	uint32_t bytes = at->bytes;
	uint64_t ns = segment_ns(s, r->tick), id = r->b;
	uint32_t domain_ref = (uint32_t)(r->a >> 32);
	payload_take(&text, &bytes, &named, sizeof(named));
	uint32_t name = strings_id(&s->w->report.strings, (const char *)text, bytes);
	if (!name)
		name = spool_name_id(s->w, s->spool, (uint32_t)r->a);
	uint32_t domain = spool_name_id(s->w, s->spool, domain_ref);
	struct batch *b = segment_row_add(s, EVENT_NVTX_NAME, ns);
	batch_set(b, NVTX_NAME_WHAT, named.what);
	batch_set(b, NVTX_NAME_DOMAIN, domain);
	batch_set(b, NVTX_NAME_IDENTIFIER, id);
	batch_set(b, NVTX_NAME_TYPE, named.type);
	batch_set(b, NVTX_NAME_NAME, name);
	segment_reload(s);
	return at->slots;
}
