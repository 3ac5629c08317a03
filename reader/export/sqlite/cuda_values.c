/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_values.c - columns of CUDA rows that depend on other events. */
#include "reader/export/sqlite/cuda_values.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/symbols/demangle.h"
#include "reader/export/sqlite/export_state.h"

/* CUdevice_attribute */
enum {
	ATTRIBUTE_INTEGRATED = 18,
	ATTRIBUTE_BUS = 33,
	ATTRIBUTE_SLOT = 34,
	ATTRIBUTE_BUS_DOMAIN = 50,
	ATTRIBUTE_SHARED_OPTIN = 97
};

/* CUpti_ActivityOverheadKind: the driver's compiler is 1; other kinds are numbers << 16 */
#define OVERHEAD_COMPILER 1
#define OVERHEAD_SHIFT 16

/* ENUM_CUPTI_OVERHEAD_TYPE: first the compiler, then the other kinds in the order of CUPTI. */
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

/* Return the map key of a context, graph or device of a process. */
static uint64_t key_of(uint32_t process, int64_t id)
{
	return (uint64_t)process << 32 | (uint32_t)id;
}

enum { OF_CONTEXT, OF_GRAPH, OF_ATTRIBUTE = 1000 };

static int pair_collect(struct sqlite_export *x, const struct decoded_batch *b, uint32_t key_field,
	uint32_t value_field, uint64_t of)
{
	const int64_t *keys = decoded_column(b, key_field),
		      *values = decoded_column(b, value_field);
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++)
		error = map_put(&x->cuda.ids, key_of(b->batch->process, keys[i]), of,
			(uint32_t)values[i] + 1);
	return error;
}

static int attributes_collect(struct sqlite_export *x, const struct decoded_batch *b)
{
	const int64_t *devices = decoded_column(b, FIELD_CUDA_DEVICE_ATTRIBUTE_DEVICE_ID),
		      *attributes = decoded_column(b, FIELD_CUDA_DEVICE_ATTRIBUTE_ATTRIBUTE),
		      *values = decoded_column(b, FIELD_CUDA_DEVICE_ATTRIBUTE_VALUE);
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++)
		error = map_put(&x->cuda.ids, key_of(b->batch->process, devices[i]),
			OF_ATTRIBUTE + (uint32_t)attributes[i], (uint32_t)values[i] + 1);
	return error;
}

static int graphs_collect(struct sqlite_export *x, const struct decoded_batch *b)
{
	const int64_t *execs = decoded_column(b, FIELD_CUDA_GRAPH_GRAPH_EXEC_ID),
		      *graphs = decoded_column(b, FIELD_CUDA_GRAPH_GRAPH_ID),
		      *originals = decoded_column(b, FIELD_CUDA_GRAPH_ORIGINAL_GRAPH_ID);
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++)
		if (execs[i])
			error = map_put(&x->cuda.ids, key_of(b->batch->process, execs[i]), OF_GRAPH,
				(uint32_t)(originals[i] ? originals[i] : graphs[i]) + 1);
	return error;
}

int cuda_values_collect(struct sqlite_export *x, const struct event_batch *batch)
{
	struct decoded_batch b;
	int error = gpus_collect(&x->cuda.gpus, batch);
	if (error)
		return error;
	if (batch->kind != KIND_CUDA_CONTEXT && batch->kind != KIND_CUDA_GRAPH &&
		batch->kind != KIND_CUDA_DEVICE_ATTRIBUTE && batch->kind != KIND_CUDA_SETUP)
		return 0;
	error = batch_decode(x, batch, &b);
	if (error)
		return error == -EBADMSG ? 0 : error;
	if (batch->kind == KIND_CUDA_SETUP && batch->count)
		x->cuda.driver = (uint32_t)decoded_column(&b, FIELD_CUDA_SETUP_DRIVER_VERSION)[0];
	if (batch->kind == KIND_CUDA_SETUP)
		return 0;
	if (batch->kind == KIND_CUDA_CONTEXT)
		return pair_collect(x, &b, FIELD_CUDA_CONTEXT_CONTEXT_ID,
			FIELD_CUDA_CONTEXT_DEVICE_ID, OF_CONTEXT);
	return batch->kind == KIND_CUDA_GRAPH ? graphs_collect(x, &b) : attributes_collect(x, &b);
}

void cuda_values_report_end(struct cuda_values *c)
{
	map_release(&c->ids);
	map_release(&c->kernel_names);
	c->driver = 0;
}

void cuda_values_release(struct cuda_values *c)
{
	cuda_values_report_end(c);
	map_release(&c->devices);
	gpus_release(&c->gpus);
}

/* Look up a collected value. Returns false if there is no value. */
static bool collected(const struct sqlite_export *x, uint32_t process, int64_t id, uint64_t of,
	uint32_t *ret_value)
{
	uint32_t found = map_get(&x->cuda.ids, key_of(process, id), of);
	*ret_value = found - 1;
	return found;
}

int cuda_values_enter(struct sqlite_export *x)
{
	return gpus_enter(&x->cuda.gpus, (uint32_t)(x->source - x->job->sources), &x->contents);
}

int64_t cuda_gpu_unnumbered(uint32_t index)
{
	return -1 - (int64_t)index;
}

static int64_t gpu_of(const struct sqlite_export *x, const struct decoded_batch *b, uint32_t row)
{
	uint32_t index;
	gpus_index(&x->cuda.gpus, b->batch->process,
		(uint32_t)decoded_column(b, FIELD_CUDA_DEVICE_DEVICE_ID)[row], &index);
	return cuda_gpu_unnumbered(index);
}

int cuda_values_number(struct sqlite_export *x)
{
	struct database *d = &x->database;
	const bool has_gpus = x->nsys.tables[NSYS_TARGET_INFO_GPU].rows,
		   has_devices = x->nsys.tables[NSYS_TARGET_INFO_CUDA_DEVICE].rows;
	int error = gpus_number(&x->cuda.gpus);
	if (error || !has_gpus)
		return error;
	error = database_run(d, "CREATE TEMP TABLE gpu_number (gpu INTEGER PRIMARY KEY, number)");
	for (uint32_t i = 0; !error && i < x->cuda.gpus.count; i++)
		error = database_run(d, "INSERT INTO temp.gpu_number VALUES (%lld, %u)",
			(long long)cuda_gpu_unnumbered(i), x->cuda.gpus.rows[i].number);
	if (!error)
		error = database_run(d,
			"UPDATE TARGET_INFO_GPU SET id = (SELECT number FROM "
			"temp.gpu_number WHERE gpu = id)");
	if (!error && has_devices)
		error = database_run(d,
			"UPDATE TARGET_INFO_CUDA_DEVICE SET gpuId = (SELECT "
			"number FROM temp.gpu_number WHERE gpu = gpuId)");
	return error ? error : database_run(d, "DROP TABLE temp.gpu_number");
}

bool cuda_device_is_new(
	struct sqlite_export *x, const struct decoded_batch *b, uint32_t row, enum nsys_table table)
{
	uint64_t whose = UINT64_MAX, which = (uint64_t)gpu_of(x, b, row);
	if (table == NSYS_TARGET_INFO_CUDA_DEVICE) {
		whose = (uint64_t)b->global_tid & ~UINT64_C(0xffffff);
		which = (uint64_t)decoded_column(b, FIELD_CUDA_DEVICE_DEVICE_ID)[row];
	}
	if (map_get(&x->cuda.devices, whose, which))
		return false;
	return !map_put(&x->cuda.devices, whose, which, 1);
}

/* ---- names ---- */

/* Set the text id of the demangled name of a kernel, or of its short name. */
static int kernel_name(struct sqlite_export *x, uint32_t string, bool is_short, struct cell *v)
{
	char name[DEMANGLED_BYTES_MAX], part[DEMANGLED_BYTES_MAX];
	const char *begin;
	uint32_t id = map_get(&x->cuda.kernel_names, string, is_short);
	cell_set_number(v, (int64_t)id - 1);
	if (id)
		return 0;
	struct string_ref mangled = string_table_get(&x->contents.strings, string);
	if (!mangled.bytes || !demangle(mangled.text, name))
		snprintf(name, sizeof(name), "%s", mangled.bytes ? mangled.text : "[Unknown]");
	size_t bytes = is_short ? demangled_base(name, &begin) : strlen(name);
	snprintf(part, sizeof(part), "%.*s", (int)bytes, is_short ? begin : name);
	int error = text_id(&x->texts, part, &id);
	cell_set_number(v, id);
	return error ? error : map_put(&x->cuda.kernel_names, string, is_short, id + 1);
}

/* Set the function or the file of an instruction. */
static int instruction(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row,
	bool module, int64_t address, struct cell *v)
{
	char hex[24];
	struct time_span span = {0, UINT64_MAX};
	/* symbols_find() takes a return address, which follows the instruction */
	const struct symbol *s = b->process
		? symbols_find(&x->symbols, b->process, (uint64_t)address + 1,
			  (uint64_t)b->columns[0][row], &span)
		: NULL;
	snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)address);
	const char *text = module ? (s ? s->module : NULL) : s ? s->frames[0].function : NULL;
	return text_id_cell(&x->texts, text ? text : module ? "[Unknown]" : hex, v);
}

/* ---- devices ---- */

/* Format 32 hex digits as a UUID with dashes; "" if they are not a UUID. */
static void uuid_format(const char *digits, char *out)
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

/* Format the bus location of a device, "0000:01:00.0"; "" = not known. */
static void bus_format(
	const struct sqlite_export *x, uint32_t process, int64_t device, char *out, size_t bytes)
{
	uint32_t bus, slot, domain;
	*out = 0;
	if (!collected(x, process, device, OF_ATTRIBUTE + ATTRIBUTE_BUS, &bus) ||
		!collected(x, process, device, OF_ATTRIBUTE + ATTRIBUTE_SLOT, &slot))
		return;
	if (!collected(x, process, device, OF_ATTRIBUTE + ATTRIBUTE_BUS_DOMAIN, &domain))
		domain = 0;
	snprintf(out, bytes, "%04x:%02x:%02x.0", domain, bus, slot);
}

/* Set a text, which must stay valid until the row is added. */
static void text_set(struct cell *v, const char *text)
{
	if (*text)
		*v = (struct cell){CELL_TEXT, (uint32_t)strlen(text), {.text = text}};
}

static void device_value(struct sqlite_export *x, const struct decoded_batch *b, enum how how,
	int64_t value, struct cell *v)
{
	uint32_t number = 0;
	const uint32_t process = b->batch->process;
	if (how == HOW_UUID) {
		uuid_format(
			string_table_get(&x->contents.strings, (uint32_t)value).text, x->cuda.uuid);
		text_set(v, x->cuda.uuid);
	} else if (how == HOW_BUS) {
		bus_format(x, process, value, x->cuda.bus, sizeof(x->cuda.bus));
		text_set(v, x->cuda.bus);
	} else if (how == HOW_IS_DISCRETE) {
		if (collected(x, process, value, OF_ATTRIBUTE + ATTRIBUTE_INTEGRATED, &number))
			cell_set_number(v, !number);
	} else if (collected(x, process, value, OF_ATTRIBUTE + ATTRIBUTE_SHARED_OPTIN, &number)) {
		cell_set_number(v, number);
	}
}

/* ---- numbers ---- */

/* Return the type of a wait; until 2024, nsys numbered the types differently. */
static int64_t sync_type(const struct sqlite_export *x, int64_t type)
{
	static const uint8_t older[] = {0, 2, 3, 3, 1};
	return x->database.generation != NSYS_3_24 && type >= 0 && type < 5 ? older[type] : type;
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
	struct sqlite_export *x, const struct decoded_batch *b, uint32_t row, struct cell *v)
{
	enum { OBJECT_THREAD = 2 };
	struct export_thread *thread;
	const int64_t kind = decoded_column(b, FIELD_CUDA_OVERHEAD_OBJECT_KIND)[row],
		      tid = decoded_column(b, FIELD_CUDA_OVERHEAD_OBJECT_ID)[row];
	const int64_t pid = b->global_tid & ~INT64_C(0xffffff);
	/* the overhead of a process is shown on its first thread */
	cell_set_number(v, pid | (kind == OBJECT_THREAD ? tid & 0xffffff : pid >> 24 & 0xffffff));
	return thread_find(&x->threads, v->integer, &thread);
}

int cuda_value(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row, enum how how,
	int64_t value, struct cell *v)
{
	uint32_t id = 0;
	int error = 0;
	switch (how) {
	case HOW_CHAIN:
		error = chain_id_of_row(x, b, row, NSYS_CUDA_CALLCHAINS, &id);
		if (id)
			cell_set_number(v, id);
		return error;
	case HOW_DEMANGLED:
	case HOW_SHORT_NAME:
		return kernel_name(x, (uint32_t)value, how == HOW_SHORT_NAME, v);
	case HOW_MEMORY_KIND: /* "unknown" is the first value in CUPTI and the last in nsys */
		cell_set_number(v, value > 0 && value < 8 ? value - 1 : 7);
		return 0;
	case HOW_SYNC_TYPE:
		cell_set_number(v, sync_type(x, value));
		return 0;
	case HOW_OVERHEAD_TYPE:
		cell_set_number(v, cuda_overhead_type(value));
		return 0;
	case HOW_OVERHEAD_NAME:
		return text_id_cell(&x->texts, overhead_name(cuda_overhead_type(value)), v);
	case HOW_OVERHEAD_TID:
		return overhead_thread(x, b, row, v);
	case HOW_GRAPH_CLASS:
		cell_set_number(v, graph_operations[graph_operation(value)].event_class);
		return 0;
	case HOW_GRAPH_NAME:
		return text_id_cell(&x->texts, graph_operations[graph_operation(value)].name, v);
	case HOW_GRAPH_NODE_NAME:
		return text_id_cell(&x->texts, "Graph Node Creation", v);
	case HOW_CONTEXT_DEVICE:
		cell_set_number(
			v, collected(x, b->batch->process, value, OF_CONTEXT, &id) ? id : 0);
		return 0;
	case HOW_GRAPH_OF_EXEC:
		cell_set_number(
			v, collected(x, b->batch->process, value, OF_GRAPH, &id) ? id : value);
		return 0;
	case HOW_GPU_ID:
		cell_set_number(v, gpu_of(x, b, row));
		return 0;
	case HOW_FUNCTION_AT:
	case HOW_MODULE_AT:
		return instruction(x, b, row, how == HOW_MODULE_AT, value, v);
	default:
		device_value(x, b, how, value, v);
		return 0;
	}
}
