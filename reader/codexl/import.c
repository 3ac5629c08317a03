/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - rows of a report from files of CodeXL. */
#include "reader/codexl/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/schema/functions.h"
#include "common/spool.h"
#include "reader/file/schema.h"

#define PROCESS_ID 1u
/* a batch of calls stays well below the size of a block, with its texts */
#define CALLS_OF_BATCH 1024u

struct codexl_importer {
	struct append append;
	struct codexl_import *imports;
	size_t count;
	struct pool pool;
	struct map functions; /* names of OS runtime functions */
	uint64_t start_ns, last_ns;
	uint32_t pid;
	/* the current batch */
	const struct schema_event *event;
	uint32_t tid, row_count;
	int64_t *values;
	uint64_t rows; /* rows of all files */
};

static ProtobufCBinaryData bytes_of(const char *text)
{
	return (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
}

/* ---- session and process ---- */

static void time_note(struct codexl_importer *z, uint64_t start_ns, uint64_t end_ns)
{
	z->start_ns = start_ns < z->start_ns ? start_ns : z->start_ns;
	z->last_ns = end_ns > z->last_ns ? end_ns : z->last_ns;
}

static void times_find(struct codexl_importer *z, const struct codexl_file *f)
{
	for (uint32_t i = 0; i < f->calls.count; i++)
		if (f->calls.rows[i].parts & CODEXL_HAS_TIMES)
			time_note(z, f->calls.rows[i].start_ns, f->calls.rows[i].end_ns);
	for (uint32_t i = 0; i < f->commands.count; i++)
		time_note(z, f->commands.rows[i].start_ns, f->commands.rows[i].end_ns);
	for (uint32_t i = 0; i < f->kernels.count; i++)
		time_note(z, f->kernels.rows[i].start_ns, f->kernels.rows[i].end_ns);
	for (uint32_t i = 0; i < f->markers.count; i++) {
		const struct codexl_marker *m = &f->markers.rows[i];
		time_note(z, m->start_ns, m->ended ? m->end_ns : m->start_ns);
	}
}

/* Set the pid to the tid of the first thread, because files do not contain the pid. */
static void pid_find(struct codexl_importer *z, const struct codexl_file *f)
{
	if (!z->pid && f->calls.count)
		z->pid = f->calls.rows[0].tid;
	if (!z->pid && f->markers.count)
		z->pid = f->markers.rows[0].tid;
}

/* Return the value of a header key from the first file that has it. */
static const char *header_of(const struct codexl_importer *z, const char *key)
{
	const char *value = "";
	for (size_t i = 0; i < z->count && !*value; i++)
		value = codexl_file_header(z->imports[i].file, key);
	return value;
}

static void session_append(struct codexl_importer *z)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Session session = LIBTRACE__SESSION__INIT;
	session.has_start_ns = session.has_root_pid = true;
	session.start_ns = z->start_ns;
	session.root_pid = z->pid;
	session.kernel = (char *)header_of(z, "OS Version");
	session.library_version = (char *)LIBTRACE_VERSION;
	entry.session = &session;
	append_entry(&z->append, &entry);
}

static void process_append(struct codexl_importer *z)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Process process = LIBTRACE__PROCESS__INIT;
	const char *executable = header_of(z, "Application"),
		   *arguments = header_of(z, "ApplicationArgs");
	ProtobufCBinaryData texts[] = {bytes_of(executable), bytes_of(arguments)};
	process.has_id = process.has_pid = process.has_start_ns = process.has_end_ns = true;
	process.has_imported_from = true;
	process.id = PROCESS_ID;
	process.pid = z->pid;
	process.start_ns = z->start_ns;
	process.end_ns = z->last_ns;
	process.executable = (char *)executable;
	process.work_directory = (char *)header_of(z, "WorkingDirectory");
	process.n_arguments = *arguments ? 2 : *executable ? 1 : 0;
	process.arguments = texts;
	process.imported_from = bytes_of(z->imports[0].name);
	entry.process = &process;
	append_entry(&z->append, &entry);
}

static uint64_t events_of(const struct codexl_file *f)
{
	return (uint64_t)f->headers.count + f->calls.count + f->commands.count + f->kernels.count +
		f->markers.count + f->cells.count;
}

static void import_append(struct codexl_importer *z, struct codexl_import *import)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Imported imported = LIBTRACE__IMPORTED__INIT;
	imported.has_name = imported.has_bytes = imported.has_crc32c = imported.has_events = true;
	imported.has_display_name = true;
	imported.name = bytes_of(import->name);
	imported.display_name = bytes_of(codexl_file_header(import->file, "DisplayName"));
	imported.bytes = import->file->bytes;
	imported.crc32c = import->file->crc;
	imported.events = import->events = events_of(import->file);
	z->rows += import->events;
	entry.imported = &imported;
	append_entry(&z->append, &entry);
}

static void receipt_append(struct codexl_importer *z)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Receipt receipt = LIBTRACE__RECEIPT__INIT;
	receipt.has_process = receipt.has_produced = receipt.has_written = true;
	receipt.process = PROCESS_ID;
	receipt.produced = receipt.written = z->rows;
	entry.receipt = &receipt;
	append_entry(&z->append, &entry);
}

/* ---- rows ---- */

static void rows_flush(struct codexl_importer *z)
{
	if (z->row_count)
		append_rows(
			&z->append, z->event->number, PROCESS_ID, z->tid, z->row_count, z->values);
	z->row_count = 0;
}

/* Add a row of zeros with its time. A batch ends when the kind or thread changes, when it is full,
 * or when its texts fill a block. */
static int64_t *row_new(struct codexl_importer *z, uint32_t kind, uint32_t tid, uint64_t ns)
{
	if (!z->event || z->event->number != kind || z->tid != tid ||
		z->row_count == APPEND_ROWS_MAX || z->append.strings.bytes >= APPEND_BLOCK_BYTES)
		rows_flush(z);
	z->event = schema_event(kind);
	z->tid = tid;
	int64_t *row = z->values + (size_t)z->row_count++ * z->event->field_count;
	memset(row, 0, z->event->field_count * sizeof(*row));
	row[0] = (int64_t)ns;
	return row;
}

#define SET(kind, column, value) \
	row[schema_column_index(z->event, FIELD_##kind##_##column)] = (int64_t)(value)
#define SET_TEXT(kind, column, text) SET(kind, column, append_text(&z->append, text))
#define SET_SIZES(kind, sizes)                         \
	do {                                           \
		SET(kind, GRID_X, (sizes)->grid[0]);   \
		SET(kind, GRID_Y, (sizes)->grid[1]);   \
		SET(kind, GRID_Z, (sizes)->grid[2]);   \
		SET(kind, BLOCK_X, (sizes)->block[0]); \
		SET(kind, BLOCK_Y, (sizes)->block[1]); \
		SET(kind, BLOCK_Z, (sizes)->block[2]); \
	} while (0)

static void headers_append(struct codexl_importer *z, const struct codexl_file *f)
{
	for (uint32_t i = 0; i < f->headers.count; i++) {
		int64_t *row = row_new(z, KIND_CODEXL_HEADER, 0, z->start_ns);
		SET(CODEXL_HEADER, FORMAT, f->format);
		SET_TEXT(CODEXL_HEADER, KEY, f->headers.rows[i].key);
		SET_TEXT(CODEXL_HEADER, VALUE, f->headers.rows[i].value);
	}
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static enum codexl_api api_of(const struct codexl_importer *z, const struct codexl_call *call)
{
	const char *name = call->name;
	if (call->is_opencl || !(call->parts & CODEXL_HAS_TIMES))
		return CODEXL_API_OTHER;
	if ((!strncmp(name, "cuda", 4) && is_upper(name[4])) ||
		(!strncmp(name, "cu", 2) && is_upper(name[2])))
		return CODEXL_API_CUDA;
	return map_get(&z->functions, (uint64_t)(uintptr_t)name, 0) ? CODEXL_API_OSRT
								    : CODEXL_API_OTHER;
}

/* Parse a return value; 0 if it is not an integer. */
static int64_t return_value(const char *text)
{
	char *end;
	errno = 0;
	long long number = strtoll(text, &end, 10);
	return *text && !*end && !errno ? number : 0;
}

static void call_append(struct codexl_importer *z, const struct codexl_call *c, uint32_t number)
{
	const bool timed = c->parts & CODEXL_HAS_TIMES;
	int64_t *row = row_new(z, KIND_CODEXL_CALL, c->tid, timed ? c->start_ns : z->start_ns);
	SET(CODEXL_CALL, DURATION, timed ? c->end_ns - c->start_ns : 0);
	SET_TEXT(CODEXL_CALL, FUNCTION, c->name);
	SET(CODEXL_CALL, TYPE, c->type);
	SET(CODEXL_CALL, API, api_of(z, c));
	SET_TEXT(CODEXL_CALL, RESULT, c->result);
	SET(CODEXL_CALL, RETURN_VALUE, return_value(c->result));
	SET_TEXT(CODEXL_CALL, ARGUMENTS, c->arguments);
	SET(CODEXL_CALL, CORRELATION_ID, number);
	SET_TEXT(CODEXL_CALL, CALLER, c->caller);
	SET(CODEXL_CALL, CALLER_LINE, c->caller_line);
	SET_TEXT(CODEXL_CALL, CALLER_FILE, c->caller_file);
	SET(CODEXL_CALL, TRANSFER_START, c->transfer_start_ns);
	SET(CODEXL_CALL, TRANSFER_END, c->transfer_end_ns);
	SET(CODEXL_CALL, TRANSFER_ID, c->transfer_id);
	SET(CODEXL_CALL, IS_OPENCL, c->is_opencl);
	SET(CODEXL_CALL, PARTS, c->parts);
}

static void command_append(struct codexl_importer *z, const struct codexl_command *c)
{
	int64_t *row = row_new(z, KIND_CODEXL_COMMAND, 0, c->start_ns);
	SET(CODEXL_COMMAND, DURATION, c->end_ns - c->start_ns);
	SET_TEXT(CODEXL_COMMAND, NAME, c->kernel);
	SET(CODEXL_COMMAND, COMMAND_TYPE, c->type);
	SET_TEXT(CODEXL_COMMAND, COMMAND, c->command);
	SET(CODEXL_COMMAND, QUEUED, c->queued_ns);
	SET(CODEXL_COMMAND, SUBMITTED, c->submitted_ns);
	SET(CODEXL_COMMAND, STREAM_ID, c->queue_id);
	SET(CODEXL_COMMAND, QUEUE, c->queue);
	SET(CODEXL_COMMAND, CONTEXT_ID, c->context_id);
	SET(CODEXL_COMMAND, CONTEXT, c->context);
	SET(CODEXL_COMMAND, DEVICE_ID, c->device_id);
	SET_TEXT(CODEXL_COMMAND, DEVICE, c->device);
	SET(CODEXL_COMMAND, HANDLE, c->handle);
	SET_TEXT(CODEXL_COMMAND, GLOBAL_SIZE, c->global_size);
	SET_TEXT(CODEXL_COMMAND, GROUP_SIZE, c->group_size);
	SET(CODEXL_COMMAND, BYTES, c->bytes);
	SET(CODEXL_COMMAND, OPERATION, c->operation);
	SET(CODEXL_COMMAND, CORRELATION_ID, (uint64_t)c->call + 1);
	SET(CODEXL_COMMAND, COLUMNS, c->columns);
	SET_SIZES(CODEXL_COMMAND, &c->sizes);
}

static int compare_commands(const void *a, const void *b)
{
	const struct codexl_command *x = a, *y = b;
	return (x->call > y->call) - (x->call < y->call);
}

/* Write batches of calls, each followed by the commands that its calls started on devices, so that
 * a reader needs memory for one batch only. */
static void calls_append(struct codexl_importer *z, const struct codexl_file *f)
{
	struct codexl_command *commands = f->commands.rows;
	uint32_t next = 0;
	if (f->commands.count)
		qsort(commands, f->commands.count, sizeof(*commands), compare_commands);
	for (uint32_t i = 0; i < f->calls.count;) {
		const uint32_t first = i, tid = f->calls.rows[i].tid;
		while (i < f->calls.count && i - first < CALLS_OF_BATCH &&
			f->calls.rows[i].tid == tid) {
			call_append(z, &f->calls.rows[i], i + 1);
			i++;
		}
		for (; next < f->commands.count && commands[next].call < i; next++)
			command_append(z, &commands[next]);
	}
}

static void kernels_append(struct codexl_importer *z, const struct codexl_file *f)
{
	for (uint32_t i = 0; i < f->kernels.count; i++) {
		const struct codexl_kernel *k = &f->kernels.rows[i];
		int64_t *row = row_new(z, KIND_CODEXL_KERNEL, 0, k->start_ns);
		SET(CODEXL_KERNEL, DURATION, k->end_ns - k->start_ns);
		SET_TEXT(CODEXL_KERNEL, NAME, k->name);
		SET(CODEXL_KERNEL, HANDLE, k->handle);
		SET(CODEXL_KERNEL, DEVICE_ID, k->device_id);
		SET_TEXT(CODEXL_KERNEL, DEVICE, k->device);
		SET(CODEXL_KERNEL, AGENT, k->agent);
		SET(CODEXL_KERNEL, STREAM_ID, k->queue_id);
		SET_TEXT(CODEXL_KERNEL, QUEUE, k->queue);
		SET_TEXT(CODEXL_KERNEL, PACKET_TYPE, k->packet_type);
		SET_TEXT(CODEXL_KERNEL, PACKET_ID, k->packet_id);
		SET_TEXT(CODEXL_KERNEL, PACKET, k->packet);
		SET_SIZES(CODEXL_KERNEL, &k->sizes);
	}
}

static void markers_append(struct codexl_importer *z, const struct codexl_file *f)
{
	for (uint32_t i = 0; i < f->markers.count; i++) {
		const struct codexl_marker *m = &f->markers.rows[i];
		const uint64_t end_ns = m->ended ? m->end_ns : z->last_ns;
		int64_t *row = row_new(z, KIND_NVTX_RANGE, m->tid, m->start_ns);
		SET(NVTX_RANGE, DURATION, end_ns - m->start_ns);
		SET_TEXT(NVTX_RANGE, DOMAIN, m->group);
		SET_TEXT(NVTX_RANGE, TEXT, m->name);
		SET(NVTX_RANGE, LEVEL, m->level);
		SET(NVTX_RANGE, FLAGS, RECORD_IMPORTED | (m->ended ? 0 : RECORD_UNFINISHED));
	}
}

static void cells_append(struct codexl_importer *z, const struct codexl_file *f)
{
	for (uint32_t i = 0; i < f->cells.count; i++) {
		int64_t *row = row_new(z, KIND_CODEXL_CELL, 0, z->start_ns);
		SET(CODEXL_CELL, FORMAT, f->format);
		SET(CODEXL_CELL, ROW, f->cells.rows[i].row);
		SET_TEXT(CODEXL_CELL, NAME, f->cells.rows[i].name);
		SET_TEXT(CODEXL_CELL, VALUE, f->cells.rows[i].value);
		SET(CODEXL_CELL, BLANKS_BEFORE, f->cells.rows[i].blanks_before);
		SET(CODEXL_CELL, BLANKS_BEHIND, f->cells.rows[i].blanks_behind);
	}
}

static void rows_append(struct codexl_importer *z)
{
	for (size_t i = 0; i < z->count; i++) {
		const struct codexl_file *f = z->imports[i].file;
		headers_append(z, f);
		calls_append(z, f);
		kernels_append(z, f);
		markers_append(z, f);
		cells_append(z, f);
	}
	rows_flush(z);
}

/* ---- the report ---- */

static int functions_find(struct codexl_importer *z)
{
	int error = 0;
	for (uint32_t fn = 1; !error && fn < fn_count(); fn++) {
		const char *name = fn_name(fn);
		const char *text =
			name ? pool_text(z->imports[0].file->pool, name, strlen(name)) : NULL;
		error = text ? map_put(&z->functions, (uint64_t)(uintptr_t)text, 0, fn) : -ENOMEM;
	}
	return error;
}

static int all_append(struct codexl_importer *z, uint8_t **ret_data, size_t *ret_bytes)
{
	Libtrace__SessionDetails details = LIBTRACE__SESSION_DETAILS__INIT;
	Libtrace__VersionInfo version = LIBTRACE__VERSION_INFO__INIT, *versions[] = {&version};
	Libtrace__ExecutableSettings executable = LIBTRACE__EXECUTABLE_SETTINGS__INIT;
	const char *path = header_of(z, "Application"), *slash = strrchr(path, '/');
	version.provider = (char *)"libtrace";
	version.version = (char *)LIBTRACE_VERSION;
	executable.executable_path = (char *)path;
	executable.work_directory = (char *)header_of(z, "WorkingDirectory");
	executable.command_line_arguments = (char *)header_of(z, "ApplicationArgs");
	details.has_process_id = true;
	details.process_id = z->pid;
	details.n_versions = 1;
	details.versions = versions;
	details.executable = &executable;
	libtrace__process_info__init(&z->append.process);
	z->append.process.process_id = z->pid;
	z->append.process.process_name = strdup(slash ? slash + 1 : path);
	z->append.has_process = z->append.process.process_name;
	z->append.details = &details;
	z->append.compress = true;
	append_texts_begin(&z->append, 0);
	session_append(z);
	process_append(z);
	for (size_t i = 0; i < z->count; i++)
		import_append(z, &z->imports[i]);
	receipt_append(z);
	rows_append(z);
	int error = append_texts_end(&z->append);
	return error ? error : append_file(&z->append, ret_data, ret_bytes);
}

int codexl_import(
	struct codexl_import *imports, size_t count, uint8_t **ret_data, size_t *ret_bytes)
{
	struct codexl_importer z = {.imports = imports, .count = count, .start_ns = UINT64_MAX};
	append_start(&z.append);
	z.values = malloc((size_t)APPEND_ROWS_MAX * SCHEMA_FIELDS * sizeof(*z.values));
	int error = z.values ? functions_find(&z) : -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		times_find(&z, imports[i].file);
		pid_find(&z, imports[i].file);
	}
	if (z.start_ns > z.last_ns)
		z.start_ns = z.last_ns = 0;
	z.pid = z.pid ? z.pid : 1;
	if (!error)
		error = all_append(&z, ret_data, ret_bytes);
	append_close(&z.append);
	map_release(&z.functions);
	free(z.values);
	return error;
}
