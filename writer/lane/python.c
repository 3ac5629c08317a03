/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - definitions of Python code objects whose frames are in callchains.
 */
#include "writer/lane/python.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/frame_address.h"
#include "writer/base/names.h"
#include "writer/base/writer.h"

/* The code objects of a process by their number. A number without one has only zeros. */
struct python_codes {
	struct python_code *rows;
	uint32_t capacity;
};

static void codes_release(void *data)
{
	struct python_codes *c = data;
	free(c->rows);
}

/* Keep a code object. If memory is short, it is not known. */
static void code_keep(struct spool *spool, uint64_t id, const struct python_code *code)
{
	struct python_codes *c = slot_get(
		&spool->slots[SLOT_PYTHON_CODES], sizeof(struct python_codes), codes_release);
	if (!c || id >= PYTHON_CODES_MAX)
		return;
	uint32_t before = c->capacity;
	if (array_reserve(&c->rows, &c->capacity, id + 1, sizeof(*c->rows)))
		return;
	memset(c->rows + before, 0, (c->capacity - before) * sizeof(*c->rows));
	c->rows[id] = *code;
}

const struct python_code *python_code_find(struct spool *spool, uint64_t address)
{
	const struct python_codes *c = spool->slots[SLOT_PYTHON_CODES].data;
	uint32_t id = PYTHON_CODE_OF(address);
	return c && id < c->capacity && c->rows[id].name ? &c->rows[id] : NULL;
}

uint32_t python_code_put(struct segment *s, const struct record_at *at)
{
	const struct record r = *at->r; /* copied: reading names may remap the spool */
	struct python_definition definition = {0};
	memcpy(&definition, at->payload,
		at->bytes < sizeof(definition) ? at->bytes : sizeof(definition));
	uint64_t ns = segment_ns(s, r.tick);
	const struct python_code code = {.file = (uint32_t)(r.b >> 32),
		.name = (uint32_t)r.b,
		.table = definition.table,
		.first_line = (uint32_t)r.a,
		.lines = definition.lines};
	code_keep(s->spool, r.a >> 32, &code);
	uint32_t file = spool_name_id(s->w, s->spool, code.file),
		 name = spool_name_id(s->w, s->spool, code.name),
		 table = spool_name_id(s->w, s->spool, code.table);
	struct batch *b = segment_row_add(s, EVENT_PYTHON_CODE, ns);
	batch_set(b, PYTHON_CODE_ID, r.a >> 32);
	batch_set(b, PYTHON_CODE_FILE, file);
	batch_set(b, PYTHON_CODE_NAME, name);
	batch_set(b, PYTHON_CODE_FIRST_LINE, code.first_line);
	batch_set(b, PYTHON_CODE_LINES, code.lines);
	batch_set(b, PYTHON_CODE_TABLE, table);
	segment_reload(s);
	return at->slots;
}
