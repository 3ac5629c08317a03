/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occupancy_function.c - the occupancy of kernels in SQL.
 */
#include "reader/sql/occupancy_function.h"

#ifdef HAVE_SQLITE

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "reader/stats/occupancy.h"

/* Arguments of occupancy_blocks(). */
enum argument {
	WHAT,
	MAJOR,
	MINOR,
	WARP,
	WARPS,
	BLOCKS,
	SM_REGISTERS,
	SM_SHARED,
	THREADS,
	REGISTERS,
	SHARED,
	ARGUMENTS
};

#define RESERVED_BYTES 1024u /* of a block, by the system; compute capability 8 and later */

static uint32_t number(sqlite3_value *value)
{
	int64_t n = sqlite3_value_int64(value);
	return n < 0 ? 0 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static uint32_t blocks_of(const char *what, const struct occupancy *o)
{
	if (!strcmp(what, "registers"))
		return o->register_blocks;
	if (!strcmp(what, "shared"))
		return o->shared_blocks;
	if (!strcmp(what, "warps"))
		return o->warp_blocks;
	return !strcmp(what, "blocks") ? o->device_blocks : o->blocks;
}

/* NULL if an argument is: the occupancy is not known then. */
static void occupancy_blocks(sqlite3_context *context, int count, sqlite3_value **v)
{
	for (int i = 0; i < count; i++)
		if (sqlite3_value_type(v[i]) == SQLITE_NULL)
			return;
	const char *what = (const char *)sqlite3_value_text(v[WHAT]);
	const struct occupancy_device device = {.major = number(v[MAJOR]),
		.minor = number(v[MINOR]),
		.warp_threads = number(v[WARP]),
		.warps = number(v[WARPS]),
		.blocks = number(v[BLOCKS]),
		.registers = number(v[SM_REGISTERS]),
		.shared_bytes = number(v[SM_SHARED]),
		.reserved_bytes = number(v[MAJOR]) >= 8 ? RESERVED_BYTES : 0};
	const struct occupancy_kernel kernel = {.block_threads = number(v[THREADS]),
		.registers = number(v[REGISTERS]),
		.shared_bytes = number(v[SHARED])};
	struct occupancy o;
	if (what && !occupancy_of(&device, &kernel, &o) && o.blocks)
		sqlite3_result_int64(context, blocks_of(what, &o));
}

int occupancy_function_add(struct sql *s)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
	return sqlite3_create_function(s->connection, "occupancy_blocks", ARGUMENTS, flags, NULL,
		       occupancy_blocks, NULL, NULL)
		? -ENOMEM
		: 0;
}

#else

int occupancy_function_add(struct sql *s)
{
	(void)s;
	return 0;
}

#endif
