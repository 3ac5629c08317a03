/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "writer/modules.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/utf8.h"
#include "writer/spools.h"

#define MODULES_MAX 65536u
#define PATH_BYTES_MAX 4096u        /* of one, as the kernel has it */
#define PATHS_BYTES_MAX (16u << 20) /* of a process: 65,536 of 256 bytes */

struct module {
	struct module_range range;
	uint64_t end_tick; /* UINT64_MAX = it is still there */
	char *path;
};

struct modules {
	uint32_t count, capacity;
	uint64_t path_bytes;
	struct module *rows;
};

void modules_free(struct modules *m)
{
	for (uint32_t i = 0; m && i < m->count; i++)
		free(m->rows[i].path);
	if (m)
		free(m->rows);
	free(m);
}

/* NULL = no room. */
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

void modules_note_load(struct spool *spool, const struct module_range *range, const char *path,
	uint32_t path_bytes)
{
	struct modules *m = spool->modules;
	if (!m)
		m = spool->modules = calloc(1, sizeof(*m));
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

void modules_note_unload(struct spool *spool, uint64_t begin, uint64_t tick)
{
	struct modules *m = spool->modules;
	for (uint32_t i = m ? m->count : 0; i-- > 0;)
		if (m->rows[i].range.begin == begin && m->rows[i].end_tick == UINT64_MAX) {
			m->rows[i].end_tick = tick;
			return;
		}
}

/* What was mapped when callchains began to be taken was there before: of several the latest that
 * was there, else the first. */
const char *modules_path(const struct spool *spool, uint64_t address, uint64_t tick)
{
	const struct modules *m = spool->modules;
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
