/* SPDX-License-Identifier: Apache-2.0 */
/* firefox_thread.c - tables of a thread in a profile of Firefox. */
#define _GNU_SOURCE
#include "reader/export/timeline/firefox_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/base/print.h"

_Static_assert(TEMPORARY_BUFFER_BYTES % sizeof(struct firefox_row) == 0, "no row is cut");

void firefox_thread_release(struct firefox_thread *t)
{
	map_release(&t->text_rows);
	map_release(&t->frame_rows);
	map_release(&t->stack_rows);
	free(t->texts);
	free(t->frames);
	free(t->stacks);
	temporary_stream_release(&t->rows);
	temporary_stream_release(&t->data);
}

uint32_t firefox_text(struct firefox_thread *t, const char *text)
{
	uint32_t known = map_get(&t->text_rows, (uintptr_t)text, 0);
	if (known || !text)
		return known;
	if (array_room(&t->texts, t->text_count, &t->text_capacity, sizeof(*t->texts)) ||
		map_put(&t->text_rows, (uintptr_t)text, 0, t->text_count + 1))
		return 0;
	t->texts[t->text_count] = text;
	return ++t->text_count;
}

/* Return the row + 1 of a frame of the profile; 0 = out of memory. */
static uint32_t frame_row(struct firefox_thread *t, uint32_t frame)
{
	uint32_t known = map_get(&t->frame_rows, frame, 0);
	if (known)
		return known;
	if (array_room(&t->frames, t->frame_count, &t->frame_capacity, sizeof(*t->frames)) ||
		map_put(&t->frame_rows, frame, 0, t->frame_count + 1))
		return 0;
	t->frames[t->frame_count] = frame;
	return ++t->frame_count;
}

/* Return the row + 1 of the stack of a node below the row of its parent; 0 = out of memory. */
static uint32_t stack_new(
	struct firefox_thread *t, const struct profile *p, uint32_t node, uint32_t prefix)
{
	const uint32_t frame = frame_row(t, p->nodes[node].frame);
	if (!frame ||
		array_room(&t->stacks, t->stack_count, &t->stack_capacity, sizeof(*t->stacks)) ||
		map_put(&t->stack_rows, node, 0, t->stack_count + 1))
		return 0;
	t->stacks[t->stack_count] = (struct firefox_stack){frame - 1, prefix};
	return ++t->stack_count;
}

uint32_t firefox_stack(
	struct firefox_thread *t, const struct profile *p, uint32_t root, uint32_t node)
{
	uint32_t missing[PROFILE_CHAIN_MAX], count = 0, row = 0;
	for (uint32_t at = node; at && at != root && count < PROFILE_CHAIN_MAX;
		at = p->nodes[at].parent) {
		row = map_get(&t->stack_rows, at, 0);
		if (row)
			break;
		missing[count++] = at;
	}
	while (count-- > 0) {
		row = stack_new(t, p, missing[count], row);
		if (!row)
			return 0;
	}
	return row;
}

int firefox_row_add(
	struct firefox_thread *t, struct temporary_file *file, const struct firefox_row *row)
{
	if (row->kind == FIREFOX_SAMPLE)
		t->samples++;
	else
		t->markers++;
	return temporary_stream_write(file, &t->rows, row, sizeof(*row));
}

void firefox_print_ms(FILE *out, uint64_t ns)
{
	fprintf(out, "%llu.%06llu", (unsigned long long)(ns / 1000000),
		(unsigned long long)(ns % 1000000));
}

/* ---- columns of samples and markers ---- */

/* Column that is being written. */
struct firefox_column {
	const struct firefox_thread *thread;
	FILE *out;
	bool of_samples;
	void (*print)(const struct firefox_column *c, const struct firefox_row *row);
	const char *comma;
};

static int rows_take(void *user, const void *bytes, size_t count)
{
	struct firefox_column *c = user;
	const struct firefox_row *rows = bytes;
	for (size_t i = 0; i < count / sizeof(*rows); i++) {
		if ((rows[i].kind == FIREFOX_SAMPLE) != c->of_samples)
			continue;
		fputs_unlocked(c->comma, c->out);
		c->comma = ",";
		c->print(c, &rows[i]);
	}
	return ferror_unlocked(c->out) ? -EPIPE : 0;
}

static void print_start(const struct firefox_column *c, const struct firefox_row *row)
{
	const uint64_t origin = c->thread->start_ns;
	firefox_print_ms(c->out, row->start_ns > origin ? row->start_ns - origin : 0);
}

static void print_end(const struct firefox_column *c, const struct firefox_row *row)
{
	const uint64_t origin = c->thread->start_ns, end = row->start_ns + row->value_ns;
	if (row->kind == FIREFOX_SLICE)
		firefox_print_ms(c->out, end > origin ? end - origin : 0);
	else
		fputs_unlocked("null", c->out);
}

static void print_value(const struct firefox_column *c, const struct firefox_row *row)
{
	firefox_print_ms(c->out, row->value_ns);
}

static void print_value_ns(const struct firefox_column *c, const struct firefox_row *row)
{
	print_u64(c->out, row->value_ns);
}

/* Print a row of a table by its row + 1. */
static void print_row(FILE *out, uint32_t row)
{
	if (row)
		print_u64(out, row - 1);
	else
		fputs_unlocked("null", out);
}

static void print_stack(const struct firefox_column *c, const struct firefox_row *row)
{
	print_row(c->out, row->stack);
}

static void print_name(const struct firefox_column *c, const struct firefox_row *row)
{
	print_u64(c->out, row->name);
}

static void print_category(const struct firefox_column *c, const struct firefox_row *row)
{
	print_u64(c->out, row->category);
}

/* Markers are instants (0) or have a start and an end (1). */
static void print_phase(const struct firefox_column *c, const struct firefox_row *row)
{
	putc_unlocked(row->kind == FIREFOX_SLICE ? '1' : '0', c->out);
}

static int columns_print(
	struct firefox_thread *t, struct temporary_file *file, FILE *out, bool of_samples)
{
	static const struct {
		bool of_samples;
		const char *name;
		void (*print)(const struct firefox_column *c, const struct firefox_row *row);
	} columns[] = {{true, "stack", print_stack}, {true, "time", print_start},
		{true, "weight", print_value}, {true, "threadCPUDelta", print_value_ns},
		{false, "name", print_name}, {false, "startTime", print_start},
		{false, "endTime", print_end}, {false, "phase", print_phase},
		{false, "category", print_category}};
	int error = 0;
	for (size_t i = 0; !error && i < sizeof(columns) / sizeof(columns[0]); i++) {
		struct firefox_column c = {t, out, of_samples, columns[i].print, ""};
		if (columns[i].of_samples != of_samples)
			continue;
		fprintf(out, ",\"%s\":[", columns[i].name);
		error = temporary_stream_visit(file, &t->rows, rows_take, &c);
		putc_unlocked(']', out);
	}
	return error;
}

/* ---- tables ---- */

static void repeat(FILE *out, const char *name, const char *value, uint32_t count)
{
	fprintf(out, ",\"%s\":[", name);
	for (uint32_t i = 0; i < count; i++) {
		fputs_unlocked(i ? "," : "", out);
		fputs_unlocked(value, out);
	}
	putc_unlocked(']', out);
}

static void print_stacks(const struct firefox_thread *t, FILE *out)
{
	fprintf(out, ",\n\"stackTable\":{\"length\":%u,\"frame\":[", t->stack_count);
	for (uint32_t i = 0; i < t->stack_count; i++)
		fprintf(out, "%s%u", i ? "," : "", t->stacks[i].frame);
	fputs("],\"prefix\":[", out);
	for (uint32_t i = 0; i < t->stack_count; i++) {
		fputs_unlocked(i ? "," : "", out);
		print_row(out, t->stacks[i].prefix);
	}
	putc_unlocked(']', out);
	repeat(out, "category", "0", t->stack_count);
	repeat(out, "subcategory", "0", t->stack_count);
	putc_unlocked('}', out);
}

/* A frame has the function with its number, and the line where the function was first seen. */
static void print_frames(const struct firefox_thread *t, const struct profile *p, FILE *out)
{
	static const char *const unknown[] = {"category", "subcategory", "nativeSymbol",
		"innerWindowID", "implementation", "column"};
	const uint32_t count = t->frame_count;
	fprintf(out, ",\n\"frameTable\":{\"length\":%u,\"func\":[", count);
	for (uint32_t i = 0; i < count; i++)
		fprintf(out, "%s%u", i ? "," : "", i);
	fputs("],\"line\":[", out);
	for (uint32_t i = 0; i < count; i++) {
		fputs_unlocked(i ? "," : "", out);
		print_row(out, p->frames[t->frames[i]].line ? p->frames[t->frames[i]].line + 1 : 0);
	}
	putc_unlocked(']', out);
	repeat(out, "address", "-1", count);
	repeat(out, "inlineDepth", "0", count);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		repeat(out, unknown[i], "null", count);
	putc_unlocked('}', out);
}

static const char *function_of(const struct profile_frame *f)
{
	return f->function;
}

static const char *file_of(const struct profile_frame *f)
{
	return f->file;
}

/* Return the base name of a module. */
static const char *module_of(const struct profile_frame *f)
{
	const char *slash = f->module ? strrchr(f->module, '/') : NULL;
	return slash ? slash + 1 : f->module;
}

/* Print a column of texts of frames; those that have none as `none`. */
static void print_texts(struct firefox_thread *t, const struct profile *p, const char *name,
	const char *(*text_of)(const struct profile_frame *f), const char *none, FILE *out)
{
	fprintf(out, ",\"%s\":[", name);
	for (uint32_t i = 0; i < t->frame_count; i++) {
		const uint32_t row = firefox_text(t, text_of(&p->frames[t->frames[i]]));
		fputs_unlocked(i ? "," : "", out);
		if (row)
			print_u64(out, row - 1);
		else
			fputs_unlocked(none, out);
	}
	putc_unlocked(']', out);
}

/* Functions, and resources: a resource for each function, named like its module. */
static void print_functions(struct firefox_thread *t, const struct profile *p, FILE *out)
{
	const uint32_t count = t->frame_count;
	fprintf(out, ",\n\"funcTable\":{\"length\":%u,\"resource\":[", count);
	for (uint32_t i = 0; i < count; i++)
		fprintf(out, "%s%d", i ? "," : "", p->frames[t->frames[i]].module ? (int)i : -1);
	putc_unlocked(']', out);
	print_texts(t, p, "name", function_of, "0", out);
	print_texts(t, p, "fileName", file_of, "null", out);
	repeat(out, "isJS", "false", count);
	repeat(out, "relevantForJS", "false", count);
	repeat(out, "lineNumber", "null", count);
	repeat(out, "columnNumber", "null", count);
	fprintf(out, "},\n\"resourceTable\":{\"length\":%u", count);
	print_texts(t, p, "name", module_of, "0", out);
	repeat(out, "lib", "null", count);
	repeat(out, "host", "null", count);
	repeat(out, "type", "1", count); /* a library */
	fputs("},\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
	      "\"functionSize\":[]}",
		out);
}

static void print_head(const struct firefox_thread *t, FILE *out)
{
	const uint32_t pid = t->process->facts->pid;
	fputs("{\"processType\":\"default\",\"processName\":", out);
	print_json_string(out, t->process_name);
	fputs(",\"name\":", out);
	print_json_string(out, t->name);
	fprintf(out,
		",\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
		"\"unregisterTime\":null,\"pausedRanges\":[],\"isMainThread\":%s,"
		"\"showMarkersInTimeline\":true,\"pid\":\"%u\",\"tid\":",
		t->tid == pid && !t->track ? "true" : "false", pid);
	if (t->track)
		fprintf(out, "\"track %u\"", t->track);
	else
		print_u64(out, t->tid);
}

int firefox_thread_print(
	struct firefox_thread *t, struct temporary_file *file, const struct profile *p, FILE *out)
{
	print_head(t, out);
	fprintf(out, ",\n\"samples\":{\"length\":%llu,\"weightType\":\"tracing-ms\"",
		(unsigned long long)t->samples);
	int error = columns_print(t, file, out, true);
	fprintf(out, "},\n\"markers\":{\"length\":%llu", (unsigned long long)t->markers);
	error = error ? error : columns_print(t, file, out, false);
	fputs(",\"data\":[", out);
	error = error ? error : temporary_stream_copy(file, &t->data, out);
	fputs("]}", out);
	print_stacks(t, out);
	print_frames(t, p, out);
	print_functions(t, p, out);
	fputs(",\n\"stringArray\":[", out);
	for (uint32_t i = 0; i < t->text_count; i++) {
		fputs_unlocked(i ? ",\n" : "", out);
		print_json_string(out, t->texts[i]);
	}
	fputs("]}", out);
	return error ? error : ferror_unlocked(out) ? -EPIPE : 0;
}
