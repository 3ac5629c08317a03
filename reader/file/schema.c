/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - tables of event kinds and columns, generated from events.def. */
#define _GNU_SOURCE
#include "reader/file/schema.h"

#include <string.h>

#include "common/spool.h"

#define FIELD(event_id, number, id, column, kind, encoding, title) \
	{KIND_##event_id, number, column, FIELD_KIND_##kind, title},
static const struct schema_field fields[] = {
#include "common/schema/events.def"
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

struct row {
	uint32_t number;
	const char *name, *title;
};

#define EVENT(number, id, name, title) {number, name, title},
static const struct row event_rows[] = {
#include "common/schema/events.def"
};
#define EVENTS (sizeof(event_rows) / sizeof(event_rows[0]))

#define DROP(number, id, name, title) {number, name, title},
static const struct row drop_rows[] = {
#include "common/schema/events.def"
};
#define VERDICT(number, id, text) {number, text, #id},
static const struct row verdict_rows[] = {
#include "common/schema/events.def"
};
#define HOW(number, id, name) {number, name, #id},
static const struct row how_rows[] = {
#include "common/schema/events.def"
};

#define METHOD(number, id, name) {number, name, #id},
static const struct row method_rows[] = {
#include "common/schema/events.def"
};

#define PAYLOAD(number, id, name) {number, name, #id},
static const struct row payload_rows[] = {
#include "common/schema/events.def"
};

#define NAMED(number, id, name) {number, name, #id},
static const struct row named_rows[] = {
#include "common/schema/events.def"
};

#define LAYOUT(number, id, name) {number, name, #id},
static const struct row layout_rows[] = {
#include "common/schema/events.def"
};
#define SEMANTIC(number, id, name) {number, name, #id},
static const struct row semantic_rows[] = {
#include "common/schema/events.def"
};
#define NO_VALUE(number, id, name) {number, name, #id},
static const struct row no_value_rows[] = {
#include "common/schema/events.def"
};
#define HEAP(number, id, name) {number, name, #id},
static const struct row heap_rows[] = {
#include "common/schema/events.def"
};
#define REGION(number, id, name) {number, name, #id},
static const struct row region_rows[] = {
#include "common/schema/events.def"
};
#define PERMISSION(number, id, name) {number, name, #id},
static const struct row permission_rows[] = {
#include "common/schema/events.def"
};
#define SYNC(number, id, name) {number, name, #id},
static const struct row sync_rows[] = {
#include "common/schema/events.def"
};

#define API(number, id, name) {number, name, #id},
static const struct row api_rows[] = {
#include "common/schema/events.def"
};

#define GRAPH_OPERATION(number, id, name) {number, name, #id},
static const struct row graph_operation_rows[] = {
#include "common/schema/events.def"
};

#define MAPPING(number, id, name) {number, name, #id},
static const struct row mapping_rows[] = {
#include "common/schema/events.def"
};

static const struct row library_api_rows[] = {
	{0, "none", "NONE"},
#define LIBRARY(number, id, title, files, functions) {number, #id, title},
#include "common/schema/libraries.def"
};

uint32_t schema_column_index(const struct schema_event *event, uint32_t number)
{
	uint32_t i = 0;
	while (i + 1 < event->field_count && event->fields[i].number != number)
		i++;
	return i;
}

const struct schema_event *schema_event_at(uint32_t index)
{
	static struct schema_event events[EVENTS];
	if (index >= EVENTS)
		return NULL;
	struct schema_event *e = &events[index];
	if (__atomic_load_n(&e->name, __ATOMIC_ACQUIRE))
		return e;
	const struct schema_field *first = NULL;
	uint32_t count = 0;
	for (size_t i = 0; i < FIELDS; i++)
		if (fields[i].event == event_rows[index].number) {
			first = first ? first : &fields[i];
			count++;
		}
	e->number = event_rows[index].number;
	e->title = event_rows[index].title;
	e->field_count = count;
	e->fields = first;
	__atomic_store_n(&e->name, event_rows[index].name, __ATOMIC_RELEASE);
	return e;
}

const struct schema_event *schema_event(uint32_t number)
{
	for (uint32_t i = 0; i < EVENTS; i++)
		if (event_rows[i].number == number)
			return schema_event_at(i);
	return NULL;
}

const struct schema_event *schema_event_named(const char *name)
{
	for (uint32_t i = 0; i < EVENTS; i++)
		if (!strcmp(event_rows[i].name, name))
			return schema_event_at(i);
	return NULL;
}

int schema_column(const struct schema_event *event, enum field_kind kind)
{
	for (uint32_t i = 0; i < event->field_count; i++)
		if (event->fields[i].kind == kind)
			return (int)i;
	return -1;
}

static const char *row_name(const struct row *rows, size_t count, uint64_t number)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].number == number)
			return rows[i].name;
	return "?";
}

#define ROW_NAME(rows, number) row_name(rows, sizeof(rows) / sizeof((rows)[0]), number)

const char *schema_drop(uint64_t number)
{
	return ROW_NAME(drop_rows, number);
}

const char *schema_verdict(uint64_t number)
{
	return ROW_NAME(verdict_rows, number);
}

#define NAMES(event_id, field_id, rows)                               \
	{                                                             \
		KIND_##event_id, FIELD_##event_id##_##field_id, rows, \
			sizeof(rows) / sizeof((rows)[0])              \
	}
static const struct {
	uint32_t event, field;
	const struct row *rows;
	size_t count;
} value_names[] = {
	NAMES(GAP, REASON, drop_rows),
	NAMES(CHILD, HOW, how_rows),
	NAMES(CHILD, VERDICT, verdict_rows),
	NAMES(NVTX_NAME, WHAT, named_rows),
	NAMES(NVTX_SCHEMA, LAYOUT, layout_rows),
	NAMES(NVTX_SEMANTICS, SEMANTIC, semantic_rows),
	NAMES(NVTX_SAMPLE, NO_VALUE, no_value_rows),
	NAMES(NVTX_HEAP, WHAT, heap_rows),
	NAMES(NVTX_REGION, WHAT, region_rows),
	NAMES(NVTX_PERMISSION, WHAT, permission_rows),
	NAMES(NVTX_SYNC, WHAT, sync_rows),
	NAMES(FUNCTION_CALL, LIBRARY_API, library_api_rows),
	NAMES(CUDA_MAPPING, OPERATION, mapping_rows),
};

const char *schema_value_name(const struct schema_field *field, int64_t value)
{
	for (size_t i = 0; i < sizeof(value_names) / sizeof(value_names[0]); i++)
		if (value_names[i].event == field->event && value_names[i].field == field->number)
			return row_name(value_names[i].rows, value_names[i].count, (uint64_t)value);
	if ((field->event == KIND_CUDA_API && field->number == FIELD_CUDA_API_API) ||
		(field->event == KIND_CUDA_API_SUMMARY &&
			field->number == FIELD_CUDA_API_SUMMARY_API))
		return ROW_NAME(api_rows, (uint64_t)value);
	if (field->event == KIND_CUDA_GRAPH && field->number == FIELD_CUDA_GRAPH_OPERATION)
		return ROW_NAME(graph_operation_rows, (uint64_t)value);
	if (field->event == KIND_CUDA_UNTIMED && field->number == FIELD_CUDA_UNTIMED_EVENT)
		return schema_event((uint32_t)value) ? schema_event((uint32_t)value)->name : "?";
	if (field->kind == FIELD_KIND_PAYLOAD_TYPE)
		return ROW_NAME(payload_rows, (uint64_t)value);
	if (field->kind == FIELD_KIND_METHOD)
		return ROW_NAME(method_rows, (uint64_t)value & (CALLCHAIN_IS_CUT - 1));
	return NULL;
}

bool schema_is_moment(const struct schema_field *field)
{
	if (field->event == KIND_CUDA_KERNEL)
		return field->number == FIELD_CUDA_KERNEL_QUEUED_NS ||
			field->number == FIELD_CUDA_KERNEL_SUBMITTED_NS ||
			field->number == FIELD_CUDA_KERNEL_COMPLETED_NS;
	if (field->event == KIND_CODEXL_COMMAND)
		return field->number == FIELD_CODEXL_COMMAND_QUEUED ||
			field->number == FIELD_CODEXL_COMMAND_SUBMITTED;
	if (field->event == KIND_CODEXL_CALL)
		return field->number == FIELD_CODEXL_CALL_TRANSFER_START ||
			field->number == FIELD_CODEXL_CALL_TRANSFER_END;
	return field->event == KIND_CUDA_EVENT &&
		field->number == FIELD_CUDA_EVENT_DEVICE_TIMESTAMP_NS;
}

void schema_flag_names(uint64_t value, char *out)
{
	static const struct {
		uint64_t flag;
		const char *name;
	} flags[] = {{RECORD_ABANDONED, "abandoned"}, {RECORD_NESTED, "nested"},
		{RECORD_UNFINISHED, "unfinished"}, {RECORD_TEXT_CUT, "text_cut"},
		{RECORD_TEXT_NAMED, "registered"}, {RECORD_PAYLOAD_CUT, "payload_cut"},
		{RECORD_IMPORTED, "imported"}, {RECORD_DEFERRED, "deferred"},
		{RECORD_IN_STEP, "in_step"}};
	char *at = out;
	*at = 0;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (value & flags[i].flag) {
			at = stpcpy(at, at == out ? "" : ",");
			at = stpcpy(at, flags[i].name);
		}
}
