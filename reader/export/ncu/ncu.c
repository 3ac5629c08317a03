/* SPDX-License-Identifier: Apache-2.0 */
/* ncu.c - kernel launches as a report of Nsight Compute. */
#include "reader/export/ncu/ncu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/ncu/launch.h"
#include "reader/export/ncu/calls.h"
#include "reader/symbols/demangle.h"
#include "report.pb-c.h"

#define BLOCK_BYTES (1u << 20)
#define FRAMES_MAX 512u /* maximum number of frames of a callchain, with inlined functions */
#define VERSIONS_MAX 16u
#define METRIC_NAMES_MAX (LAUNCH_METRICS_MAX + NCU_METRIC_NAMES_MAX)

_Static_assert(LAUNCH_DEVICE_COLUMNS <= NCU_DEVICE_COLUMNS, "a device has room for its columns");

/* ---- devices ---- */

static struct ncu_device *device_of(struct ncu_devices *d, uint32_t process, uint64_t id)
{
	for (uint32_t i = 0; i < d->count; i++)
		if (d->rows[i].process == process &&
			d->rows[i].columns[COLUMN_CUDA_DEVICE_DEVICE_ID] == id)
			return &d->rows[i];
	return NULL;
}

/* Store a row: a device, an attribute of a device, or the version of CUDA. `columns` is indexed by
 * column number. */
static void row_collect(struct ncu_devices *d, const struct event_batch *b, const uint64_t *columns)
{
	struct ncu_device *device;
	switch (b->kind) {
	case KIND_CUDA_DEVICE:
		if (d->count == NCU_DEVICES_MAX ||
			device_of(d, b->process, columns[COLUMN_CUDA_DEVICE_DEVICE_ID]))
			return;
		device = &d->rows[d->count++];
		*device = (struct ncu_device){.process = b->process};
		memcpy(device->columns, columns, LAUNCH_COLUMNS * sizeof(*columns));
		return;
	case KIND_CUDA_DEVICE_ATTRIBUTE: /* CUPTI reports them after the device */
		device = device_of(d, b->process, columns[COLUMN_CUDA_DEVICE_ATTRIBUTE_DEVICE_ID]);
		if (device)
			launch_attribute_note(device->columns,
				columns[COLUMN_CUDA_DEVICE_ATTRIBUTE_ATTRIBUTE],
				columns[COLUMN_CUDA_DEVICE_ATTRIBUTE_VALUE]);
		return;
	case KIND_CUDA_SETUP:
		d->cuda_version = (uint32_t)columns[COLUMN_CUDA_SETUP_DRIVER_VERSION];
		return;
	default:
		return;
	}
}

int ncu_devices_collect(struct ncu_devices *d, const struct event_batch *b)
{
	const struct schema_event *event = schema_event(b->kind);
	if ((b->kind != KIND_CUDA_DEVICE && b->kind != KIND_CUDA_DEVICE_ATTRIBUTE &&
		    b->kind != KIND_CUDA_SETUP) ||
		!b->count)
		return 0;
	int64_t *values = calloc((size_t)b->count * event->field_count, sizeof(*values));
	if (!values)
		return -ENOMEM;
	int error = 0; /* a damaged batch is ignored; contents_read() reports it */
	for (uint32_t i = 0; !error && i < event->field_count; i++)
		error = event_batch_column(
			b, event->fields[i].number, values + (size_t)i * b->count);
	for (uint32_t row = 0; !error && row < b->count; row++) {
		uint64_t columns[LAUNCH_COLUMNS] = {0};
		for (uint32_t i = 0; i < event->field_count; i++)
			columns[event->fields[i].number] =
				(uint64_t)values[(size_t)i * b->count + row];
		row_collect(d, b, columns);
	}
	free(values);
	return 0;
}

/* ---- blocks ---- */

/* Names of the current kernel; cached while launches of one kernel follow each other. */
struct names {
	uint64_t id;
	const char *mangled, *function, *demangled; /* NULL = none cached */
};

struct ncu_export {
	FILE *out;
	struct contents *contents;
	struct symbols *symbols;
	const struct ncu_devices *devices;
	const struct ncu_metrics *metrics;
	struct ncu_code *code;
	struct ncu_tally *tally;
	struct ncu_calls calls;
	struct launch_entry entry;
	struct buffer results; /* results of the current block */
	uint32_t count;
	bool of_ranges;                /* they are results of ranges */
	const struct process *process; /* process of these results */
	struct names names;
	bool has_header;
};

static char *string_of(struct ncu_export *w, uint64_t id)
{
	return ncu_text(
		&w->calls.texts, string_table_get(&w->contents->strings, (uint32_t)id).text);
}

static bool is_duplicate(const struct ncu_devices *d, uint32_t number)
{
	for (uint32_t i = 0; i < number; i++)
		if (d->rows[i].columns[COLUMN_CUDA_DEVICE_DEVICE_ID] ==
			d->rows[number].columns[COLUMN_CUDA_DEVICE_DEVICE_ID])
			return true;
	return false;
}

/* Session details of the report, with devices and the version of CUDA added. */
struct session {
	Libtrace__SessionDetails details;
	Libtrace__VersionInfo cuda, *versions[VERSIONS_MAX];
	char cuda_version[24];
	struct launch_device *devices;
	Ncu__DeviceAttributes *list[NCU_DEVICES_MAX];
};

static int session_fill(struct ncu_export *w, struct session *s)
{
	const struct ncu_devices *d = w->devices;
	s->devices = calloc(d->count + 1, sizeof(*s->devices));
	if (!s->devices)
		return -ENOMEM;
	libtrace__session_details__init(&s->details);
	if (w->contents->details)
		s->details = *w->contents->details;
	s->details.n_device_attributes = 0;
	s->details.device_attributes = s->list;
	for (uint32_t i = 0; i < d->count; i++) {
		if (is_duplicate(d, i))
			continue;
		launch_device_fill(&s->devices[i], d->rows[i].columns,
			string_of(w, d->rows[i].columns[COLUMN_CUDA_DEVICE_NAME]));
		s->list[s->details.n_device_attributes++] = &s->devices[i].message;
	}
	size_t count = 0;
	libtrace__version_info__init(&s->cuda);
	if (d->cuda_version) {
		snprintf(s->cuda_version, sizeof(s->cuda_version), "%u.%u", d->cuda_version / 1000,
			d->cuda_version % 1000 / 10);
		s->cuda.provider = (char *)(uintptr_t) "CUDA Version";
		s->cuda.version = s->cuda_version;
		s->versions[count++] = &s->cuda;
	}
	for (size_t i = 0; i < s->details.n_versions && count < VERSIONS_MAX; i++)
		if (strcmp(s->details.versions[i]->provider, "CUDA Version"))
			s->versions[count++] = s->details.versions[i];
	s->details.n_versions = count;
	s->details.versions = s->versions;
	return 0;
}

static int header_write(struct ncu_export *w, const Libtrace__BlockHeader *header)
{
	uint32_t size = (uint32_t)libtrace__block_header__get_packed_size(header);
	uint8_t *bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	libtrace__block_header__pack(header, bytes);
	fwrite(&size, sizeof(size), 1, w->out);
	fwrite(bytes, 1, size, w->out);
	free(bytes);
	return 0;
}

/* List the names of all metrics by their numbers. Return how many there are. */
static size_t metric_names(struct ncu_export *w, char **names)
{
	for (uint32_t i = 0; i < launch_metric_count; i++)
		names[i] = (char *)(uintptr_t)launch_metric_names[i];
	for (uint32_t i = 0; i < w->metrics->name_count; i++)
		names[launch_metric_count + i] = string_of(w, w->metrics->names[i]);
	return launch_metric_count + w->metrics->name_count;
}

/* Write a block up to its payload. The first block also contains the session and all names of
 * metrics. */
static int block_begin(struct ncu_export *w, uint32_t sources, uint32_t results, uint64_t bytes)
{
	static const uint8_t magic[] = {'N', 'V', 'R', 0, 2, 0, 0, 0, 8, 7};
	struct session session = {.devices = NULL};
	Libtrace__BlockHeader header = LIBTRACE__BLOCK_HEADER__INIT;
	Libtrace__StringTable table = LIBTRACE__STRING_TABLE__INIT;
	Libtrace__ProcessInfo process = LIBTRACE__PROCESS_INFO__INIT;
	char *names[METRIC_NAMES_MAX];
	const struct process *p = w->process;
	const Libtrace__Session *facts = w->contents->session;
	int error = 0;
	if (!p && w->contents->processes.count)
		p = w->contents->processes.rows[0];
	if (!w->has_header) {
		fwrite(magic, 1, sizeof(magic), w->out);
		error = session_fill(w, &session);
		header.session_details = &session.details;
		table.strings = names;
		table.n_strings = metric_names(w, names);
	}
	header.has_num_sources = header.has_num_results = header.has_payload_size = 1;
	header.num_sources = sources;
	header.num_results = w->of_ranges ? 0 : results;
	header.has_num_range_results = w->of_ranges;
	header.num_range_results = w->of_ranges ? results : 0;
	header.string_table = &table;
	header.payload_size = (uint32_t)bytes;
	header.process = &process;
	process.process_id = p ? p->facts->pid : 0;
	process.hostname = ncu_text(&w->calls.texts, facts ? facts->hostname : NULL);
	process.process_name = ncu_text(&w->calls.texts, p ? p->facts->executable : NULL);
	if (!error)
		error = header_write(w, &header);
	free(session.devices);
	w->has_header = true;
	return error ? error : ferror_unlocked(w->out) ? -EPIPE : 0;
}

static int block_write(struct ncu_export *w)
{
	int error = block_begin(w, 0, w->count, w->results.bytes);
	if (!error && w->results.bytes)
		fwrite(w->results.data, 1, w->results.bytes, w->out);
	w->results.bytes = w->count = 0;
	return error ? error : ferror_unlocked(w->out) ? -EPIPE : 0;
}

/* Write the code of modules as it is stored in the report, one block per module, because a cubin
 * may be large. */
static int code_write(struct ncu_export *w)
{
	const struct ncu_code *c = w->code;
	int error = 0;
	for (uint32_t i = 0; !error && i < c->source_count; i++) {
		uint8_t *message;
		uint32_t bytes = c->results->sources[c->sources[i]].bytes;
		error = ncu_source_load(c->results, c->sources[i], &message);
		if (error)
			break;
		error = block_begin(w, 1, 0, sizeof(bytes) + (uint64_t)bytes);
		if (!error) {
			fwrite(&bytes, sizeof(bytes), 1, w->out);
			fwrite(message, 1, bytes, w->out);
		}
		free(message);
	}
	return error ? error : ferror_unlocked(w->out) ? -EPIPE : 0;
}

/* Add a result to the current block. */
static int result_put(struct ncu_export *w, const ProtobufCMessage *result)
{
	uint32_t size = (uint32_t)protobuf_c_message_get_packed_size(result);
	if (buffer_reserve(&w->results, sizeof(size) + size))
		return -ENOMEM;
	buffer_add(&w->results, &size, sizeof(size));
	protobuf_c_message_pack(result, w->results.data + w->results.bytes);
	w->results.bytes += size;
	w->count++;
	return 0;
}

/* Write the current block if it is full, or has results of another process. */
static int block_turn(struct ncu_export *w, const struct process *process)
{
	int error = 0;
	if (w->count && (w->process != process || w->results.bytes >= BLOCK_BYTES))
		error = block_write(w);
	w->process = process;
	return error;
}

/* ---- results ---- */

/* A callchain as protobuf messages. */
struct stack {
	Ncu__CpuStacktraceStackMessage message;
	Ncu__CpuStacktraceStackFrameMessage frames[FRAMES_MAX], *list[FRAMES_MAX];
};

static void frame_add(struct ncu_export *w, struct stack *stack, const struct symbol *s,
	uint32_t inlined, uint64_t address)
{
	size_t at = stack->message.n_frames;
	const struct symbol_frame *from = &s->frames[inlined];
	Ncu__CpuStacktraceStackFrameMessage *f = &stack->frames[at];
	if (at == FRAMES_MAX)
		return;
	ncu__cpu_stacktrace_stack_frame_message__init(f);
	f->module_name = ncu_text(&w->calls.texts, s->module);
	f->has_pc = f->has_line = 1;
	f->pc = address;
	f->file_name = ncu_text(&w->calls.texts, from->file);
	f->func_name = ncu_text(&w->calls.texts, from->function);
	f->line = from->line;
	stack->list[at] = f;
	stack->message.n_frames++;
}

static int stack_fill(struct ncu_export *w, struct stack *stack, const struct process *p,
	const struct ncu_call *call)
{
	uint64_t addresses[CALLCHAIN_FRAMES_MAX];
	bool whole;
	ncu__cpu_stacktrace_stack_message__init(&stack->message);
	stack->message.frames = stack->list;
	uint32_t count = call->chain ? callchain_addresses(&p->memory->callchains, call->chain,
					       addresses, CALLCHAIN_FRAMES_MAX, &whole)
				     : 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct symbol *s =
			symbols_find(w->symbols, p->memory, addresses[i], call->end_ns, NULL);
		if (!s)
			return -ENOMEM;
		for (uint32_t n = 0; n < s->frame_count; n++)
			frame_add(w, stack, s, n, addresses[i]);
	}
	w->entry.result.cpu_stack = stack->message.n_frames ? &stack->message : NULL;
	return 0;
}

/* Find the names of a function: mangled, demangled, and the base name of the demangled one. */
static void names_find(struct ncu_export *w, uint64_t id)
{
	static char readable[DEMANGLED_BYTES_MAX], function[DEMANGLED_BYTES_MAX];
	const char *begin;
	struct names *n = &w->names;
	n->id = id;
	n->mangled = n->function = string_of(w, id);
	n->demangled = "";
	if (!demangle(n->mangled, readable))
		return;
	size_t bytes = demangled_base(readable, &begin);
	memcpy(function, begin, bytes);
	function[bytes] = 0;
	n->function = ncu_text(&w->calls.texts, function);
	n->demangled = ncu_text(&w->calls.texts, readable);
}

static void names_fill(struct ncu_export *w, struct launch_facts *f)
{
	f->kernel_id = f->kernel[COLUMN_CUDA_KERNEL_NAME];
	if (!w->names.mangled || w->names.id != f->kernel_id)
		names_find(w, f->kernel_id);
	f->mangled = w->names.mangled;
	f->function = w->names.function;
	f->demangled = w->names.demangled;
}

static void device_find(struct ncu_export *w, struct launch_facts *f, const struct process *p)
{
	const struct ncu_devices *d = w->devices;
	for (uint32_t i = 0; i < d->count; i++)
		if (d->rows[i].process == p->id &&
			d->rows[i].columns[COLUMN_CUDA_DEVICE_DEVICE_ID] ==
				f->kernel[COLUMN_CUDA_KERNEL_DEVICE_ID]) {
			f->device = d->rows[i].columns;
			f->device_name = string_of(w, f->device[COLUMN_CUDA_DEVICE_NAME]);
			return;
		}
}

static int kernel_write(struct ncu_export *w, const struct event_row *row)
{
	static struct stack stack;
	uint64_t columns[LAUNCH_COLUMNS] = {0};
	struct launch_facts facts = {.kernel = columns};
	int error = block_turn(w, row->process);
	for (uint32_t i = 0; i < row->event->field_count; i++)
		columns[row->event->fields[i].number] = (uint64_t)row->values[i];
	facts.duration_ns = columns[COLUMN_CUDA_KERNEL_DURATION];
	names_fill(w, &facts);
	device_find(w, &facts, row->process);
	facts.source = ncu_code_reference(w->code, row->process->id,
		(uint32_t)columns[COLUMN_CUDA_KERNEL_CONTEXT_ID], columns[COLUMN_CUDA_KERNEL_NAME],
		facts.mangled);
	const struct ncu_call *call =
		ncu_call_find(&w->calls, row->process, columns[COLUMN_CUDA_KERNEL_CORRELATION_ID]);
	w->tally->launches++;
	w->tally->without_call += !call;
	facts.tid = call ? call->tid : 0;
	launch_entry_fill(&w->entry, &facts);
	ncu_metrics_add(w->metrics, row->process->id,
		(uint32_t)columns[COLUMN_CUDA_KERNEL_CORRELATION_ID], &w->entry);
	Ncu__NvtxState *nvtx = NULL;
	if (!error && call) {
		error = stack_fill(w, &stack, row->process, call);
		if (call->nvtx) {
			nvtx = ncu__nvtx_state__unpack(NULL, call->nvtx_bytes, call->nvtx);
			error = nvtx ? error : -ENOMEM;
		}
	}
	w->entry.result.nvtx = nvtx;
	if (!error)
		error = result_put(w, &w->entry.result.base);
	if (nvtx)
		ncu__nvtx_state__free_unpacked(nvtx, NULL);
	return error;
}

/* ---- results of ranges ---- */

static int range_write(
	struct ncu_export *w, const struct ncu_range_value *first, struct ncu_range_result *result)
{
	struct launch_nvtx nvtx = {.pieces = NULL};
	const struct launch_range range = {.tid = first->tid,
		.domain = first->domain,
		.domain_name = first->domain ? string_of(w, first->domain) : NULL,
		.text = string_of(w, first->text)};
	int error = block_turn(w, process_find(&w->contents->processes, first->process));
	if (!error)
		error = launch_nvtx_fill(&nvtx, &range, 1, first->tid);
	result->message.nvtx = &nvtx.message;
	if (!error)
		error = result_put(w, &result->message.base);
	launch_nvtx_release(&nvtx);
	w->tally->ranges++;
	return error;
}

static int ranges_write(struct ncu_export *w, const struct ncu_ranges *ranges)
{
	static struct ncu_range_result result;
	uint32_t rows;
	int error = 0;
	w->of_ranges = true;
	for (uint32_t at = 0; !error && at < ranges->count; at += rows) {
		rows = ncu_range_fill(ranges, at, &result);
		error = range_write(w, &ranges->rows[at], &result);
	}
	return error || !w->count ? error : block_write(w);
}

int ncu_write(FILE *out, struct cursor *cursor, struct symbols *symbols,
	const struct ncu_devices *devices, const struct ncu_metrics *metrics,
	const struct ncu_ranges *ranges, struct ncu_code *code, struct ncu_tally *ret_tally)
{
	struct event_row row;
	struct ncu_export w = {.out = out,
		.contents = cursor->contents,
		.symbols = symbols,
		.devices = devices,
		.metrics = metrics,
		.code = code,
		.tally = ret_tally};
	*ret_tally = (struct ncu_tally){0};
	int error = ncu_calls_init(&w.calls, cursor->contents);
	if (!error)
		error = code_write(&w);
	cursor_start(cursor);
	while (!error && (error = cursor_next(cursor, &row)) > 0)
		error = row.event->number == KIND_CUDA_KERNEL ? kernel_write(&w, &row)
							      : ncu_calls_note(&w.calls, &row);
	if (!error && (w.count || !w.has_header))
		error = block_write(&w);
	if (!error)
		error = ranges_write(&w, ranges);
	ret_tally->ranges_left_out = w.calls.ranges_left_out;
	ret_tally->states_left_out = w.calls.states_left_out;
	ncu_calls_release(&w.calls);
	free(w.results.data);
	return error;
}
