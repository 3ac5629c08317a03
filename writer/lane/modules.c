/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - modules of a process: their rows, and lookup of the file that an address was in.
 */
#define _GNU_SOURCE
#include "writer/lane/modules.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/utf8.h"
#include "writer/base/writer.h"

#define MODULES_MAX 65536u
#define PATH_BYTES_MAX 4096u        /* maximum length of a path, as in the kernel */
#define PATHS_BYTES_MAX (16u << 20) /* maximum per process: 65,536 paths of 256 bytes */

struct module {
	struct module_range range;
	uint64_t end_tick; /* UINT64_MAX = still loaded */
	char *path;
};

struct modules {
	uint32_t count, capacity;
	uint64_t path_bytes;
	struct module *rows;
};

static void modules_release(void *data)
{
	struct modules *m = data;
	for (uint32_t i = 0; i < m->count; i++)
		free(m->rows[i].path);
	free(m->rows);
}

static struct modules *modules_of(const struct spool *spool)
{
	return spool->slots[SLOT_MODULES].data;
}

/* Add a row. Return NULL if there is no room. */
static struct module *row_add(struct modules *m)
{
	if (m->count == MODULES_MAX ||
		array_room(&m->rows, m->count, &m->capacity, sizeof(*m->rows)))
		return NULL;
	return &m->rows[m->count];
}

char *shared_text_copy(const char *text, uint32_t bytes)
{
	bytes = (uint32_t)strnlen(text, bytes);
	char *own = malloc(bytes + 1u), *copy = NULL;
	if (own) {
		memcpy(own, text, bytes);
		copy = malloc(utf8_clean_bytes(own, bytes) + 1);
	}
	if (copy)
		utf8_clean(own, bytes, copy);
	free(own);
	return copy;
}

static void load_note(struct spool *spool, const struct module_range *range, const char *path,
	uint32_t path_bytes)
{
	struct modules *m = slot_get(&spool->slots[SLOT_MODULES], sizeof(*m), modules_release);
	if (!m || path_bytes > PATH_BYTES_MAX || m->path_bytes + path_bytes > PATHS_BYTES_MAX)
		return;
	struct module *row = row_add(m);
	char *copy = row ? shared_text_copy(path, path_bytes) : NULL;
	if (!copy)
		return;
	*row = (struct module){*range, UINT64_MAX, copy};
	m->path_bytes += path_bytes;
	m->count++;
}

static void unload_note(struct spool *spool, uint64_t begin, uint64_t tick)
{
	struct modules *m = modules_of(spool);
	for (uint32_t i = m ? m->count : 0; i-- > 0;)
		if (m->rows[i].range.begin == begin && m->rows[i].end_tick == UINT64_MAX) {
			m->rows[i].end_tick = tick;
			return;
		}
}

uint32_t module_load_put(struct segment *s, const struct record_at *at)
{
	const struct record *r = at->r;
	static const char digits[] = "0123456789abcdef";
	struct module_load module = {0};
	char build_id[2 * BUILD_ID_BYTES];
	uint32_t digit = 0;
	uint32_t head = at->bytes < sizeof(module) ? at->bytes : sizeof(module);
	memcpy(&module, at->payload, head);
	const char *path = (const char *)at->payload + head;
	uint32_t path_bytes = (uint32_t)strnlen(path, at->bytes - head);
	for (uint32_t i = 0; i < module.build_id_bytes && i < BUILD_ID_BYTES; i++) {
		build_id[digit++] = digits[module.build_id[i] >> 4];
		build_id[digit++] = digits[module.build_id[i] & 15];
	}
	struct batch *b = segment_row_add(s, EVENT_MODULE_LOAD, segment_ns(s, r->tick));
	batch_set(b, MODULE_LOAD_BEGIN, r->a);
	batch_set(b, MODULE_LOAD_END, r->b);
	batch_set(b, MODULE_LOAD_BIAS, module.bias);
	batch_set(b, MODULE_LOAD_PATH, strings_id(&s->w->report.strings, path, path_bytes));
	load_note(s->spool, &(struct module_range){r->tick, r->a, r->b}, path, path_bytes);
	batch_set(b, MODULE_LOAD_BUILD_ID, strings_id(&s->w->report.strings, build_id, digit));
	return at->slots;
}

uint32_t module_unload_put(struct segment *s, const struct record_at *at)
{
	const struct record *r = at->r;
	struct batch *b = segment_row_add(s, EVENT_MODULE_UNLOAD, segment_ns(s, r->tick));
	batch_set(b, MODULE_UNLOAD_BEGIN, r->a);
	unload_note(s->spool, r->a, r->tick);
	return at->slots;
}

/* A module that was mapped when the first callchain was taken was already there before. If several
 * modules match, use the latest that was there, else the first. */
const char *modules_path(const struct spool *spool, uint64_t address, uint64_t tick)
{
	const struct modules *m = modules_of(spool);
	const struct module *found = NULL;
	for (uint32_t i = 0; m && i < m->count; i++) {
		const struct module *row = &m->rows[i];
		if (address - row->range.begin >= row->range.end - row->range.begin ||
			tick > row->end_tick)
			continue;
		if (!found || row->range.tick <= tick)
			found = row;
	}
	return found ? found->path : "";
}
