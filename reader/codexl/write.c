/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - writer of CodeXL files from the rows of a report. */
#include "reader/codexl/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/spool.h"
#include "reader/base/lines.h"
#include "reader/codexl/file.h"
#include "reader/codexl/put.h"
#include "reader/codexl/timeline.h"
#include "reader/file/batch.h"
#include "reader/file/schema.h"

#define HELD_MAX 4096u /* maximum number of calls that wait for their commands */

/* Sections that consist of blocks, one per thread. Sections of calls exist twice, for HSA and
 * OpenCL. */
enum part { PART_CALLS, PART_TIMES, PART_STACK, PART_MARKERS, PARTS };

/* A block: the lines of a thread. */
struct block {
	uint32_t tid, count;
};

struct blocks {
	struct block *rows;
	uint32_t count, capacity;
};

struct row {
	uint32_t tid;
	int64_t values[SCHEMA_FIELDS];
};

/* A marker that has begun. */
struct open_marker {
	uint64_t start_ns, end_ns;
	bool ended;
};

struct codexl_writer {
	const struct report *report;
	struct contents *contents;
	const struct contents_visitor *visitor;
	FILE *out;
	struct blocks blocks[PARTS][2]; /* 0 HSA, 1 OpenCL */
	bool has[CODEXL_FORMATS];
	uint32_t kernel_count;
	/* state of the current pass */
	int (*row)(
		struct codexl_writer *w, const struct schema_event *event, const struct row *row);
	enum part part;
	bool is_opencl;
	enum codexl_format format;
	const char *title;
	uint32_t block; /* index of the next block */
	uint32_t left;  /* lines left in the current block */
	uint64_t lines;
	struct row *held;     /* calls that wait for their commands, HELD_MAX */
	struct row *commands; /* their commands, by the same index */
	uint32_t held_count;
	bool after_commands;
	uint64_t lost;
	struct open_marker *open_markers;
	uint32_t open_count, open_capacity;
	uint32_t open_tid;
	uint64_t table_row;
	char separator; /* 0 = none has been read: a comma */
	bool has_version;
	bool has_queue_index; /* kernel lines have this column */
	int64_t *columns;     /* decoded columns of a batch */
};

/* The columns of these kinds are numbered consecutively from 1. */
#define VALUE(row, kind, column) ((row)->values[FIELD_##kind##_##column - 1])
#define TEXT(w, row, kind, column) text_of(w, VALUE(row, kind, column))

static const char *text_of(const struct codexl_writer *w, int64_t id)
{
	const char *text = string_table_get(&w->contents->strings, (uint32_t)id).text;
	return text ? text : "";
}

/* Add with wraparound, because a report may contain any numbers. */
static int64_t end_of(int64_t start_ns, int64_t duration_ns)
{
	return (int64_t)((uint64_t)start_ns + (uint64_t)duration_ns);
}

/* ---- passes ---- */

static bool is_of_codexl(uint32_t kind)
{
	return (kind >= KIND_CODEXL_HEADER && kind <= KIND_CODEXL_CELL) || kind == KIND_NVTX_RANGE;
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *batch)
{
	struct codexl_writer *w = user;
	const struct schema_event *event = schema_event(batch->kind);
	struct row row = {.tid = batch->tid};
	(void)walk;
	if (!event || !is_of_codexl(batch->kind) || !batch->count)
		return 0;
	free(w->columns);
	w->columns = malloc((size_t)batch->count * event->field_count * sizeof(*w->columns));
	if (!w->columns)
		return -ENOMEM;
	for (uint32_t i = 0; i < event->field_count; i++)
		if (event_batch_column(
			    batch, event->fields[i].number, w->columns + (size_t)i * batch->count))
			return 0; /* already reported in the first pass */
	int error = 0;
	for (uint32_t n = 0; !error && n < batch->count; n++) {
		for (uint32_t i = 0; i < event->field_count; i++)
			row.values[i] = w->columns[(size_t)i * batch->count + n];
		error = w->row(w, event, &row);
	}
	return error ? error : w->out && ferror(w->out) ? -EPIPE : 0;
}

static int visit_block(void *user, const struct report_block *block)
{
	struct codexl_writer *w = user;
	return contents_visit_block(w->visitor, block);
}

static int pass(struct codexl_writer *w,
	int (*row)(
		struct codexl_writer *w, const struct schema_event *event, const struct row *row))
{
	const struct contents_visitor visitor = {w, visit_block, visit_batch, NULL};
	w->row = row;
	w->block = w->left = 0;
	w->lines = 0;
	return contents_batches(w->report, &visitor);
}

/* ---- the first pass: contents of the report ---- */

static int line_count(
	struct codexl_writer *w, enum part part, bool is_opencl, uint32_t tid, uint32_t lines)
{
	struct blocks *b = &w->blocks[part][is_opencl];
	if (!lines)
		return 0;
	if (!b->count || b->rows[b->count - 1].tid != tid) {
		if (array_room(&b->rows, b->count, &b->capacity, sizeof(*b->rows)))
			return -ENOMEM;
		b->rows[b->count++] = (struct block){tid, 0};
	}
	b->rows[b->count - 1].count += lines;
	return 0;
}

/* Return true if `trace import` created the range from a perf marker. */
static bool is_marker(const struct row *row)
{
	return VALUE(row, NVTX_RANGE, FLAGS) & RECORD_IMPORTED;
}

static bool is_ended(const struct row *row)
{
	return !(VALUE(row, NVTX_RANGE, FLAGS) & RECORD_UNFINISHED);
}

static int call_count(struct codexl_writer *w, const struct row *row)
{
	const int64_t parts = VALUE(row, CODEXL_CALL, PARTS);
	const bool is_opencl = VALUE(row, CODEXL_CALL, IS_OPENCL);
	int error = line_count(w, PART_CALLS, is_opencl, row->tid, !!(parts & CODEXL_HAS_CALL));
	if (!error)
		error = line_count(
			w, PART_TIMES, is_opencl, row->tid, !!(parts & CODEXL_HAS_TIMES));
	if (!error)
		error = line_count(
			w, PART_STACK, is_opencl, row->tid, !!(parts & CODEXL_HAS_STACK));
	w->has[CODEXL_TIMELINE] = true;
	return error;
}

static int row_count(
	struct codexl_writer *w, const struct schema_event *event, const struct row *row)
{
	uint64_t format = CODEXL_TIMELINE;
	switch (event->number) {
	case KIND_CODEXL_HEADER:
		format = (uint64_t)VALUE(row, CODEXL_HEADER, FORMAT);
		break;
	case KIND_CODEXL_CELL:
		format = (uint64_t)VALUE(row, CODEXL_CELL, FORMAT);
		break;
	case KIND_CODEXL_CALL:
		return call_count(w, row);
	case KIND_CODEXL_KERNEL:
		w->kernel_count++;
		break;
	case KIND_NVTX_RANGE:
		return is_marker(row) ? line_count(w, PART_MARKERS, 0, row->tid, 1 + is_ended(row))
				      : 0;
	default:
		return 0;
	}
	if (format < CODEXL_FORMATS)
		w->has[format] = true;
	return 0;
}

/* ---- lines ---- */

static void title_put(struct codexl_writer *w)
{
	if (!w->lines++)
		fprintf(w->out, "=====%s=====\n", w->title);
}

/* Begin a line of a thread; write the header of the next block if the current block is complete. */
static void line_begin(struct codexl_writer *w, uint32_t tid)
{
	const struct blocks *b = &w->blocks[w->part][w->is_opencl];
	title_put(w);
	if (!w->left && w->block < b->count) {
		w->left = b->rows[w->block++].count;
		fprintf(w->out, "%u\n%u\n", tid, w->left);
	}
	w->left -= w->left > 0;
}

/* Note the header values that determine the form of later lines. Of several, the first counts, as
 * it does for the reader. */
static void header_note(struct codexl_writer *w, const char *key, const char *value)
{
	value += strspn(value, " ");
	if (!w->separator && codexl_is_key(key, "ListSeparator"))
		w->separator = *value ? *value : ',';
	if (!w->has_version && codexl_is_key(key, "TraceFileVersion")) {
		w->has_version = true;
		w->has_queue_index = codexl_has_queue_index(value);
	}
}

static int header_row(
	struct codexl_writer *w, const struct schema_event *event, const struct row *row)
{
	if (event->number != KIND_CODEXL_HEADER ||
		VALUE(row, CODEXL_HEADER, FORMAT) != (int64_t)w->format)
		return 0;
	if (w->format != CODEXL_TIMELINE)
		fputc('#', w->out);
	codexl_put_text(w->out, TEXT(w, row, CODEXL_HEADER, KEY), CODEXL_PUT_LINE, SIZE_MAX);
	fputc('=', w->out);
	codexl_put_text(w->out, TEXT(w, row, CODEXL_HEADER, VALUE), CODEXL_PUT_LINE, SIZE_MAX);
	fputc('\n', w->out);
	header_note(w, TEXT(w, row, CODEXL_HEADER, KEY), TEXT(w, row, CODEXL_HEADER, VALUE));
	return 0;
}

/* Return true for a call of the current API that has a line in this section. */
static bool is_wanted(const struct codexl_writer *w, const struct schema_event *event,
	const struct row *row, int part)
{
	return event->number == KIND_CODEXL_CALL &&
		(VALUE(row, CODEXL_CALL, IS_OPENCL) != 0) == w->is_opencl &&
		VALUE(row, CODEXL_CALL, PARTS) & part;
}

static int call_row(
	struct codexl_writer *w, const struct schema_event *event, const struct row *row)
{
	if (!is_wanted(w, event, row, CODEXL_HAS_CALL))
		return 0;
	line_begin(w, row->tid);
	if (VALUE(row, CODEXL_CALL, PARTS) & CODEXL_HAS_RESULT) {
		codexl_put_text(
			w->out, TEXT(w, row, CODEXL_CALL, RESULT), CODEXL_PUT_LINE, SIZE_MAX);
		fputs(" = ", w->out);
	}
	codexl_put_text(w->out, TEXT(w, row, CODEXL_CALL, FUNCTION), CODEXL_PUT_LINE, SIZE_MAX);
	fputs(" ( ", w->out);
	codexl_put_text(w->out, TEXT(w, row, CODEXL_CALL, ARGUMENTS), CODEXL_PUT_LINE, SIZE_MAX);
	fputs(" )\n", w->out);
	return 0;
}

static void nullable_put(FILE *out, int64_t handle, int width)
{
	if (handle)
		codexl_put_handle(out, (uint64_t)handle, width);
	else
		fprintf(out, "%-*s", width, "NULL");
}

static void column_put(struct codexl_writer *w, int64_t id, size_t width)
{
	codexl_put_column(w->out, text_of(w, id), CODEXL_PUT_LINE, width);
}

static void command_put(struct codexl_writer *w, const struct row *c)
{
	const int64_t columns = VALUE(c, CODEXL_COMMAND, COLUMNS),
		      start_ns = VALUE(c, CODEXL_COMMAND, START);
	codexl_put_number(w->out, VALUE(c, CODEXL_COMMAND, COMMAND_TYPE), 8);
	column_put(w, VALUE(c, CODEXL_COMMAND, COMMAND), 40);
	codexl_put_number(w->out, VALUE(c, CODEXL_COMMAND, QUEUED), 21);
	codexl_put_number(w->out, VALUE(c, CODEXL_COMMAND, SUBMITTED), 21);
	codexl_put_number(w->out, start_ns, 21);
	codexl_put_number(w->out, end_of(start_ns, VALUE(c, CODEXL_COMMAND, DURATION)), 21);
	codexl_put_number(w->out, VALUE(c, CODEXL_COMMAND, STREAM_ID), 10);
	nullable_put(w->out, VALUE(c, CODEXL_COMMAND, QUEUE), 25);
	codexl_put_number(w->out, VALUE(c, CODEXL_COMMAND, CONTEXT_ID), 10);
	nullable_put(w->out, VALUE(c, CODEXL_COMMAND, CONTEXT), 25);
	column_put(w, VALUE(c, CODEXL_COMMAND, DEVICE), 30);
	if (columns & (CODEXL_KERNEL_COLUMNS | CODEXL_HANDLE_COLUMN))
		nullable_put(w->out, VALUE(c, CODEXL_COMMAND, HANDLE), 25);
	if (columns & CODEXL_KERNEL_COLUMNS) {
		column_put(w, VALUE(c, CODEXL_COMMAND, NAME), 10);
		column_put(w, VALUE(c, CODEXL_COMMAND, GLOBAL_SIZE), 14);
		column_put(w, VALUE(c, CODEXL_COMMAND, GROUP_SIZE), 13);
	}
	if (columns & CODEXL_BYTES_COLUMN)
		codexl_put_number(w->out, VALUE(c, CODEXL_COMMAND, BYTES), 20);
}

/* Write the first `count` waiting calls, each with its command, if it has one. */
static void held_put(struct codexl_writer *w, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct row *row = &w->held[i], *command = &w->commands[i];
		const int64_t start_ns = VALUE(row, CODEXL_CALL, START);
		line_begin(w, row->tid);
		codexl_put_number(w->out, VALUE(row, CODEXL_CALL, TYPE), 5);
		column_put(w, VALUE(row, CODEXL_CALL, FUNCTION), 45);
		codexl_put_number(w->out, start_ns, 21);
		codexl_put_number(w->out, end_of(start_ns, VALUE(row, CODEXL_CALL, DURATION)), 21);
		if (VALUE(command, CODEXL_COMMAND, CORRELATION_ID)) {
			command_put(w, command);
		} else if (VALUE(row, CODEXL_CALL, PARTS) & CODEXL_HAS_TRANSFER) {
			codexl_put_number(w->out, VALUE(row, CODEXL_CALL, TRANSFER_START), 21);
			codexl_put_number(w->out, VALUE(row, CODEXL_CALL, TRANSFER_END), 21);
			codexl_put_number(w->out, VALUE(row, CODEXL_CALL, TRANSFER_ID), 21);
		}
		fputc('\n', w->out);
	}
	w->held_count -= count;
	memmove(w->held, w->held + count, w->held_count * sizeof(*w->held));
	memmove(w->commands, w->commands + count, w->held_count * sizeof(*w->commands));
}

static void command_take(struct codexl_writer *w, const struct row *row)
{
	const int64_t wanted = VALUE(row, CODEXL_COMMAND, CORRELATION_ID);
	uint32_t low = 0, high = w->held_count;
	while (low < high) { /* indexes of calls increase */
		uint32_t middle = low + (high - low) / 2;
		if (VALUE(&w->held[middle], CODEXL_CALL, CORRELATION_ID) < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < w->held_count && wanted > 0 &&
		VALUE(&w->held[low], CODEXL_CALL, CORRELATION_ID) == wanted)
		w->commands[low] = *row;
	else
		w->lost++;
}

static int time_row(
	struct codexl_writer *w, const struct schema_event *event, const struct row *row)
{
	if (event->number == KIND_CODEXL_COMMAND && w->is_opencl) {
		command_take(w, row);
		w->after_commands = true;
		return 0;
	}
	if (!is_wanted(w, event, row, CODEXL_HAS_TIMES))
		return 0;
	if (w->after_commands)
		held_put(w, w->held_count);
	else if (w->held_count == HELD_MAX)
		held_put(w, HELD_MAX / 2);
	w->after_commands = false;
	w->held[w->held_count] = *row;
	memset(&w->commands[w->held_count++], 0, sizeof(*w->commands));
	return 0;
}

static int stack_row(
	struct codexl_writer *w, const struct schema_event *event, const struct row *row)
{
	if (!is_wanted(w, event, row, CODEXL_HAS_STACK))
		return 0;
	const int64_t parts = VALUE(row, CODEXL_CALL, PARTS);
	line_begin(w, row->tid);
	codexl_put_text(w->out, TEXT(w, row, CODEXL_CALL, FUNCTION), CODEXL_PUT_LINE, SIZE_MAX);
	if (parts & CODEXL_HAS_CALLER) {
		fputc('\t', w->out);
		codexl_put_text(
			w->out, TEXT(w, row, CODEXL_CALL, CALLER), CODEXL_PUT_LINE, SIZE_MAX);
	}
	if (parts & CODEXL_HAS_SOURCE) {
		fprintf(w->out, "\t%" PRId64 "\t", VALUE(row, CODEXL_CALL, CALLER_LINE));
		codexl_put_text(
			w->out, TEXT(w, row, CODEXL_CALL, CALLER_FILE), CODEXL_PUT_NAME, SIZE_MAX);
	}
	fputc('\n', w->out);
	return 0;
}

static int kernel_row(
	struct codexl_writer *w, const struct schema_event *event, const struct row *row)
{
	if (event->number != KIND_CODEXL_KERNEL)
		return 0;
	const int64_t start_ns = VALUE(row, CODEXL_KERNEL, START);
	const char *type = TEXT(w, row, CODEXL_KERNEL, PACKET_TYPE);
	const bool is_first = !w->lines;
	title_put(w);
	if (is_first)
		fprintf(w->out, "%u\n", w->kernel_count);
	codexl_put_column(w->out, TEXT(w, row, CODEXL_KERNEL, NAME), CODEXL_PUT_SYMBOL, 50);
	codexl_put_handle(w->out, (uint64_t)VALUE(row, CODEXL_KERNEL, HANDLE), 21);
	codexl_put_number(w->out, start_ns, 21);
	codexl_put_number(w->out, end_of(start_ns, VALUE(row, CODEXL_KERNEL, DURATION)), 21);
	column_put(w, VALUE(row, CODEXL_KERNEL, DEVICE), 64);
	codexl_put_handle(w->out, (uint64_t)VALUE(row, CODEXL_KERNEL, AGENT), 21);
	if (w->has_queue_index)
		codexl_put_number(w->out, VALUE(row, CODEXL_KERNEL, STREAM_ID), 21);
	column_put(w, VALUE(row, CODEXL_KERNEL, QUEUE), 10);
	if (*type) {
		codexl_put_column(w->out, type, CODEXL_PUT_LINE, 35);
		column_put(w, VALUE(row, CODEXL_KERNEL, PACKET_ID), 21);
		codexl_put_text(
			w->out, TEXT(w, row, CODEXL_KERNEL, PACKET), CODEXL_PUT_LINE, SIZE_MAX);
	}
	fputc('\n', w->out);
	return 0;
}

/* ---- perf markers ---- */

/* End the markers that are over at `ns`. A marker without duration contains the markers that begin
 * at the same time. */
static void markers_end(struct codexl_writer *w, uint64_t ns)
{
	while (w->open_count) {
		const struct open_marker *m = &w->open_markers[w->open_count - 1];
		if (m->end_ns > ns || (m->end_ns == ns && m->start_ns == ns))
			return;
		w->open_count--;
		if (!m->ended)
			continue;
		line_begin(w, w->open_tid);
		fprintf(w->out, "%-20s%-20" PRIu64 "\n", "clEndPerfMarker", m->end_ns);
	}
}

static int marker_row(
	struct codexl_writer *w, const struct schema_event *event, const struct row *row)
{
	if (event->number != KIND_NVTX_RANGE || !is_marker(row))
		return 0;
	const uint64_t start_ns = (uint64_t)VALUE(row, NVTX_RANGE, START);
	const char *group = TEXT(w, row, NVTX_RANGE, DOMAIN);
	if (w->open_tid != row->tid)
		markers_end(w, UINT64_MAX);
	w->open_tid = row->tid;
	markers_end(w, start_ns);
	if (array_room(
		    &w->open_markers, w->open_count, &w->open_capacity, sizeof(*w->open_markers)))
		return -ENOMEM;
	w->open_markers[w->open_count++] = (struct open_marker){start_ns,
		is_ended(row) ? start_ns + (uint64_t)VALUE(row, NVTX_RANGE, DURATION) : UINT64_MAX,
		is_ended(row)};
	line_begin(w, row->tid);
	fprintf(w->out, "%-20s", "clBeginPerfMarker");
	codexl_put_column(w->out, TEXT(w, row, NVTX_RANGE, TEXT), CODEXL_PUT_NAME, 50);
	fprintf(w->out, "%-20" PRIu64 "   ", start_ns);
	codexl_put_text(w->out, *group ? group : CODEXL_DEFAULT_GROUP, CODEXL_PUT_NAME, SIZE_MAX);
	fputc('\n', w->out);
	return 0;
}

/* ---- tables ---- */

static void blanks_put(FILE *out, int64_t count)
{
	if (count > 0 && count <= LINE_BYTES_MAX)
		fprintf(out, "%*s", (int)count, "");
}

static int cell_row(
	struct codexl_writer *w, const struct schema_event *event, const struct row *row)
{
	if (event->number != KIND_CODEXL_CELL ||
		VALUE(row, CODEXL_CELL, FORMAT) != (int64_t)w->format)
		return 0;
	const uint64_t number = (uint64_t)VALUE(row, CODEXL_CELL, ROW);
	if (w->lines++)
		fputc(number != w->table_row ? '\n' : w->separator ? w->separator : ',', w->out);
	w->table_row = number;
	blanks_put(w->out, VALUE(row, CODEXL_CELL, BLANKS_BEFORE));
	codexl_put_text(w->out, TEXT(w, row, CODEXL_CELL, VALUE), CODEXL_PUT_LINE, SIZE_MAX);
	blanks_put(w->out, VALUE(row, CODEXL_CELL, BLANKS_BEHIND));
	return 0;
}

static int table_write(struct codexl_writer *w)
{
	int error = pass(w, header_row);
	if (!error)
		error = pass(w, cell_row);
	if (!error && w->lines)
		fputc('\n', w->out);
	return error;
}

/* ---- files ---- */

static int section_write(struct codexl_writer *w, enum part part, bool is_opencl)
{
	static const struct {
		const char *titles[2];
		int (*row)(struct codexl_writer *w, const struct schema_event *event,
			const struct row *row);
	} sections[PARTS] = {
		[PART_CALLS] = {{"hsa API Trace Output", "ocl API Trace Output"}, call_row},
		[PART_TIMES] = {{"hsa Timestamp Output", "ocl Timestamp Output"}, time_row},
		[PART_STACK] = {{"hsa Stack Trace Output", "ocl Stack Trace Output"}, stack_row},
		[PART_MARKERS] = {{"Perfmarker Output", NULL}, marker_row}};
	w->part = part;
	w->is_opencl = is_opencl;
	w->title = sections[part].titles[is_opencl];
	if (!w->blocks[part][is_opencl].count)
		return 0;
	int error = pass(w, sections[part].row);
	if (!error && part == PART_TIMES)
		held_put(w, w->held_count);
	if (!error && part == PART_MARKERS)
		markers_end(w, UINT64_MAX);
	return error;
}

static int timeline_write(struct codexl_writer *w)
{
	int error = pass(w, header_row);
	for (unsigned i = 0; !error && i < 2; i++)
		error = section_write(w, PART_CALLS, !i);
	for (unsigned i = 0; !error && i < 2; i++)
		error = section_write(w, PART_TIMES, !i);
	w->title = "hsa Kernel Timestamp Output";
	if (!error && w->kernel_count)
		error = pass(w, kernel_row);
	for (unsigned i = 0; !error && i < 2; i++)
		error = section_write(w, PART_STACK, !i);
	return error ? error : section_write(w, PART_MARKERS, false);
}

int codexl_writer_write(
	struct codexl_writer *w, FILE *out, enum codexl_format format, uint64_t *ret_lost)
{
	w->out = out;
	w->format = format;
	w->lost = 0;
	w->separator = '\0';
	w->has_version = false;
	w->has_queue_index = true;
	int error = format == CODEXL_TIMELINE ? timeline_write(w) : table_write(w);
	*ret_lost = w->lost;
	return error ? error : ferror(out) ? -EPIPE : 0;
}

bool codexl_writer_has(const struct codexl_writer *w, enum codexl_format format)
{
	return w->has[format];
}

struct codexl_writer *codexl_writer_open(const struct report *r, struct contents *c,
	const struct contents_visitor *visitor, int *ret_error)
{
	struct codexl_writer *w = calloc(1, sizeof(*w));
	*ret_error = -ENOMEM;
	if (!w)
		return NULL;
	*w = (struct codexl_writer){.report = r, .contents = c, .visitor = visitor};
	w->held = malloc(HELD_MAX * sizeof(*w->held));
	w->commands = malloc(HELD_MAX * sizeof(*w->commands));
	w->row = row_count;
	const struct contents_visitor first = {w, visit_block, visit_batch, NULL};
	if (w->held && w->commands)
		*ret_error = contents_read(c, r, &first);
	return w;
}

void codexl_writer_close(struct codexl_writer *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < PARTS; i++)
		for (unsigned n = 0; n < 2; n++)
			free(w->blocks[i][n].rows);
	free(w->held);
	free(w->commands);
	free(w->open_markers);
	free(w->columns);
	free(w);
}
