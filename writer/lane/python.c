/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - definitions of Python code objects whose frames are in callchains.
 */
#include "writer/lane/python.h"

#include <string.h>

#include "writer/base/names.h"
#include "writer/base/writer.h"

uint32_t python_code_put(struct segment *s, const struct record_at *at)
{
	const struct record r = *at->r; /* copied: reading names may remap the spool */
	struct python_definition definition = {0};
	memcpy(&definition, at->payload,
		at->bytes < sizeof(definition) ? at->bytes : sizeof(definition));
	uint64_t ns = segment_ns(s, r.tick);
	uint32_t file = spool_name_id(s->w, s->spool, (uint32_t)(r.b >> 32)),
		 name = spool_name_id(s->w, s->spool, (uint32_t)r.b),
		 table = spool_name_id(s->w, s->spool, definition.table);
	struct batch *b = segment_row_add(s, EVENT_PYTHON_CODE, ns);
	batch_set(b, PYTHON_CODE_ID, r.a >> 32);
	batch_set(b, PYTHON_CODE_FILE, file);
	batch_set(b, PYTHON_CODE_NAME, name);
	batch_set(b, PYTHON_CODE_FIRST_LINE, (uint32_t)r.a);
	batch_set(b, PYTHON_CODE_LINES, definition.lines);
	batch_set(b, PYTHON_CODE_TABLE, table);
	segment_reload(s);
	return at->slots;
}
