/* SPDX-License-Identifier: Apache-2.0 */
/* to_report.c - a report from the events of a database. */
#include "reader/sql/to_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/frame_address.h"
#include "common/spool.h"
#include "reader/base/io.h"
#include "reader/base/pool.h"
#include "reader/file/append.h"
#include "reader/file/schema.h"
#include "reader/sql/reports.h"

#define WINDOW_ROWS 65536u              /* rows that are sorted by thread */
#define PID_BITS 24                     /* low bits of a process's key: its pid */
#define TIME_MAX (INT64_C(1) << 61)     /* a greater number is not a time */
#define ORIGIN_LEAST (INT64_C(1) << 56) /* times above it are not relative to the session */
#define MEMORY_PROCESS 1u               /* process whose callchains and names all processes use */
#define SYMBOLS_OF_ENTRY 4096u
#define NODES_OF_ENTRY 65536u

/* Columns that are not in the schema. */
enum { COLUMN_KIND = -1, COLUMN_PROCESS = -2, COLUMN_TID = -3 };

struct converted_row {
	uint32_t process, tid;
	uint32_t order;   /* index in the window, which keeps the order of equal threads */
	uint64_t unknown; /* numbers without a value, a bit for each index of a field */
	int64_t values[SCHEMA_FIELDS];
};

struct converted_process {
	uint64_t key; /* globalPid >> 24 */
	const char *name;
	uint64_t first_ns, last_ns, events;
};

struct to_report {
	struct sql *s;
	int fd;
	uint64_t written;
	struct append append;
	struct pool pool;
	struct map ids; /* key of a process -> index in `processes` + 1 */
	struct converted_process *processes;
	uint32_t process_count, process_capacity;
	int64_t origin_ns, last_ns; /* time 0 of the session; greatest time */
	int64_t shift_ns;           /* added to each time, so that none is negative */
	struct map chains;          /* id of a callchain -> node */
	struct map children;        /* parent node, address -> node */
	struct map addresses;       /* address -> index in `frames` + 1 */
	struct map frames_by_text;  /* function, module -> index in `frames` + 1 */
	struct converted_frame {
		uint64_t address;
		uint32_t function, module; /* Strings ids */
	} * frames;
	uint32_t frame_count, frame_capacity;
	uint64_t last_made_up; /* last address invented for a frame without one */
	struct converted_node {
		uint32_t parent;
		uint64_t address;
	} * nodes;
	uint32_t node_count, node_capacity;
	uint64_t chain; /* callchain being built, and its inner node so far */
	uint32_t node;
	struct map nests; /* key of process and tid, domain -> index in `open` + 1 */
	struct converted_nest {
		int64_t *ends;
		uint32_t count, capacity;
	} * open; /* ends of the push/pop ranges that are open, of each thread and domain */
	uint32_t open_count, open_capacity;
	/* statement that is running */
	const struct schema_event *event;
	int columns[SCHEMA_FIELDS + 3];
	int column_count;
	struct converted_row *rows;
	uint32_t row_count;
	int64_t *batch;
	uint64_t *batch_unknown;
	uint64_t numbers; /* columns of the statement's event that may be unknown in some rows */
	struct to_report_tally *tally;
	uint64_t known[SCHEMA_KINDS]; /* columns with a value, as in to_report_tally.unknown */
};

/* ---- output ---- */

static ProtobufCBinaryData bytes_of(const char *text)
{
	return (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
}

/* Write the blocks so far. */
static int blocks_write(struct to_report *w)
{
	uint8_t *data = NULL;
	size_t bytes = 0;
	int error = append_texts_end(&w->append);
	if (!error)
		error = w->written ? append_blocks(&w->append, &data, &bytes)
				   : append_file(&w->append, &data, &bytes);
	if (!error)
		error = io_write_at(w->fd, data, bytes, w->written);
	w->written += bytes;
	free(data);
	return error;
}

static uint32_t text_add(struct to_report *w, const struct sql_value *v)
{
	if (v->type != SQL_TEXT || !v->bytes)
		return 0;
	const char *text = pool_text(&w->pool, v->text, strnlen(v->text, v->bytes));
	w->append.broken |= !text;
	return append_text(&w->append, text);
}

/* ---- processes ---- */

/* Return the number of a process in the report; 0 = out of memory. */
static uint32_t process_number(struct to_report *w, int64_t key)
{
	uint32_t found = map_get(&w->ids, (uint64_t)key, 0);
	if (found)
		return found;
	if (array_room(
		    &w->processes, w->process_count, &w->process_capacity, sizeof(*w->processes)) ||
		map_put(&w->ids, (uint64_t)key, 0, w->process_count + 1))
		return 0;
	w->processes[w->process_count] =
		(struct converted_process){.key = (uint64_t)key, .first_ns = UINT64_MAX};
	return ++w->process_count;
}

static int name_take(void *user, const struct sql_value *v, int count)
{
	struct to_report *w = user;
	uint32_t found = count == 2 ? map_get(&w->ids, (uint64_t)v[0].integer, 0) : 0;
	if (!found || v[1].type != SQL_TEXT)
		return 0;
	w->processes[found - 1].name = pool_text(&w->pool, v[1].text, v[1].bytes);
	return w->processes[found - 1].name ? 0 : -ENOMEM;
}

static void process_append(struct to_report *w, uint32_t number, const char *source)
{
	const struct converted_process *p = &w->processes[number - 1];
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Process message = LIBTRACE__PROCESS__INIT;
	message.has_id = message.has_pid = message.has_start_ns = message.has_end_ns = true;
	message.has_imported_from = message.has_traced = true;
	message.traced = LIBTRACE__TRACED__TRACED_NO;
	message.id = number;
	message.pid = (uint32_t)(p->key & ((1u << PID_BITS) - 1));
	message.start_ns = p->events ? p->first_ns : (uint64_t)w->shift_ns;
	message.end_ns = p->events ? p->last_ns : (uint64_t)w->shift_ns;
	message.executable = (char *)p->name;
	message.has_memory_of = number != MEMORY_PROCESS;
	message.memory_of = MEMORY_PROCESS;
	message.imported_from = bytes_of(source);
	entry.process = &message;
	append_entry(&w->append, &entry);
}

static int processes_append(struct to_report *w, const char *source)
{
	const struct sql_visitor visitor = {w, NULL, name_take};
	int error = sql_run(w->s,
		"SELECT globalPid >> 24, name FROM PROCESSES WHERE globalPid IS NOT NULL",
		&visitor);
	for (uint32_t n = 1; !error && n <= w->process_count; n++)
		process_append(w, n, source);
	return error;
}

/* ---- callchains ---- */

static bool is_of_program(const struct sql_value *address)
{
	return address->type == SQL_INTEGER && address->integer > 0 &&
		(uint64_t)address->integer < ADDRESS_PYTHON;
}

/* Return the address of a frame: its address in the database, or an invented address if it has
 * none, if it is not of a program (the kernel's, and those of Python frames, whose code objects are
 * not in the database), or if another function has the same. 0 = out of memory. */
static uint64_t frame_address(struct to_report *w, const struct sql_value *function,
	const struct sql_value *module, const struct sql_value *address)
{
	struct converted_frame f = {.function = text_add(w, function),
		.module = text_add(w, module),
		.address = is_of_program(address) ? (uint64_t)address->integer : 0};
	const uint64_t text = (uint64_t)f.function << 32 | f.module;
	uint32_t known = map_get(&w->frames_by_text, text, f.address);
	if (known)
		return w->frames[known - 1].address;
	const uint64_t asked = f.address;
	while (!f.address || map_get(&w->addresses, f.address, 0))
		f.address = ++w->last_made_up;
	if (array_room(&w->frames, w->frame_count, &w->frame_capacity, sizeof(*w->frames)) ||
		map_put(&w->frames_by_text, text, asked, w->frame_count + 1) ||
		map_put(&w->addresses, f.address, 0, w->frame_count + 1))
		return 0;
	w->frames[w->frame_count++] = f;
	return f.address;
}

static uint32_t node_of(struct to_report *w, uint32_t parent, uint64_t address)
{
	uint32_t known = map_get(&w->children, parent, address);
	if (known)
		return known;
	if (array_room(&w->nodes, w->node_count, &w->node_capacity, sizeof(*w->nodes)) ||
		map_put(&w->children, parent, address, w->node_count + 1))
		return 0;
	w->nodes[w->node_count++] = (struct converted_node){parent, address};
	return w->node_count;
}

/* Add a frame of a callchain, outermost first; columns: id, function, module, address. */
static int frame_take(void *user, const struct sql_value *v, int count)
{
	struct to_report *w = user;
	if (count != 4 || v[0].type != SQL_INTEGER)
		return 0;
	if ((uint64_t)v[0].integer != w->chain)
		w->node = 0;
	w->chain = (uint64_t)v[0].integer;
	const uint64_t address = frame_address(w, &v[1], &v[2], &v[3]);
	w->node = address ? node_of(w, w->node, address) : 0;
	return w->node ? map_put(&w->chains, w->chain, 0, w->node) : -ENOMEM;
}

static int nodes_append(struct to_report *w)
{
	uint32_t *parents = malloc(NODES_OF_ENTRY * sizeof(*parents));
	int64_t *addresses = malloc(NODES_OF_ENTRY * sizeof(*addresses));
	for (uint32_t first = 0; parents && addresses && first < w->node_count;
		first += NODES_OF_ENTRY) {
		Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
		Libtrace__Callchains message = LIBTRACE__CALLCHAINS__INIT;
		uint32_t count = w->node_count - first;
		uint64_t before = 0;
		count = count < NODES_OF_ENTRY ? count : NODES_OF_ENTRY;
		for (uint32_t i = 0; i < count; i++) {
			parents[i] = w->nodes[first + i].parent;
			addresses[i] = (int64_t)(w->nodes[first + i].address - before);
			before = w->nodes[first + i].address;
		}
		message.has_process = message.has_first_id = true;
		message.process = MEMORY_PROCESS;
		message.first_id = first + 1;
		message.n_parents = message.n_addresses = count;
		message.parents = parents;
		message.addresses = addresses;
		entry.callchains = &message;
		append_entry(&w->append, &entry);
	}
	bool failed = !parents || !addresses;
	free(parents);
	free(addresses);
	return failed ? -ENOMEM : 0;
}

static int compare_frames(const void *a, const void *b)
{
	const struct converted_frame *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

/* Append the names of up to SYMBOLS_OF_ENTRY frames. */
static void symbols_append_some(
	struct to_report *w, const struct converted_frame *frames, uint32_t count)
{
	static int64_t addresses[SYMBOLS_OF_ENTRY];
	static uint64_t offsets[SYMBOLS_OF_ENTRY];
	static uint32_t ones[SYMBOLS_OF_ENTRY], zeros[SYMBOLS_OF_ENTRY],
		functions[SYMBOLS_OF_ENTRY], modules[SYMBOLS_OF_ENTRY];
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Symbols message = LIBTRACE__SYMBOLS__INIT;
	for (uint32_t i = 0; i < count; i++) {
		addresses[i] = (int64_t)(frames[i].address - (i ? frames[i - 1].address : 0));
		functions[i] = frames[i].function;
		modules[i] = frames[i].module;
		ones[i] = 1;
	}
	message.has_process = true;
	message.process = MEMORY_PROCESS;
	message.n_addresses = message.n_frame_counts = message.n_functions = message.n_files =
		message.n_lines = message.n_modules = message.n_offsets = message.n_reasons = count;
	message.addresses = addresses;
	message.frame_counts = ones;
	message.functions = functions;
	message.files = message.lines = message.reasons = zeros;
	message.modules = modules;
	message.offsets = offsets;
	entry.symbols = &message;
	append_entry(&w->append, &entry);
}

static int chains_append(struct to_report *w)
{
	const struct sql_visitor visitor = {w, NULL, frame_take};
	int error = sql_run(w->s, report_shared("report_chains"), &visitor);
	if (!error)
		error = nodes_append(w);
	if (w->frame_count)
		qsort(w->frames, w->frame_count, sizeof(*w->frames), compare_frames);
	for (uint32_t i = 0; !error && i < w->frame_count; i += SYMBOLS_OF_ENTRY) {
		const uint32_t left = w->frame_count - i;
		symbols_append_some(
			w, &w->frames[i], left < SYMBOLS_OF_ENTRY ? left : SYMBOLS_OF_ENTRY);
	}
	return error;
}

/* ---- events ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct converted_row *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Write the rows of the window: batches of one thread each. A window is short in time, so that a
 * reader needs few blocks at once. */
static int rows_flush(struct to_report *w)
{
	const uint32_t fields = w->event ? w->event->field_count : 0;
	if (!w->row_count)
		return 0;
	qsort(w->rows, w->row_count, sizeof(*w->rows), compare_rows);
	for (uint32_t i = 0; i < w->row_count;) {
		const struct converted_row *first = &w->rows[i];
		uint64_t partly = 0;
		uint32_t count = 0;
		while (i < w->row_count && count < APPEND_ROWS_MAX &&
			w->rows[i].process == first->process && w->rows[i].tid == first->tid) {
			partly |= w->rows[i].unknown;
			w->batch_unknown[count] = w->rows[i].unknown;
			memcpy(&w->batch[(size_t)fields * count++], w->rows[i++].values,
				fields * sizeof(int64_t));
		}
		w->tally->partly[w->event->number] |= partly;
		append_rows_partly(&w->append, w->event->number, first->process, first->tid, count,
			w->batch, partly ? w->batch_unknown : NULL);
	}
	w->row_count = 0;
	return blocks_write(w);
}

static int column_of(const struct schema_event *event, const char *name)
{
	for (uint32_t i = 0; i < event->field_count; i++)
		if (!strcmp(event->fields[i].column, name))
			return (int)i;
	return !strcmp(name, "process") ? COLUMN_PROCESS : COLUMN_TID;
}

/* Return the columns that are computed from others, and those whose 0 means none. */
static uint64_t computed_columns(const struct schema_event *event)
{
	uint64_t columns = 1; /* the start */
	for (uint32_t i = 1; i < event->field_count; i++) {
		const enum field_kind kind = event->fields[i].kind;
		if (kind == FIELD_KIND_DURATION || kind == FIELD_KIND_FLAGS ||
			kind == FIELD_KIND_CALLCHAIN || kind == FIELD_KIND_CODE ||
			kind == FIELD_KIND_METHOD || kind == FIELD_KIND_PAYLOAD ||
			kind == FIELD_KIND_PAYLOAD_TYPE || kind == FIELD_KIND_PROTOTYPE ||
			kind == FIELD_KIND_WORD_COUNT || kind == FIELD_KIND_WORD ||
			!strcmp(event->fields[i].column, "level"))
			columns |= UINT64_C(1) << i;
	}
	return columns;
}

/* Return the columns that are copied numbers: one without a value is unknown, not 0. */
static uint64_t number_columns(const struct schema_event *event)
{
	uint64_t columns = 0;
	for (uint32_t i = 1; i < event->field_count; i++) {
		const enum field_kind kind = event->fields[i].kind;
		if (kind == FIELD_KIND_INT || kind == FIELD_KIND_UINT || kind == FIELD_KIND_HEX)
			columns |= UINT64_C(1) << i;
	}
	return columns & ~computed_columns(event);
}

static void unknown_find(struct to_report *w)
{
	for (uint32_t kind = 0; kind < SCHEMA_KINDS; kind++) {
		const struct schema_event *event = schema_event(kind);
		if (event && w->known[kind])
			w->tally->unknown[kind] = ~(w->known[kind] | computed_columns(event)) &
				((UINT64_C(1) << event->field_count) - 1);
	}
}

static int columns_take(void *user, const char *const *names, int count)
{
	struct to_report *w = user;
	int error = rows_flush(w);
	w->event = count > 3 ? schema_event_named(names[0]) : NULL;
	if (!w->event || (size_t)count > sizeof(w->columns) / sizeof(w->columns[0]))
		return error ? error : -EINVAL;
	w->numbers = number_columns(w->event);
	w->column_count = count;
	w->columns[0] = COLUMN_KIND;
	for (int i = 1; i < count; i++) {
		w->columns[i] = column_of(w->event, names[i]);
		if (w->columns[i] == COLUMN_TID && strcmp(names[i], "tid") != 0)
			return -EINVAL;
	}
	return error;
}

/* Return the number for a value of a column. */
static int64_t number_of(struct to_report *w, const struct schema_field *field, int64_t type_before,
	const struct sql_value *v)
{
	float single = (float)v->real;
	int64_t bits = 0;
	switch (field->kind) {
	case FIELD_KIND_STRING:
	case FIELD_KIND_FUNCTION:
	case FIELD_KIND_SYMBOL:
	case FIELD_KIND_PROTOTYPE:
		return text_add(w, v);
	case FIELD_KIND_CALLCHAIN:
		return v->type == SQL_INTEGER ? map_get(&w->chains, (uint64_t)v->integer, 0) : 0;
	case FIELD_KIND_PAYLOAD:
		if (type_before == PAYLOAD_DOUBLE)
			memcpy(&bits, &v->real, sizeof(bits));
		else if (type_before == PAYLOAD_FLOAT)
			memcpy(&bits, &single, sizeof(single));
		else
			bits = v->type == SQL_INTEGER ? v->integer : 0;
		return bits;
	default:
		return v->type == SQL_INTEGER ? v->integer : 0;
	}
}

/* Complete the times of a row. Returns false if they are impossible. `has_duration`: the event
 * ended. */
static bool times_set(
	struct to_report *w, struct converted_row *row, bool has_start, bool has_duration)
{
	const int duration = schema_column(w->event, FIELD_KIND_DURATION);
	const int flags = schema_column(w->event, FIELD_KIND_FLAGS);
	int64_t *start = &row->values[0];
	if (!has_start || *start < -TIME_MAX || *start > TIME_MAX)
		return false;
	if (duration > 0 && !has_duration) {
		row->values[duration] = w->last_ns > *start ? w->last_ns - *start : 0;
		if (flags > 0)
			row->values[flags] |= RECORD_UNFINISHED;
	}
	const int64_t ns = duration > 0 ? row->values[duration] : 0;
	if (ns < 0 || ns > TIME_MAX)
		return false;
	*start += w->shift_ns;
	return *start >= 0;
}

/* Set the level of a push/pop range: the number of enclosing ranges. Rows are in order of their
 * start. */
static int level_set(struct to_report *w, struct converted_row *row)
{
	const int64_t end =
		row->values[0] + row->values[schema_column(w->event, FIELD_KIND_DURATION)];
	const int64_t domain = row->values[schema_column_index(w->event, FIELD_NVTX_RANGE_DOMAIN)];
	const uint64_t thread = (uint64_t)row->process << 32 | row->tid;
	uint32_t found = map_get(&w->nests, thread, (uint64_t)domain);
	if (!found) {
		if (array_room(&w->open, w->open_count, &w->open_capacity, sizeof(*w->open)) ||
			map_put(&w->nests, thread, (uint64_t)domain, w->open_count + 1))
			return -ENOMEM;
		w->open[w->open_count] = (struct converted_nest){0};
		found = ++w->open_count;
	}
	struct converted_nest *n = &w->open[found - 1];
	while (n->count && n->ends[n->count - 1] <= row->values[0])
		n->count--;
	if (array_room(&n->ends, n->count, &n->capacity, sizeof(*n->ends)))
		return -ENOMEM;
	row->values[schema_column_index(w->event, FIELD_NVTX_RANGE_LEVEL)] = n->count;
	n->ends[n->count++] = end;
	return 0;
}

static void process_note(struct to_report *w, uint32_t number, const struct converted_row *row)
{
	struct converted_process *p = &w->processes[number - 1];
	const int duration = schema_column(w->event, FIELD_KIND_DURATION);
	const uint64_t start = (uint64_t)row->values[0],
		       end = start + (duration > 0 ? (uint64_t)row->values[duration] : 0);
	p->events++;
	w->tally->events++;
	if (w->event->number == KIND_CUDA_DEVICE || w->event->number == KIND_GPU_DEVICE ||
		w->event->number == KIND_THREAD_NAME) {
		w->tally->facts++;
		return;
	}
	p->first_ns = start < p->first_ns ? start : p->first_ns;
	p->last_ns = end > p->last_ns ? end : p->last_ns;
}

static int row_take(void *user, const struct sql_value *v, int count)
{
	struct to_report *w = user;
	struct converted_row *row = &w->rows[w->row_count];
	const int duration = schema_column(w->event, FIELD_KIND_DURATION);
	int64_t process = 0;
	bool has_process = false, has_start = false, has_duration = false;
	if (count != w->column_count)
		return -EINVAL;
	memset(row, 0, sizeof(*row));
	for (int i = 1; i < count; i++) {
		const int column = w->columns[i];
		if (column == COLUMN_PROCESS)
			process = v[i].integer;
		else if (column == COLUMN_TID)
			row->tid = (uint32_t)v[i].integer;
		else
			row->values[column] = number_of(w, &w->event->fields[column],
				column ? row->values[column - 1] : 0, &v[i]);
		if (column >= 0 && v[i].type != SQL_NULL)
			w->known[w->event->number] |= UINT64_C(1) << column;
		else if (column >= 0)
			row->unknown |= w->numbers & UINT64_C(1) << column;
		has_process |= column == COLUMN_PROCESS && v[i].type == SQL_INTEGER;
		has_start |= column == 0 && v[i].type == SQL_INTEGER;
		has_duration |= column == duration && v[i].type == SQL_INTEGER;
	}
	/* Databases name all threads of the machine: keep those of processes with events. */
	if (w->event->number == KIND_THREAD_NAME && !map_get(&w->ids, (uint64_t)process, 0))
		return 0;
	if (!has_process || !times_set(w, row, has_start, has_duration)) {
		w->tally->impossible++;
		return 0;
	}
	row->process = process_number(w, process);
	if (!row->process || (w->event->number == KIND_NVTX_RANGE && level_set(w, row)))
		return -ENOMEM;
	process_note(w, row->process, row);
	row->order = w->row_count++;
	return w->row_count == WINDOW_ROWS ? rows_flush(w) : 0;
}

static int events_append(struct to_report *w)
{
	const struct sql_visitor visitor = {w, columns_take, row_take};
	int has = sql_has(w->s, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "deprecatedSyncType");
	if (has < 0)
		return has;
	w->s->arguments = has ? "new-waits" : NULL;
	int error = sql_run(w->s, report_shared("report_events"), &visitor);
	w->s->arguments = NULL;
	return error ? error : rows_flush(w);
}

/* ---- session ---- */

/* Take the row of the session: first and last time, real time at time 0, host. */
static int session_take(void *user, const struct sql_value *v, int count)
{
	struct to_report *w = user;
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Session session = LIBTRACE__SESSION__INIT;
	const int64_t first = count == 4 && v[0].type == SQL_INTEGER ? v[0].integer : 0;
	if (count != 4)
		return -EINVAL;
	w->last_ns = v[1].integer;
	w->origin_ns = first > ORIGIN_LEAST ? first : 0;
	w->shift_ns = first < 0 && first > -TIME_MAX ? -first : 0;
	session.has_start_ns = session.has_start_realtime_ns = true;
	session.start_ns = (uint64_t)(w->origin_ns + w->shift_ns);
	session.start_realtime_ns = (uint64_t)(v[2].type == SQL_INTEGER ? v[2].integer
			: w->origin_ns                                  ? first
									: 0);
	session.hostname = v[3].type == SQL_TEXT ? (char *)v[3].text : NULL;
	entry.session = &session;
	append_entry(&w->append, &entry);
	return 0;
}

static void import_append(struct to_report *w, const char *name, uint64_t bytes)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Imported imported = LIBTRACE__IMPORTED__INIT;
	imported.has_name = imported.has_bytes = imported.has_events = true;
	imported.bytes = bytes;
	imported.name = bytes_of(name);
	imported.events = w->tally->events;
	entry.imported = &imported;
	append_entry(&w->append, &entry);
}

static int convert(struct to_report *w, const char *name, uint64_t bytes)
{
	static const char *const before[] = {"nvtx", "osrt", "graphics", "devices"};
	const struct sql_visitor session = {w, NULL, session_take};
	int error = w->rows && w->batch && w->batch_unknown ? 0 : -ENOMEM;
	for (size_t i = 0; !error && i < sizeof(before) / sizeof(before[0]); i++)
		error = sql_run(w->s, report_shared(before[i]), NULL);
	if (!error)
		error = sql_run(w->s, report_shared("report_session"), &session);
	if (!error)
		error = chains_append(w);
	if (!error)
		error = events_append(w);
	if (!error)
		error = processes_append(w, name);
	unknown_find(w);
	import_append(w, name, bytes);
	return error ? error : blocks_write(w);
}

int sql_to_report(
	struct sql *s, const char *name, uint64_t bytes, int fd, struct to_report_tally *ret_tally)
{
	struct to_report w = {.s = s, .fd = fd, .tally = ret_tally};
	Libtrace__SessionDetails details = LIBTRACE__SESSION_DETAILS__INIT;
	*ret_tally = (struct to_report_tally){0};
	*s->cause = 0;
	append_start(&w.append);
	append_texts_begin(&w.append, 0);
	w.append.details = &details;
	w.append.compress = true;
	w.rows = malloc(WINDOW_ROWS * sizeof(*w.rows));
	w.batch = malloc((size_t)APPEND_ROWS_MAX * SCHEMA_FIELDS * sizeof(*w.batch));
	w.batch_unknown = malloc(APPEND_ROWS_MAX * sizeof(*w.batch_unknown));
	int error = convert(&w, name, bytes);
	append_close(&w.append);
	for (uint32_t i = 0; i < w.open_count; i++)
		free(w.open[i].ends);
	free(w.open);
	map_release(&w.nests);
	map_release(&w.ids);
	map_release(&w.chains);
	map_release(&w.children);
	map_release(&w.addresses);
	map_release(&w.frames_by_text);
	pool_release(&w.pool);
	free(w.processes);
	free(w.frames);
	free(w.nodes);
	free(w.rows);
	free(w.batch);
	free(w.batch_unknown);
	return error;
}
