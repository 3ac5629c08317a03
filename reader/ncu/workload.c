/* SPDX-License-Identifier: Apache-2.0 */
/* workload.c - conversion of results of ranges, command lists and graphs to results of a kernel. */
#include "reader/ncu/workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/varint.h"
#include "reader/ncu/wire.h"

/* Fields of ProfileResult: the first and last of three names (mangled, function, demangled), and
 * the scope, which determines what sections show. ncu uses the scope of a range for ranges, command
 * lists and graphs. */
enum { MANGLED_NAME = 5, DEMANGLED_NAME = 7, COLLECTION_SCOPE = 29 };

#define FIELDS 22
#define DISPLAY_NAME 18 /* field of CmdlistResult */

/* The field of ProfileResult with the same data, by field number; 0 = none. */
static const uint8_t fields[][FIELDS] = {
	[NCU_RANGE] = {0, 1, 2, 12, 13, 14, 16, 17, 18, 20, 21, 22, 25, 26, 28, 0, 30},
	[NCU_CMDLIST] = {0, 1, 2, 12, 13, 14, 16, 17, 18, 20, 21, 22, 23, 25, 26, 27, 28, 0, 0, 8,
		0, 19},
	[NCU_GRAPH] = {0, 1, 2, 12, 13, 14, 16, 17, 18, 20, 21, 22, 23, 25, 26, 27, 28, 0, 30},
};

const char *ncu_workload_name(enum ncu_entry_kind kind)
{
	static const char *const names[] = {[NCU_RESULT] = "kernel",
		[NCU_RANGE] = "range",
		[NCU_CMDLIST] = "cmdlist",
		[NCU_GRAPH] = "graph"};
	return names[kind];
}

static uint8_t *names_put(uint8_t *out, const char *name, size_t bytes)
{
	for (uint32_t field = MANGLED_NAME; field <= DEMANGLED_NAME; field++) {
		out = varint_put(varint_put_tag(out, field, WIRE_BYTES), bytes);
		memcpy(out, name, bytes);
		out += bytes;
	}
	return out;
}

int ncu_workload_recast(enum ncu_entry_kind kind, const uint8_t *bytes, size_t count,
	uint8_t **ret_bytes, size_t *ret_count)
{
	/* A field of two bytes may grow to three bytes; a name of the message is written three
	 * times. */
	uint8_t *room = malloc(4 * count + 64), *out = room;
	const uint8_t *at = bytes;
	const char *name = ncu_workload_name(kind);
	size_t name_bytes = strlen(name);
	struct wire_field f;
	int more;
	if (!room)
		return -ENOMEM;
	while ((more = wire_next(&at, bytes + count, &f)) > 0) {
		if (kind == NCU_CMDLIST && f.number == DISPLAY_NAME && f.type == WIRE_BYTES) {
			name = (const char *)f.at;
			name_bytes = (size_t)(f.end - f.at);
		}
		if (f.number >= FIELDS || !fields[kind][f.number])
			continue;
		uint64_t tag;
		const uint8_t *behind_tag = varint_get(f.start, f.end, &tag);
		out = varint_put_tag(out, fields[kind][f.number], (enum wire_type)f.type);
		memcpy(out, behind_tag, (size_t)(f.end - behind_tag));
		out += f.end - behind_tag;
	}
	if (more < 0) {
		free(room);
		return -EBADMSG;
	}
	out = varint_put(varint_put_tag(out, COLLECTION_SCOPE, WIRE_VARINT),
		NCU__COLLECTION_SCOPE__CollectionScope_Range);
	out = names_put(out, name, name_bytes);
	*ret_bytes = room;
	*ret_count = (size_t)(out - room);
	return 0;
}
