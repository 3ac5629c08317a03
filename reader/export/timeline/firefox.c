/* SPDX-License-Identifier: Apache-2.0 */
/* firefox.c - a profile of Firefox from a timeline. */
#define _GNU_SOURCE
#include "reader/export/timeline/firefox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/spool.h"
#include "reader/base/print.h"
#include "reader/export/timeline/firefox_thread.h"

struct firefox {
	struct timeline *timeline;
	struct profile profile; /* callchains as nodes of its tree */
	uint32_t root;          /* node above them */
	struct map numbers;     /* process and tid, or 0 and track -> index in `threads` + 1 */
	struct firefox_thread **threads;
	uint32_t count, capacity;
	struct temporary_file file;
	uint64_t start_ns, end_ns, samples, sampled_ns;
};

/* ---- threads ---- */

/* Name a thread, and its process. Returns false when out of memory. */
static bool thread_name(struct firefox *f, struct firefox_thread *t, const struct track *track)
{
	char name[TRACK_NAME_BYTES], process[PROCESS_LABEL_BYTES];
	struct string_ref known = timeline_thread_name(f->timeline, t->process, t->tid);
	if (t->track)
		track_name(track, name, sizeof(name));
	else
		snprintf(name, sizeof(name), "%.200s", known.bytes ? known.text : "thread");
	process_label(&f->timeline->contents.processes, t->process, process);
	t->name = pool_text(&f->timeline->texts, name, SIZE_MAX);
	t->process_name = pool_text(&f->timeline->texts, process, SIZE_MAX);
	return t->name && t->process_name;
}

/* Return the thread in which a track is shown; NULL = out of memory. */
static struct firefox_thread *thread_of(struct firefox *f, const struct track *track)
{
	const uint32_t tid = track->key.tid, number = tid ? 0 : track->number;
	const struct process *process = track->key.process;
	const uint64_t of = (uint64_t)process->id << 32 | tid;
	uint32_t found = map_get(&f->numbers, of, number);
	if (found)
		return f->threads[found - 1];
	struct firefox_thread *t = calloc(1, sizeof(*t));
	if (!t ||
		array_room(&f->threads, f->count, &f->capacity, sizeof(struct firefox_thread *)) ||
		map_put(&f->numbers, of, number, f->count + 1)) {
		free(t);
		return NULL;
	}
	f->threads[f->count++] = t;
	*t = (struct firefox_thread){
		.process = process, .tid = tid, .track = number, .start_ns = f->start_ns};
	return thread_name(f, t, track) ? t : NULL;
}

/* ---- samples and markers ---- */

/* Find the stack of an item: *ret_row, 0 = none. Returns 0 or a negative errno. */
static int stack_of(struct firefox *f, struct firefox_thread *t, const struct timeline_item *i,
	bool interrupted, uint32_t *ret_row)
{
	uint32_t node = 0;
	const uint32_t chain = i->kind->chain < 0 ? 0 : (uint32_t)i->row->values[i->kind->chain];
	int error = profile_chain(&f->profile, i->row->process, &f->root, chain, interrupted,
		i->start_ns + i->duration_ns, &node);
	*ret_row = node ? firefox_stack(t, &f->profile, f->root, node) : 0;
	return error ? error : node && node != f->root && !*ret_row ? -ENOMEM : 0;
}

static int64_t value_of(const struct timeline_item *i, uint32_t field)
{
	return i->row->values[schema_column_index(i->row->event, field)];
}

static int sample_take(struct firefox *f, struct firefox_thread *t, const struct timeline_item *i)
{
	const uint64_t flags = (uint64_t)value_of(i, FIELD_CPU_SAMPLE_FLAGS);
	struct firefox_row row = {.start_ns = i->start_ns,
		.value_ns = (uint64_t)value_of(i, FIELD_CPU_SAMPLE_CPU_TIME),
		.kind = FIREFOX_SAMPLE};
	f->samples++;
	f->sampled_ns += row.value_ns;
	int error = stack_of(f, t, i, !(flags & RECORD_IN_STEP), &row.stack);
	return error ? error : firefox_row_add(t, &f->file, &row);
}

static void print_argument(
	struct firefox *f, FILE *out, const struct timeline_item *i, uint32_t index)
{
	struct timeline_value v;
	timeline_value(f->timeline, i->row, index, &v);
	if (v.kind == TIMELINE_NOTHING)
		return;
	fprintf(out, ",\"%s\":", i->row->event->fields[index].column);
	if (v.kind == TIMELINE_INT)
		fprintf(out, "\"%lld\"", (long long)v.number);
	else if (v.kind == TIMELINE_UINT)
		fprintf(out, "\"%llu\"", (unsigned long long)v.number);
	else if (v.kind == TIMELINE_HEX)
		fprintf(out, "\"0x%llx\"", (unsigned long long)v.number);
	else if (v.kind == TIMELINE_REAL)
		fprintf(out, "\"%.17g\"", v.real);
	else if (v.kind == TIMELINE_TEXT)
		print_json(out, v.text.text, v.text.bytes);
	else
		timeline_payload(f->timeline, out, i->row, index);
}

/* Append what a marker has besides its columns: its kind, arguments and callchain. */
static int data_put(struct firefox *f, struct firefox_thread *t, const struct timeline_item *i,
	const struct firefox_row *row)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return -ENOMEM;
	fprintf(out, "%s{\"type\":\"%s\"", t->markers ? ",\n" : "", i->row->event->name);
	for (uint32_t n = 0; n < i->kind->arg_count; n++)
		print_argument(f, out, i, i->kind->args[n]);
	if (i->log_fields)
		fprintf(out, ",\"fields\":%s", i->log_fields);
	if (row->stack) {
		fprintf(out, ",\"cause\":{\"stack\":%u,\"time\":", row->stack - 1);
		firefox_print_ms(out, i->start_ns > f->start_ns ? i->start_ns - f->start_ns : 0);
		putc('}', out);
	}
	putc('}', out);
	int error = fclose(out) ? -ENOMEM : temporary_stream_write(&f->file, &t->data, text, bytes);
	free(text);
	return error;
}

static int marker_take(struct firefox *f, struct firefox_thread *t, const struct timeline_item *i)
{
	const uint32_t name = firefox_text(
		t, pool_text(&f->timeline->texts, i->name.text.text, i->name.text.bytes));
	struct firefox_row row = {.start_ns = i->start_ns,
		.value_ns = i->duration_ns,
		.name = name - 1,
		.category = i->row->event->number,
		.kind = i->kind->shape == TIMELINE_SLICE ? FIREFOX_SLICE : FIREFOX_MOMENT};
	int error = name ? stack_of(f, t, i, false, &row.stack) : -ENOMEM;
	if (!error)
		error = data_put(f, t, i, &row);
	return error ? error : firefox_row_add(t, &f->file, &row);
}

static int item_take(struct firefox *f, const struct timeline_item *i)
{
	if (i->kind->shape == TIMELINE_COUNTER) {
		f->timeline->left_out[i->row->event->number] += !i->is_repeated;
		return 0;
	}
	struct firefox_thread *t = thread_of(f, i->track);
	const uint64_t end_ns = i->start_ns + i->duration_ns;
	f->end_ns = f->end_ns > end_ns ? f->end_ns : end_ns;
	if (!t)
		return -ENOMEM;
	return i->row->event->number == KIND_CPU_SAMPLE ? sample_take(f, t, i)
							: marker_take(f, t, i);
}

/* ---- output ---- */

/* Print the categories, one for each kind of event by its number; the first is of samples. */
static void print_categories(FILE *out)
{
	static const char *const colors[] = {
		"blue", "green", "orange", "purple", "yellow", "lightblue", "red", "brown"};
	fputs(",\n\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":"
	      "[\"Other\"]}",
		out);
	for (uint32_t number = 1; number < SCHEMA_KINDS; number++) {
		const struct schema_event *event = schema_event(number);
		fprintf(out, ",\n{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			event ? event->name : "-",
			colors[number % (sizeof(colors) / sizeof(colors[0]))]);
	}
	putc(']', out);
}

/* Print which data markers of each kind have. */
static void print_schemas(const struct timeline *t, FILE *out)
{
	const char *comma = "";
	fputs(",\n\"markerSchema\":[", out);
	for (uint32_t number = 1; number < SCHEMA_KINDS; number++) {
		const struct timeline_kind *k = &t->kinds[number];
		const struct schema_event *event = schema_event(number);
		if (!k->is_shown || !event)
			continue;
		fprintf(out,
			"%s\n{\"name\":\"%s\",\"display\":[\"marker-chart\",\"marker-table\"],"
			"\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\","
			"\"chartLabel\":\"{marker.name}\",\"data\":[",
			comma, event->name);
		comma = ",";
		for (uint32_t n = 0; n < k->arg_count; n++)
			fprintf(out,
				"%s{\"key\":\"%s\",\"label\":\"%s\",\"format\":\"string\","
				"\"searchable\":true}",
				n ? "," : "", event->fields[k->args[n]].column,
				event->fields[k->args[n]].column);
		fputs("]}", out);
	}
	putc(']', out);
}

static void print_meta(struct firefox *f, const char *name, FILE *out)
{
	const Libtrace__Session *s = f->timeline->contents.session;
	const uint64_t interval_ns = f->samples ? f->sampled_ns / f->samples : 0;
	fputs("{\"meta\":{\"version\":27,\"preprocessedProfileVersion\":47,\"processType\":0,"
	      "\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,\"pausedRanges\":[],"
	      "\"importedFrom\":\"libtrace " LIBTRACE_VERSION "\",\"sampleUnits\":{\"time\":\"ms\","
	      "\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\"product\":",
		out);
	print_json_string(out, name);
	fputs(",\"startTime\":", out);
	firefox_print_ms(out, s ? s->start_realtime_ns : 0);
	fputs(",\"profilingStartTime\":0,\"profilingEndTime\":", out);
	firefox_print_ms(out, f->end_ns > f->start_ns ? f->end_ns - f->start_ns + 1 : 1);
	fputs(",\"interval\":", out);
	firefox_print_ms(out, interval_ns ? interval_ns : 1000000);
	print_categories(out);
	print_schemas(f->timeline, out);
	fputs("},\n\"libs\":[],\"pages\":[],\"threads\":[\n", out);
}

static void firefox_release(struct firefox *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		firefox_thread_release(f->threads[i]);
		free(f->threads[i]);
	}
	free(f->threads);
	map_release(&f->numbers);
	temporary_file_release(&f->file);
	profile_release(&f->profile);
}

int firefox_write(FILE *out, struct timeline *t, const char *name)
{
	const struct cursor_filter all = {0};
	const Libtrace__Session *session = t->contents.session;
	struct firefox f = {.timeline = t, .start_ns = session ? session->start_ns : 0};
	struct timeline_item i;
	int more = 0;
	int error = profile_init(&f.profile, &t->contents, &t->symbols, &all, PROFILE_CPU, false);
	timeline_show_samples(t);
	while (!error && (more = timeline_next(t, &i)) > 0)
		error = item_take(&f, &i);
	error = error ? error : more;
	if (!error)
		print_meta(&f, name, out);
	for (uint32_t n = 0; !error && n < f.count; n++) {
		fputs(n ? ",\n" : "", out);
		error = firefox_thread_print(f.threads[n], &f.file, &f.profile, out);
	}
	fputs("]}\n", out);
	firefox_release(&f);
	return error ? error : ferror_unlocked(out) ? -EPIPE : 0;
}
