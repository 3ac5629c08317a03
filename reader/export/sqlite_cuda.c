/* CUDA: what rows of nsys's tables say otherwise than CUPTI does, or by looking elsewhere. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/export/sqlite_writing.h"
#include "reader/symbols/demangle.h"

/* CUdevice_attribute */
enum {
	ATTRIBUTE_INTEGRATED = 18,
	ATTRIBUTE_BUS = 33,
	ATTRIBUTE_SLOT = 34,
	ATTRIBUTE_BUS_DOMAIN = 50,
	ATTRIBUTE_SHARED_OPTIN = 97
};

/* CUpti_ActivityOverheadKind: the driver's compiler, and from here on those that were added */
#define OVERHEAD_COMPILER 1
#define OVERHEAD_SHIFT 16

/* nsys has the compiler before and the others behind each other: ENUM_CUPTI_OVERHEAD_TYPE. */
enum { TYPE_UNKNOWN = 1, TYPE_COMPILER = 2, TYPE_FIRST = 3, TYPE_LAST = 8 };

uint32_t cuda_overhead_type(int64_t kind)
{
	int64_t type = kind == OVERHEAD_COMPILER ? TYPE_COMPILER
						 : (kind >> OVERHEAD_SHIFT) + TYPE_FIRST - 1;
	return type < TYPE_COMPILER || type > TYPE_LAST ? TYPE_UNKNOWN : (uint32_t)type;
}

static const char *overhead_name(uint32_t type)
{
	static const char *const names[] = {"Unknown", "Unknown", "Driver Compiler",
		"CUPTI Buffer Flush", "CUPTI Instrumentation", "CUPTI Resource",
		"Runtime Triggered Module Loading", "Lazy Function Loading", "Command Buffer Full"};
	return names[type];
}

/* Ids of a process with another number: contexts, devices. */
static uint64_t key_of(uint32_t process, int64_t id)
{
	return (uint64_t)process << 32 | (uint32_t)id;
}

enum { OF_CONTEXT, OF_GRAPH, OF_ATTRIBUTE = 1000 };

static int pair_collect(struct writing *w, const struct writing_batch *b, uint32_t key_field,
	uint32_t value_field, uint64_t of)
{
	const int64_t *keys = writing_column(b, key_field),
		      *values = writing_column(b, value_field);
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++)
		error = map_put(&w->cuda_ids, key_of(b->batch->process, keys[i]), of,
			(uint32_t)values[i] + 1);
	return error;
}

static int attributes_collect(struct writing *w, const struct writing_batch *b)
{
	const int64_t *devices = writing_column(b, FIELD_CUDA_DEVICE_ATTRIBUTE_DEVICE_ID),
		      *attributes = writing_column(b, FIELD_CUDA_DEVICE_ATTRIBUTE_ATTRIBUTE),
		      *values = writing_column(b, FIELD_CUDA_DEVICE_ATTRIBUTE_VALUE);
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++)
		error = map_put(&w->cuda_ids, key_of(b->batch->process, devices[i]),
			OF_ATTRIBUTE + (uint32_t)attributes[i], (uint32_t)values[i] + 1);
	return error;
}

static int graphs_collect(struct writing *w, const struct writing_batch *b)
{
	const int64_t *execs = writing_column(b, FIELD_CUDA_GRAPH_GRAPH_EXEC_ID),
		      *graphs = writing_column(b, FIELD_CUDA_GRAPH_GRAPH_ID),
		      *originals = writing_column(b, FIELD_CUDA_GRAPH_ORIGINAL_GRAPH_ID);
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++)
		if (execs[i])
			error = map_put(&w->cuda_ids, key_of(b->batch->process, execs[i]), OF_GRAPH,
				(uint32_t)(originals[i] ? originals[i] : graphs[i]) + 1);
	return error;
}

int cuda_collect(struct writing *w, const struct event_batch *batch)
{
	struct writing_batch b;
	if (batch->kind != KIND_CUDA_CONTEXT && batch->kind != KIND_CUDA_GRAPH &&
		batch->kind != KIND_CUDA_DEVICE_ATTRIBUTE && batch->kind != KIND_CUDA_SETUP)
		return 0;
	int error = writing_decode(w, batch, &b);
	if (error)
		return error == -EBADMSG ? 0 : error;
	if (batch->kind == KIND_CUDA_SETUP && batch->count)
		w->cuda_driver = (uint32_t)writing_column(&b, FIELD_CUDA_SETUP_DRIVER_VERSION)[0];
	if (batch->kind == KIND_CUDA_SETUP)
		return 0;
	if (batch->kind == KIND_CUDA_CONTEXT)
		return pair_collect(w, &b, FIELD_CUDA_CONTEXT_CONTEXT_ID,
			FIELD_CUDA_CONTEXT_DEVICE_ID, OF_CONTEXT);
	return batch->kind == KIND_CUDA_GRAPH ? graphs_collect(w, &b) : attributes_collect(w, &b);
}

void cuda_report_end(struct writing *w)
{
	map_release(&w->cuda_ids);
	map_release(&w->kernel_names);
	w->cuda_driver = 0;
}

void cuda_release(struct writing *w)
{
	map_release(&w->cuda_devices);
	w->gpu_count = 0;
}

/* What was collected; false: nothing. */
static bool collected(
	const struct writing *w, uint32_t process, int64_t id, uint64_t of, uint32_t *ret_value)
{
	uint32_t found = map_get(&w->cuda_ids, key_of(process, id), of);
	*ret_value = found - 1;
	return found;
}

#define OF_UUID (UINT64_C(1) << 63)

/* A device is the same in all processes and reports, whatever number it has there, by its UUID; or,
 * where that is not told, in all processes of a report, by the number. Texts of the pool have an id
 * for the whole database. */
static int gpu_find(
	struct writing *w, const struct writing_batch *b, uint32_t row, uint32_t *ret_gpu)
{
	const int64_t uuid = writing_column(b, FIELD_CUDA_DEVICE_UUID)[row],
		      device = writing_column(b, FIELD_CUDA_DEVICE_DEVICE_ID)[row];
	uint64_t report = (uint64_t)(w->source - w->job->sources), key;
	uint32_t id = 0;
	key = (report & INT32_MAX) << 32 | (uint32_t)device;
	if (string_table_get(&w->contents.strings, (uint32_t)uuid).bytes) {
		int error = writing_string(w, (uint32_t)uuid, &id);
		if (error)
			return error;
		key = OF_UUID | id;
	}
	uint32_t found = map_get(&w->cuda_devices, UINT64_MAX, key);
	*ret_gpu = found - 1;
	if (found)
		return 0;
	*ret_gpu = w->gpu_count++;
	return map_put(&w->cuda_devices, UINT64_MAX, key, w->gpu_count);
}

bool cuda_device_is_new(
	struct writing *w, const struct writing_batch *b, uint32_t row, enum nsys_table table)
{
	uint32_t gpu = 0;
	uint64_t whose = UINT64_MAX - 1, which;
	if (gpu_find(w, b, row, &gpu))
		return false;
	which = gpu;
	if (table == NSYS_TARGET_INFO_CUDA_DEVICE) {
		whose = (uint64_t)b->global_tid & ~UINT64_C(0xffffff);
		which = (uint64_t)writing_column(b, FIELD_CUDA_DEVICE_DEVICE_ID)[row];
	}
	if (map_get(&w->cuda_devices, whose, which))
		return false;
	return !map_put(&w->cuda_devices, whose, which, 1);
}

/* ---- names ---- */

/* Ids of the readable name and the short one, told once for each string. */
static int kernel_name(struct writing *w, uint32_t string, bool is_short, struct page_value *v)
{
	char name[DEMANGLED_BYTES_MAX], part[DEMANGLED_BYTES_MAX];
	const char *begin;
	uint32_t id = map_get(&w->kernel_names, string, is_short);
	put_number(v, (int64_t)id - 1);
	if (id)
		return 0;
	struct string_ref mangled = string_table_get(&w->contents.strings, string);
	if (!mangled.bytes || !demangle(mangled.text, name))
		snprintf(name, sizeof(name), "%s", mangled.bytes ? mangled.text : "[Unknown]");
	size_t bytes = is_short ? demangled_base(name, &begin) : strlen(name);
	snprintf(part, sizeof(part), "%.*s", (int)bytes, is_short ? begin : name);
	int error = writing_text(w, part, &id);
	put_number(v, id);
	return error ? error : map_put(&w->kernel_names, string, is_short, id + 1);
}

static int put_text_id(struct writing *w, const char *text, struct page_value *v)
{
	uint32_t id = 0;
	int error = writing_text(w, text, &id);
	put_number(v, id);
	return error;
}

/* The function or the file of an instruction. */
static int instruction(struct writing *w, const struct writing_batch *b, uint32_t row, bool module,
	int64_t address, struct page_value *v)
{
	char hex[24];
	struct time_span span = {0, UINT64_MAX};
	/* symbols are those of return addresses: of the instruction before */
	const struct symbol *s = b->process
		? symbols_find(&w->symbols, b->process, (uint64_t)address + 1,
			  (uint64_t)b->columns[0][row], &span)
		: NULL;
	snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)address);
	const char *text = module ? (s ? s->module : NULL) : s ? s->frames[0].function : NULL;
	return put_text_id(w, text ? text : module ? "[Unknown]" : hex, v);
}

/* ---- devices ---- */

/* 32 hex digits as nsys writes them; "" = it is none. */
static void uuid_make(const char *digits, char *out)
{
	*out = 0;
	if (!digits || strlen(digits) != 32)
		return;
	for (size_t i = 0; i < 32; i++) {
		if (i == 8 || i == 12 || i == 16 || i == 20)
			*out++ = '-';
		*out++ = (char)tolower((unsigned char)digits[i]);
	}
	*out = 0;
}

/* Where a device sits, "0000:01:00.0"; "" = not told. */
static void bus_make(
	const struct writing *w, uint32_t process, int64_t device, char *out, size_t bytes)
{
	uint32_t bus, slot, domain;
	*out = 0;
	if (!collected(w, process, device, OF_ATTRIBUTE + ATTRIBUTE_BUS, &bus) ||
		!collected(w, process, device, OF_ATTRIBUTE + ATTRIBUTE_SLOT, &slot))
		return;
	if (!collected(w, process, device, OF_ATTRIBUTE + ATTRIBUTE_BUS_DOMAIN, &domain))
		domain = 0;
	snprintf(out, bytes, "%04x:%02x:%02x.0", domain, bus, slot);
}

/* A text that lives until the row is written. */
static void put_made_text(struct page_value *v, const char *text)
{
	if (*text)
		*v = (struct page_value){PAGE_TEXT, (uint32_t)strlen(text), {.text = text}};
}

static void device_value(struct writing *w, const struct writing_batch *b, enum how how,
	int64_t value, struct page_value *v)
{
	uint32_t number = 0;
	const uint32_t process = b->batch->process;
	if (how == HOW_UUID) {
		uuid_make(string_table_get(&w->contents.strings, (uint32_t)value).text, w->uuid);
		put_made_text(v, w->uuid);
	} else if (how == HOW_BUS) {
		bus_make(w, process, value, w->bus, sizeof(w->bus));
		put_made_text(v, w->bus);
	} else if (how == HOW_IS_DISCRETE) {
		if (collected(w, process, value, OF_ATTRIBUTE + ATTRIBUTE_INTEGRATED, &number))
			put_number(v, !number);
	} else if (collected(w, process, value, OF_ATTRIBUTE + ATTRIBUTE_SHARED_OPTIN, &number)) {
		put_number(v, number);
	}
}

/* ---- numbers ---- */

/* Until 2024 nsys numbered waits in its own way. */
static int64_t sync_type(const struct writing *w, int64_t type)
{
	static const uint8_t older[] = {0, 2, 3, 3, 1};
	return w->database.generation != NSYS_3_24 && type >= 0 && type < 5 ? older[type] : type;
}

static const struct {
	int64_t event_class;
	const char *name;
} graph_operations[] = {
	{0, "[Unknown]"}, {95, "Graph Creation"}, {96, "Graph Clone"}, {94, "Graph Exec Creation"}};

static uint32_t graph_operation(int64_t operation)
{
	return operation > 0 && operation < 4 ? (uint32_t)operation : 0;
}

static int overhead_thread(
	struct writing *w, const struct writing_batch *b, uint32_t row, struct page_value *v)
{
	enum { OBJECT_THREAD = 2 };
	struct writing_thread *thread;
	const int64_t kind = writing_column(b, FIELD_CUDA_OVERHEAD_OBJECT_KIND)[row],
		      tid = writing_column(b, FIELD_CUDA_OVERHEAD_OBJECT_ID)[row];
	const int64_t pid = b->global_tid & ~INT64_C(0xffffff);
	/* of a process: its first thread */
	put_number(v, pid | (kind == OBJECT_THREAD ? tid & 0xffffff : pid >> 24 & 0xffffff));
	return writing_thread(w, v->integer, &thread);
}

int cuda_value(struct writing *w, const struct writing_batch *b, uint32_t row, enum how how,
	int64_t value, struct page_value *v)
{
	uint32_t id = 0;
	int error = 0;
	switch (how) {
	case HOW_CHAIN:
		error = writing_row_chain(w, b, row, NSYS_CUDA_CALLCHAINS, &id);
		if (id)
			put_number(v, id);
		return error;
	case HOW_DEMANGLED:
	case HOW_SHORT_NAME:
		return kernel_name(w, (uint32_t)value, how == HOW_SHORT_NAME, v);
	case HOW_MEMORY_KIND: /* CUPTI has "unknown" first, nsys last */
		put_number(v, value > 0 && value < 8 ? value - 1 : 7);
		return 0;
	case HOW_SYNC_TYPE:
		put_number(v, sync_type(w, value));
		return 0;
	case HOW_OVERHEAD_TYPE:
		put_number(v, cuda_overhead_type(value));
		return 0;
	case HOW_OVERHEAD_NAME:
		return put_text_id(w, overhead_name(cuda_overhead_type(value)), v);
	case HOW_OVERHEAD_TID:
		return overhead_thread(w, b, row, v);
	case HOW_GRAPH_CLASS:
		put_number(v, graph_operations[graph_operation(value)].event_class);
		return 0;
	case HOW_GRAPH_NAME:
		return put_text_id(w, graph_operations[graph_operation(value)].name, v);
	case HOW_GRAPH_NODE_NAME:
		return put_text_id(w, "Graph Node Creation", v);
	case HOW_CONTEXT_DEVICE:
		put_number(v, collected(w, b->batch->process, value, OF_CONTEXT, &id) ? id : 0);
		return 0;
	case HOW_GRAPH_OF_EXEC:
		put_number(v, collected(w, b->batch->process, value, OF_GRAPH, &id) ? id : value);
		return 0;
	case HOW_GPU_ID:
		error = gpu_find(w, b, row, &id);
		put_number(v, id);
		return error;
	case HOW_FUNCTION_AT:
	case HOW_MODULE_AT:
		return instruction(w, b, row, how == HOW_MODULE_AT, value, v);
	default:
		device_value(w, b, how, value, v);
		return 0;
	}
}
