/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c - texts that a spool holds once and records refer to.
 */
#include "writer/base/names.h"

#include "common/spool.h"
#include "writer/base/writer.h"
#include "writer/spool/lanes.h"

#define TEXTS_PER_RECORD_BYTE                                                                  \
	16u /* a text of an undamaged spool is written once, and again only after the table of \
	       texts was emptied */
#define BLOCK_TEXTS_MAX (16u << 20) /* texts at the end of a lane, all of which are in one block */

static uint64_t texts_limit(const struct writer *w, const struct spool *spool)
{
	uint64_t data = spool_data_bytes(&w->spools, spool), limit = data;
	for (uint32_t i = 0; data != UINT64_MAX && i < spool->lane_count; i++)
		limit += spool->lanes[i]->position * TEXTS_PER_RECORD_BYTE;
	return limit;
}

/* Return the string id of a text of the spool; 0 if the spool has already named too much text. */
static uint32_t text_id(struct writer *w, struct spool *spool, const char *text, uint32_t bytes)
{
	const uint32_t next = w->report.strings.next_id;
	const uint64_t claimed = spool->text_bytes + bytes;
	if (claimed > spool->text_limit)
		spool->text_limit = texts_limit(w, spool);
	if (claimed > spool->text_limit || w->report.strings.pending_bytes > BLOCK_TEXTS_MAX) {
		spool->texts_refused++;
		return 0;
	}
	uint32_t id = strings_id(&w->report.strings, text, bytes);
	if (w->report.strings.next_id != next)
		spool->text_bytes = claimed;
	return id;
}

uint32_t spool_name_text(struct spool *spool, uint32_t ref, const char **ret_text)
{
	uint64_t offset = (uint64_t)ref * NVTX_NAME_UNIT, inside = offset % 4096;
	const uint8_t *page = spool_at(spool, offset - inside, inside + sizeof(struct nvtx_text));
	if (!page)
		return 0;
	uint32_t bytes = ((const struct nvtx_text *)(const void *)(page + inside))->bytes;
	if (!bytes || bytes > NAME_BYTES_MAX)
		return 0;
	inside += sizeof(struct nvtx_text);
	page = spool_at(spool, offset / 4096 * 4096, inside + bytes);
	if (!page)
		return 0;
	*ret_text = (const char *)page + inside;
	return bytes;
}

static uint32_t name_read(struct writer *w, struct spool *spool, uint32_t ref)
{
	const char *text;
	uint32_t bytes = spool_name_text(spool, ref, &text);
	return bytes ? text_id(w, spool, text, bytes) : 0;
}

uint32_t spool_name_id(struct writer *w, struct spool *spool, uint32_t ref)
{
	if (!ref)
		return 0;
	uint32_t id = name_cache_id(&w->names, spool->id, ref), row = name_cache_row(ref);
	if (!id) {
		id = name_read(w, spool, ref);
		w->names.rows[row].string_id = id;
		w->names.rows[row].process = spool->id;
		w->names.rows[row].ref = ref;
	}
	return id;
}
