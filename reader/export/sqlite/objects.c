/* SPDX-License-Identifier: Apache-2.0 */
/* objects.c - the symbols of locks and other objects that threads wait for. */
#include "reader/export/sqlite/objects.h"

#include <errno.h>

#include "reader/export/sqlite/export_state.h"

#define COLUMNS "globalPid INTEGER NOT NULL, object INTEGER NOT NULL, nameId INTEGER NOT NULL"

int objects_begin(struct sqlite_export *x)
{
	return database_table(&x->database, "LIBTRACE_OBJECT", COLUMNS);
}

int object_note(
	struct sqlite_export *x, const struct decoded_batch *b, uint64_t address, uint64_t ns)
{
	char text[PLACE_BYTES];
	uint32_t id = 0;
	const uint64_t process = (uint64_t)b->global_tid >> 24;
	if (!address || !b->process || map_get(&x->objects, process, address))
		return 0;
	if (map_put(&x->objects, process, address, 1))
		return -ENOMEM;
	if (!symbols_variable(&x->symbols, b->process, address, ns, text))
		return 0;
	int error = text_id(&x->texts, text, &id);
	return error ? error
		     : database_row(&x->database, "LIBTRACE_OBJECT", "iii",
			       (int64_t)(process << 24), (int64_t)address, (int64_t)id);
}
