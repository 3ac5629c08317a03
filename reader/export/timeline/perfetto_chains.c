/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_chains.c - interned callchains of a Perfetto trace. */
#include "reader/export/timeline/perfetto_chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/utf8.h"
#include "reader/export/timeline/perfetto_packet.h"

/* limit of the tracer, native and Python frames; further frames of a hostile file are left out */
#define CHAIN_FRAMES_MAX 256u
#define CHAIN_NUMBERS_MAX (4 * CHAIN_FRAMES_MAX) /* including inlined functions */

/* Field numbers of the messages written (perfetto.protos). */
enum {
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_CALLSTACK = 7,
	INTERNED_MAPPING_PATH = 17,
	INTERNED_SOURCE_PATH = 18,
	INTERNED_MAPPING = 19,
	STRING_TEXT = 2,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_REL_PC = 4,
	FRAME_SOURCE_PATH = 5,
	FRAME_LINE = 6,
	MAPPING_PATH = 7,
	CALLSTACK_FRAME = 2
};

void perfetto_chains_init(struct perfetto_chains *c, struct timeline *timeline, struct proto *proto)
{
	*c = (struct perfetto_chains){.timeline = timeline, .proto = proto};
}

void perfetto_chains_release(struct perfetto_chains *c)
{
	map_release(&c->by_node);
	map_release(&c->by_frame);
	map_release(&c->by_text);
	pool_release(&c->texts);
	free(c->rows);
}

/* Return the id of a text in the table `field`; a new text is written. 0 = out of memory. */
static uint32_t text_number(struct perfetto_chains *c, uint32_t field, const char *text)
{
	size_t bytes = strlen(text), offsets[2];
	const char *kept = pool_text(&c->texts, text, bytes);
	uint32_t known = kept ? map_get(&c->by_text, (uint64_t)(uintptr_t)kept, field) : 0;
	if (known || !kept ||
		map_put(&c->by_text, (uint64_t)(uintptr_t)kept, field, c->last_text + 1))
		return known;
	size_t entry = interned_open(c->proto, field, ++c->last_text, offsets);
	char *clean = pool_room(&c->texts, utf8_clean_bytes(text, bytes) + 1);
	if (!clean)
		return 0;
	utf8_clean(text, bytes, clean);
	proto_string(c->proto, STRING_TEXT, clean);
	interned_close(c->proto, entry, offsets);
	return c->last_text;
}

/* Return the id of the file that code was mapped from; a new file is written. 0 = out of memory. */
static uint32_t mapping_number(struct perfetto_chains *c, const char *path)
{
	size_t offsets[2];
	const char *text = path && *path ? path : "[Unknown]";
	uint32_t last = c->last_text,
		 name = text_number(c, INTERNED_MAPPING_PATH, *text == '/' ? text + 1 : text);
	if (!name || c->last_text == last)
		return name;
	size_t entry = interned_open(c->proto, INTERNED_MAPPING, name, offsets);
	proto_u64(c->proto, MAPPING_PATH, name);
	interned_close(c->proto, entry, offsets);
	return name;
}

/* Return the id of a frame: an address and an index among the functions inlined there. A new frame
 * is written. 0 = out of memory. */
static uint32_t frame_number(
	struct perfetto_chains *c, const struct symbol *s, uint32_t index, uint64_t rel_pc)
{
	const struct symbol_frame *f = &s->frames[index];
	size_t offsets[2];
	uint32_t known = map_get(&c->by_frame, (uint64_t)(uintptr_t)s, index);
	if (known)
		return known;
	uint32_t function = f->function ? text_number(c, INTERNED_FUNCTION, f->function) : 0;
	uint32_t file = f->file ? text_number(c, INTERNED_SOURCE_PATH, f->file) : 0;
	uint32_t mapping = mapping_number(c, s->module);
	if ((f->function && !function) || (f->file && !file) || !mapping ||
		map_put(&c->by_frame, (uint64_t)(uintptr_t)s, index, c->last_frame + 1))
		return 0;
	size_t entry = interned_open(c->proto, INTERNED_FRAME, ++c->last_frame, offsets);
	if (function)
		proto_u64(c->proto, FRAME_FUNCTION, function);
	proto_u64(c->proto, FRAME_MAPPING, mapping);
	proto_u64(c->proto, FRAME_REL_PC, rel_pc);
	if (file)
		proto_u64(c->proto, FRAME_SOURCE_PATH, file);
	if (f->line)
		proto_u64(c->proto, FRAME_LINE, f->line);
	interned_close(c->proto, entry, offsets);
	return c->last_frame;
}

/* Collect the frames of a callchain; new frames are written. *ret_count 0 = not in the report.
 * Returns 0 or -ENOMEM. */
static int frames_find(struct perfetto_chains *c, struct process *p, uint32_t node, uint64_t ns,
	uint32_t *ret_numbers, uint32_t *ret_count, struct time_span *span)
{
	uint64_t addresses[CHAIN_FRAMES_MAX];
	bool whole;
	uint32_t count =
		callchain_addresses(&p->callchains, node, addresses, CHAIN_FRAMES_MAX, &whole);
	*ret_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct symbol *s =
			symbols_find(&c->timeline->symbols, p, addresses[i], ns, span);
		const struct module *m = module_map_find(&p->modules, addresses[i] - 1, ns);
		if (!s)
			return -ENOMEM;
		for (uint32_t n = 0; n < s->frame_count && *ret_count < CHAIN_NUMBERS_MAX; n++) {
			uint32_t number = frame_number(
				c, s, n, s->is_python ? 0 : addresses[i] - 1 - (m ? m->bias : 0));
			if (!number)
				return -ENOMEM;
			ret_numbers[(*ret_count)++] = number;
		}
	}
	return 0;
}

static int chain_write(struct perfetto_chains *c, struct process *p, uint32_t node, uint64_t ns,
	struct perfetto_chain *made)
{
	uint32_t numbers[CHAIN_NUMBERS_MAX], count;
	size_t offsets[2];
	*made = (struct perfetto_chain){0, {0, UINT64_MAX}};
	int error = frames_find(c, p, node, ns, numbers, &count, &made->span);
	if (error || !count)
		return error;
	made->number = ++c->last_chain;
	size_t entry = interned_open(c->proto, INTERNED_CALLSTACK, made->number, offsets);
	for (uint32_t i = count; i-- > 0;) /* outermost first */
		proto_u64(c->proto, CALLSTACK_FRAME, numbers[i]);
	interned_close(c->proto, entry, offsets);
	return 0;
}

int perfetto_chain(struct perfetto_chains *c, const struct timeline_item *i, uint64_t *ret_number)
{
	uint32_t node = i->kind->chain < 0 ? 0 : (uint32_t)i->row->values[i->kind->chain];
	struct process *p = i->row->process->memory;
	const uint64_t ns = i->start_ns + i->duration_ns;
	*ret_number = 0;
	if (!node || !p)
		return 0;
	uint32_t found = map_get(&c->by_node, p->id, node);
	struct perfetto_chain *known = found ? &c->rows[found - 1] : NULL;
	if (known && known->span.from_ns <= ns && ns < known->span.until_ns) {
		*ret_number = known->number;
		return 0;
	}
	if (!known) {
		if (array_room(&c->rows, c->count, &c->capacity, sizeof(*c->rows)))
			return -ENOMEM;
		known = &c->rows[c->count++];
		*known = (struct perfetto_chain){0};
		if (map_put(&c->by_node, p->id, node, c->count))
			return -ENOMEM;
	}
	int error = chain_write(c, p, node, ns, known);
	*ret_number = known->number;
	return error;
}
