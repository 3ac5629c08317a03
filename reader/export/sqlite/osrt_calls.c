/* SPDX-License-Identifier: Apache-2.0 */
/* osrt_calls.c - rows of OS runtime calls. */
#include "reader/export/sqlite/osrt_calls.h"

#include <errno.h>

#include "common/spool.h"
#include "reader/export/sqlite/export_state.h"
#include "reader/report/osrt_class.h"

#define CLASS_OS_RUNTIME 27 /* ENUM_NSYS_EVENT_CLASS */

struct call_columns {
	const int64_t *start, *duration, *function, *result;
	const int64_t *facts[SCHEMA_FIELDS]; /* fields for which OSRT_API has no column */
	uint32_t fact_count, object;         /* `object`: index of the fact + 1 */
	uint32_t function_last, text_last;   /* last name looked up, and its text id */
	bool uses_variable; /* the object of its calls may be a variable of the program */
};

#define OBJECT_COLUMNS \
	"globalPid INTEGER NOT NULL, object INTEGER NOT NULL, nameId INTEGER NOT NULL"

int osrt_calls_begin(struct sqlite_export *x)
{
	return database_table(&x->database, "LIBTRACE_OBJECT", OBJECT_COLUMNS);
}

/* Add the name of the lock, or another object that threads wait for, which a call at `ns` used,
 * unless it is known or in no module. */
static int object_note(
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

static int call_row(
	struct sqlite_export *x, const struct decoded_batch *b, struct call_columns *c, uint32_t i)
{
	int64_t facts[SCHEMA_FIELDS + 1], any = 0;
	uint32_t chain = 0, function = (uint32_t)c->function[i];
	int error = 0;
	if (function != c->function_last || !i) {
		const struct string_ref name = string_table_get(&x->contents.strings, function);
		c->uses_variable = name.bytes && osrt_object_is_variable(name.text);
		error = text_id_of_string(&x->texts, function, &c->text_last);
	}
	c->function_last = function;
	int64_t start = export_time(x, (uint64_t)c->start[i]),
		end = (int64_t)((uint64_t)start + (uint64_t)c->duration[i]);
	if (!error && b->chain[i]) {
		const struct wanted_chain wanted = {.process = b->process,
			.node = (uint32_t)b->chain[i],
			.method = (uint32_t)b->method[i],
			.function = function,
			.table = NSYS_OSRT_CALLCHAINS,
			.ns = (uint64_t)c->start[i] + (uint64_t)c->duration[i]};
		error = chain_id(x, &wanted, &chain);
	}
	if (error)
		return error;
	/* start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId,
	 * argumentsId, correlationId */
	const int64_t values[] = {start, end, CLASS_OS_RUNTIME, b->global_tid, c->text_last,
		c->result[i], 0, chain, 0, 0};
	error = bulk_table_numbers(&x->nsys.tables[NSYS_OSRT_API], values, UINT64_C(1) << 9);
	for (uint32_t n = 1; n <= c->fact_count; n++)
		any |= facts[n] = c->facts[n - 1][i];
	if (error || !any)
		return error;
	/* handles have 48 bits; a small negative number, such as AT_FDCWD, has its upper bits
	 * set */
	if (facts[c->object] >> 47 == 1)
		facts[c->object] -= INT64_C(1) << 48;
	if (c->uses_variable && facts[c->object] > 0)
		error = object_note(x, b, (uint64_t)facts[c->object], (uint64_t)c->start[i]);
	if (error)
		return error;
	facts[0] = (int64_t)x->nsys.tables[NSYS_OSRT_API].rows;
	return bulk_table_numbers(&x->own.facts[KIND_OSRT_CALL], facts, 0);
}

int osrt_calls_rows(struct sqlite_export *x, const struct decoded_batch *b)
{
	struct call_columns c = {.start = b->columns[0],
		.duration = b->duration,
		.function = decoded_column(b, FIELD_OSRT_CALL_FUNCTION),
		.result = decoded_column(b, FIELD_OSRT_CALL_RETURN)};
	int error = 0;
	const struct kind_rows *k = &x->nsys.kinds[KIND_OSRT_CALL];
	for (uint32_t n = 0; n < k->fact_count; n++) {
		c.facts[n] = b->columns[k->facts[n]];
		if (b->event->fields[k->facts[n]].number == FIELD_OSRT_CALL_OBJECT)
			c.object = n + 1;
	}
	c.fact_count = k->fact_count;
	for (uint32_t i = 0; !error && i < b->batch->count; i++) {
		if (c.duration[i] < 0)
			x->impossible++;
		else if (b->flags[i] & RECORD_UNFINISHED)
			error = own_row_whole(x, &x->own.others[KIND_OSRT_CALL], b, i);
		else if (!(error = call_row(x, b, &c, i)) && x->files.count)
			error = files_call(x, b, i);
	}
	return error;
}
