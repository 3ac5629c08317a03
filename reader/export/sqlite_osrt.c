/* Calls of the OS runtime as rows of OSRT_API: most of what reports hold, so without a detour. */
#include "common/spool.h"
#include "reader/export/sqlite_writing.h"

#define CLASS_OS_RUNTIME 27 /* ENUM_NSYS_EVENT_CLASS */

struct call_columns {
	const int64_t *start, *duration, *function, *result;
	const int64_t *facts[SCHEMA_FIELDS]; /* what OSRT_API has no place for */
	uint32_t fact_count, object;         /* object: which of the facts, from 1 */
	uint32_t function_last, text_last;   /* the name found last */
};

static int call_row(
	struct writing *w, const struct writing_batch *b, struct call_columns *c, uint32_t i)
{
	int64_t facts[SCHEMA_FIELDS + 1], any = 0;
	uint32_t chain = 0, function = (uint32_t)c->function[i];
	int error = 0;
	if (function != c->function_last || !i)
		error = writing_string(w, function, &c->text_last);
	c->function_last = function;
	int64_t start = writing_time(w, (uint64_t)c->start[i]),
		end = (int64_t)((uint64_t)start + (uint64_t)c->duration[i]);
	if (!error && b->chain[i]) {
		const struct writing_chain_wanted wanted = {.process = b->process,
			.node = (uint32_t)b->chain[i],
			.method = (uint32_t)b->method[i],
			.function = function,
			.table = NSYS_OSRT_CALLCHAINS,
			.ns = (uint64_t)c->start[i] + (uint64_t)c->duration[i]};
		error = writing_chain(w, &wanted, &chain);
	}
	if (error)
		return error;
	/* start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId,
	 * argumentsId, correlationId */
	const int64_t values[] = {start, end, CLASS_OS_RUNTIME, b->global_tid, c->text_last,
		c->result[i], 0, chain, 0, 0};
	error = writing_numbers(w, &w->tables[NSYS_OSRT_API], 0, values, UINT64_C(1) << 9);
	for (uint32_t n = 1; n <= c->fact_count; n++)
		any |= facts[n] = c->facts[n - 1][i];
	if (error || !any)
		return error;
	/* objects have 48 bits: a small negative number, as AT_FDCWD, has the upper ones set */
	if (facts[c->object] >> 47 == 1)
		facts[c->object] -= INT64_C(1) << 48;
	facts[0] = 0; /* the row id */
	return writing_numbers(
		w, &w->facts[KIND_OSRT_CALL], w->tables[NSYS_OSRT_API].last_rowid, facts, 1);
}

int writing_calls(struct writing *w, const struct writing_batch *b)
{
	struct call_columns c = {.start = b->columns[0],
		.duration = b->duration,
		.function = writing_column(b, FIELD_OSRT_CALL_FUNCTION),
		.result = writing_column(b, FIELD_OSRT_CALL_RETURN)};
	int error = 0;
	const struct kind_rows *k = &w->kinds[KIND_OSRT_CALL];
	for (uint32_t n = 0; n < k->fact_count; n++) {
		c.facts[n] = b->columns[k->facts[n]];
		if (b->event->fields[k->facts[n]].number == FIELD_OSRT_CALL_OBJECT)
			c.object = n + 1;
	}
	c.fact_count = k->fact_count;
	for (uint32_t i = 0; !error && i < b->batch->count; i++) {
		if (c.duration[i] < 0)
			w->impossible++;
		else if (b->flags[i] & RECORD_UNFINISHED)
			error = writing_whole(w, &w->others[KIND_OSRT_CALL], b, i);
		else if (!(error = call_row(w, b, &c, i)) && w->file_count)
			error = files_call(w, b, i);
	}
	return error;
}
