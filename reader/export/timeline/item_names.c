/* SPDX-License-Identifier: Apache-2.0 */
/* item_names.c - names of items in a timeline, and values of their columns. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/utf8.h"
#include "reader/export/timeline/timeline.h"
#include "reader/nvtx/decode.h"
#include "reader/report/arguments.h"
#include "reader/symbols/demangle.h"

#define RUNTIME_VERSION_DIGITS 4u /* digits of a version in CUPTI's names: cudaMalloc_v3020 */

/* ---- names of threads and counters ---- */

static int thread_named(struct timeline *t, uint32_t process, uint32_t tid, uint32_t name,
	uint64_t ns, bool by_program)
{
	uint32_t found = map_get(&t->thread_numbers, process, tid);
	if (!found) {
		if (array_room(
			    &t->threads, t->thread_count, &t->thread_capacity, sizeof(*t->threads)))
			return -ENOMEM;
		found = ++t->thread_count;
		t->threads[found - 1] = (struct timeline_thread){0};
		if (map_put(&t->thread_numbers, process, tid, found))
			return -ENOMEM;
	}
	struct timeline_thread *thread = &t->threads[found - 1];
	if (name && thread->by_program <= by_program &&
		(thread->by_program != by_program || ns >= thread->ns))
		*thread = (struct timeline_thread){name, ns, by_program};
	return 0;
}

/* Decode columns of a batch into one array, which the caller frees. NULL = out of memory, or a
 * damaged batch, which contents_read() reports. */
static int64_t *columns_of(const struct event_batch *b, const uint32_t *fields, uint32_t count)
{
	int64_t *values;
	event_batch_columns_new(b, fields, count, &values);
	return values;
}

static int names_take(struct timeline *t, const struct event_batch *b)
{
	static const uint32_t of_start[] = {FIELD_THREAD_START_START, FIELD_THREAD_START_NAME},
			      of_name[] = {FIELD_THREAD_NAME_START, FIELD_THREAD_NAME_NAME},
			      of_nvtx[] = {FIELD_NVTX_NAME_START, FIELD_NVTX_NAME_NAME,
				      FIELD_NVTX_NAME_WHAT, FIELD_NVTX_NAME_IDENTIFIER};
	const bool nvtx = b->kind == KIND_NVTX_NAME;
	int64_t *values = columns_of(b,
		nvtx                                  ? of_nvtx
			: b->kind == KIND_THREAD_NAME ? of_name
						      : of_start,
		nvtx ? 4 : 2);
	int error = 0;
	for (uint32_t i = 0; values && !error && i < b->count; i++) {
		if (nvtx && values[2 * b->count + i] != NAMED_THREAD)
			continue;
		error = thread_named(t, b->process,
			nvtx ? (uint32_t)values[3 * b->count + i] : b->tid,
			(uint32_t)values[b->count + i], (uint64_t)values[i], nvtx);
	}
	free(values);
	return error;
}

static int counters_take(struct timeline *t, const struct event_batch *b)
{
	static const uint32_t wanted[] = {FIELD_NVTX_COUNTER_COUNTER, FIELD_NVTX_COUNTER_NAME};
	int64_t *values = columns_of(b, wanted, 2);
	int error = 0;
	for (uint32_t i = 0; values && !error && i < b->count; i++)
		if (values[b->count + i])
			error = map_put(&t->counter_names, b->process, (uint64_t)values[i],
				(uint32_t)values[b->count + i]);
	free(values);
	return error;
}

int timeline_visit_batch(struct timeline *t, const struct event_batch *batch)
{
	int error = nvtx_payloads_take(&t->payloads, batch);
	if (!error &&
		(batch->kind == KIND_THREAD_START || batch->kind == KIND_THREAD_NAME ||
			batch->kind == KIND_NVTX_NAME))
		error = names_take(t, batch);
	if (!error)
		error = ncu_devices_collect(t->devices, batch);
	if (!error)
		error = cuda_waits_take(&t->waits, batch);
	if (!error)
		error = gpus_collect(t->gpus, batch);
	if (!error && batch->kind == KIND_NVTX_COUNTER)
		error = counters_take(t, batch);
	return error;
}

struct string_ref timeline_thread_name(
	const struct timeline *t, const struct process *process, uint32_t tid)
{
	uint32_t found = map_get(&t->thread_numbers, process->id, tid);
	return string_table_get(&t->contents.strings, found ? t->threads[found - 1].name : 0);
}

struct string_ref timeline_counter_name(const struct timeline *t, const struct track *track)
{
	const bool nvtx = track->key.kind == TRACK_NVTX_COUNTER;
	return string_table_get(&t->contents.strings,
		nvtx ? map_get(&t->counter_names, track->key.process->id, track->key.id) : 0);
}

/* ---- names ---- */

static const char *label(uint32_t event, uint64_t value)
{
#define LABEL(event_, value_, text)                    \
	if (event == KIND_##event_ && value == value_) \
		return text;
#include "reader/export/timeline/timeline.def"
	return NULL;
}

/* Return the length of a name without the version. CUPTI appends the CUDA version in which a
 * runtime function last changed; nsys omits it. */
static size_t without_version(const char *text, size_t bytes)
{
	size_t at = bytes;
	while (at && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	return bytes - at >= RUNTIME_VERSION_DIGITS && at > 2 && text[at - 1] == 'v' &&
			text[at - 2] == '_'
		? at - 2
		: bytes;
}

/* Return a text as UTF-8; invalid bytes become \xNN. */
static struct string_ref clean(struct timeline *t, struct string_ref text)
{
	size_t bytes = utf8_clean_bytes(text.text, text.bytes);
	char *copy = bytes == text.bytes ? NULL : malloc(bytes + 1);
	if (!copy)
		return text;
	utf8_clean(text.text, text.bytes, copy);
	const char *kept = pool_text(&t->texts, copy, bytes);
	free(copy);
	return kept ? (struct string_ref){kept, (uint32_t)bytes} : (struct string_ref){"", 0};
}

static struct string_ref kept(struct timeline *t, const char *text, size_t bytes)
{
	const char *copy = pool_text(&t->texts, text, bytes);
	return copy ? (struct string_ref){copy, (uint32_t)bytes} : (struct string_ref){"", 0};
}

static struct string_ref name_make(struct timeline *t, const struct event_row *row, uint32_t index)
{
	const struct schema_field *field = &row->event->fields[index];
	const int64_t value = row->values[index];
	char readable[DEMANGLED_BYTES_MAX];
	if (field->kind == FIELD_KIND_STRING || field->kind == FIELD_KIND_FUNCTION ||
		field->kind == FIELD_KIND_SYMBOL) {
		struct string_ref text = string_table_get(&t->contents.strings, (uint32_t)value);
		if (!text.text)
			text.text = "";
		if (row->event->number == KIND_CUDA_API)
			return kept(t, text.text, without_version(text.text, text.bytes));
		size_t length = field->kind == FIELD_KIND_SYMBOL && text.bytes
			? demangle(text.text, readable)
			: 0;
		return length ? kept(t, readable, length) : clean(t, text);
	}
	const char *name = label(row->event->number, (uint64_t)value);
	name = name ? name : schema_value_name(field, value);
	name = name ? name : row->event->name;
	return (struct string_ref){name, (uint32_t)strlen(name)};
}

/* Return the number of a new name; 0 = out of memory. */
static uint32_t name_add(struct timeline *t, struct string_ref text)
{
	if (array_room(&t->names, t->name_count, &t->name_capacity, sizeof(*t->names)))
		return 0;
	t->names[t->name_count++] = text;
	return t->name_count;
}

int timeline_name_of_text(struct timeline *t, const char *text, struct timeline_name *ret_name)
{
	const char *pooled = pool_text(&t->texts, text, strlen(text));
	uint32_t found = pooled ? map_get(&t->name_numbers, UINT32_MAX, (uintptr_t)pooled) : 0;
	if (!found) {
		found = pooled
			? name_add(t, clean(t, (struct string_ref){pooled, (uint32_t)strlen(text)}))
			: 0;
		if (!found || map_put(&t->name_numbers, UINT32_MAX, (uintptr_t)pooled, found))
			return -ENOMEM;
	}
	*ret_name = (struct timeline_name){found, t->names[found - 1]};
	return 0;
}

int timeline_name_find(
	struct timeline *t, const struct timeline_item *i, struct timeline_name *ret_name)
{
	const uint32_t index = i->kind->name, event = i->row->event->number;
	const enum field_kind kind = i->row->event->fields[index].kind;
	const bool plain = kind == FIELD_KIND_STRING || event == KIND_OSRT_CALL;
	const uint64_t number = (uint64_t)i->row->values[index];
	uint32_t found = map_get(&t->name_numbers, plain ? 0 : event, number);
	if (!found) {
		found = name_add(t, name_make(t, i->row, index));
		if (!found || map_put(&t->name_numbers, plain ? 0 : event, number, found))
			return -ENOMEM;
	}
	*ret_name = (struct timeline_name){found, t->names[found - 1]};
	return 0;
}

/* ---- values ---- */

void timeline_number(const struct event_row *row, uint32_t index, struct timeline_value *v)
{
	const uint64_t bits = (uint64_t)row->values[index];
	const uint32_t half = (uint32_t)bits;
	float real_half;
	memcpy(&real_half, &half, sizeof(real_half));
	*v = (struct timeline_value){.kind = TIMELINE_INT, .number = bits};
	switch (row->values[index - 1]) {
	case PAYLOAD_INT64:
		break;
	case PAYLOAD_INT32:
		v->number = (uint64_t)(int64_t)(int32_t)half;
		break;
	case PAYLOAD_UINT32:
		v->number = half;
		break;
	case PAYLOAD_UINT64:
		v->kind = TIMELINE_UINT;
		break;
	case PAYLOAD_DOUBLE:
		v->kind = TIMELINE_REAL;
		memcpy(&v->real, &bits, sizeof(v->real));
		break;
	case PAYLOAD_FLOAT:
		v->kind = TIMELINE_REAL;
		v->real = (double)real_half;
		break;
	case PAYLOAD_EXTENDED:
		v->kind = TIMELINE_JSON;
		break;
	default:
		v->kind = TIMELINE_NOTHING;
	}
}

static void value_text(struct timeline *t, struct string_ref text, struct timeline_value *v)
{
	if (text.bytes)
		*v = (struct timeline_value){.kind = TIMELINE_TEXT, .text = clean(t, text)};
}

static void value_name(const char *name, struct timeline_value *v)
{
	if (name && *name)
		*v = (struct timeline_value){
			.kind = TIMELINE_TEXT, .text = {name, (uint32_t)strlen(name)}};
}

void timeline_value(
	struct timeline *t, const struct event_row *row, uint32_t index, struct timeline_value *v)
{
	const struct schema_field *field = &row->event->fields[index];
	const int64_t value = row->values[index];
	*v = (struct timeline_value){.number = (uint64_t)value};
	if (event_row_lacks(row, index)) /* TIMELINE_NOTHING */
		return;
	switch (field->kind) {
	case FIELD_KIND_INT:
		v->kind = TIMELINE_INT;
		break;
	case FIELD_KIND_UINT:
	case FIELD_KIND_TIME:
	case FIELD_KIND_DURATION:
		v->kind = value ? TIMELINE_UINT : TIMELINE_NOTHING;
		if (!t->kinds[row->event->number].is_numeric[index])
			value_name(schema_value_name(field, value), v);
		break;
	case FIELD_KIND_HEX:
	case FIELD_KIND_CODE:
		v->kind = value ? TIMELINE_HEX : TIMELINE_NOTHING;
		break;
	case FIELD_KIND_STRING:
	case FIELD_KIND_FUNCTION:
	case FIELD_KIND_SYMBOL:
		value_text(t, string_table_get(&t->contents.strings, (uint32_t)value), v);
		break;
	case FIELD_KIND_ERRNO:
		v->kind = value ? TIMELINE_UINT : TIMELINE_NOTHING;
		if (value)
			value_name(strerrorname_np((int)value), v);
		break;
	case FIELD_KIND_FLAGS:
		schema_flag_names((uint64_t)value, t->text);
		value_name(t->text, v);
		break;
	case FIELD_KIND_PAYLOAD:
		timeline_number(row, index, v);
		break;
	case FIELD_KIND_PROTOTYPE:
		v->kind = value ? TIMELINE_JSON : TIMELINE_NOTHING;
		break;
	case FIELD_KIND_BYTES:
	case FIELD_KIND_CALLCHAIN:
	case FIELD_KIND_METHOD:
	case FIELD_KIND_PAYLOAD_TYPE:
	case FIELD_KIND_WORD_COUNT:
	case FIELD_KIND_WORD:
		break;
	}
}

void timeline_payload(struct timeline *t, FILE *out, const struct event_row *row, uint32_t index)
{
	const int domain = t->kinds[row->event->number].domain;
	if (row->event->fields[index].kind == FIELD_KIND_PROTOTYPE) {
		arguments_print(out,
			string_table_get(&t->contents.strings, (uint32_t)row->values[index]),
			&row->values[index], true);
		return;
	}
	const struct nvtx_payload_ref reference = {.process = row->process->id,
		.domain = domain < 0 ? 0 : (uint32_t)row->values[domain],
		.payload = (uint64_t)row->values[index]};
	nvtx_payload_print(out, &t->payloads, &reference);
}
