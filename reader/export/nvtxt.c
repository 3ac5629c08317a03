/* SPDX-License-Identifier: Apache-2.0 */
/* nvtxt.c - NVTX events as lines of NVTXT. */
#include "reader/export/nvtxt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/spool.h"
#include "reader/nvtxt/file.h"

/* Columns that all kinds of events have, and columns of single kinds. */
enum {
	DURATION,
	DOMAIN,
	TEXT,
	CATEGORY,
	COLOR,
	PAYLOAD_TYPE,
	PAYLOAD,
	LEVEL,
	FLAGS,
	RANGE_ID,
	START_TID,
	WHAT,
	IDENTIFIER,
	TYPE,
	COLUMNS
};

#define HAS(event, column) [column] = FIELD_##event##_##column
#define HAS_COMMON(event)                                                              \
	HAS(event, DOMAIN), HAS(event, TEXT), HAS(event, CATEGORY), HAS(event, COLOR), \
		HAS(event, PAYLOAD_TYPE), HAS(event, PAYLOAD), HAS(event, FLAGS)

static const struct layout {
	uint32_t kind;
	uint32_t fields[COLUMNS]; /* field numbers of the schema; 0 = not in this kind */
} layouts[] = {
	{KIND_NVTX_MARK, {HAS_COMMON(NVTX_MARK)}},
	{KIND_NVTX_RANGE,
		{HAS_COMMON(NVTX_RANGE), HAS(NVTX_RANGE, DURATION), HAS(NVTX_RANGE, LEVEL)}},
	{KIND_NVTX_START_END,
		{HAS_COMMON(NVTX_START_END), HAS(NVTX_START_END, DURATION),
			HAS(NVTX_START_END, RANGE_ID), HAS(NVTX_START_END, START_TID)}},
	{KIND_NVTX_NAME,
		{HAS(NVTX_NAME, DOMAIN), [TEXT] = FIELD_NVTX_NAME_NAME, HAS(NVTX_NAME, WHAT),
			HAS(NVTX_NAME, IDENTIFIER), HAS(NVTX_NAME, TYPE)}},
};

struct nvtxt_export {
	FILE *out;
	struct contents *contents;
	struct nvtxt_tally *tally;
	uint64_t origin_ns;
};

/* An event that is being written. */
struct item {
	const struct event_row *row;
	uint64_t start_ns; /* relative to the origin */
	uint32_t pid, tid;
	int64_t value[COLUMNS];
	struct string_ref domain, text;
	bool changed; /* the message differs from the original text */
};

/* ---- texts ---- */

static char plain(char c)
{
	return c == '\n' || c == '\r' || !c ? ' ' : c;
}

/* Write a message in quotes that it does not contain. If it contains both kinds, double quotes in
 * it become single quotes. */
static void message_write(struct nvtxt_export *w, struct item *item, bool with_domain)
{
	struct string_ref parts[3] = {item->domain, {":", 1}, item->text};
	bool has_double = false, has_single = false;
	char last = 0;
	for (unsigned i = with_domain && item->domain.bytes ? 0 : 2; i < 3; i++)
		for (uint32_t n = 0; n < parts[i].bytes; n++) {
			last = parts[i].text[n];
			has_double |= last == '"';
			has_single |= last == '\'';
			item->changed |= plain(last) != last;
		}
	char quote = has_double && !has_single ? '\'' : '"';
	item->changed |= (has_double && has_single) || last == '\\';
	putc_unlocked(quote, w->out);
	for (unsigned i = with_domain && item->domain.bytes ? 0 : 2; i < 3; i++)
		for (uint32_t n = 0; n < parts[i].bytes; n++) {
			char c = plain(parts[i].text[n]);
			putc_unlocked(c == '"' && quote == '"' ? '\'' : c, w->out);
		}
	if (last == '\\')
		putc_unlocked(' ', w->out);
	putc_unlocked(quote, w->out);
}

/* ---- comments ---- */

/* Return the flags that NVTXT files can contain: all except the flags that name the source of an
 * event. */
static int64_t own_flags(const struct item *item)
{
	return item->value[FLAGS] & ~(int64_t)(RECORD_IMPORTED | RECORD_DEFERRED);
}

static bool has_note(const struct item *item)
{
	const int64_t *v = item->value;
	return item->domain.bytes || item->changed || v[PAYLOAD_TYPE] || v[LEVEL] || v[RANGE_ID] ||
		own_flags(item) ||
		(item->row->event->number == KIND_NVTX_START_END &&
			(v[START_TID] != item->tid || !v[DURATION]));
}

static void number_note(FILE *out, const char *key, int64_t number)
{
	if (number)
		nvtxt_note_number(out, key, (uint64_t)number);
}

static void note_write(struct nvtxt_export *w, const struct item *item)
{
	const int64_t *v = item->value;
	bool is_span = item->row->event->number == KIND_NVTX_START_END;
	if (!has_note(item))
		return;
	fputs(" # libtrace: event", w->out);
	if (item->domain.bytes)
		nvtxt_note_text(w->out, "domain", item->domain.text, item->domain.bytes);
	if (item->changed)
		nvtxt_note_text(
			w->out, "text", item->text.bytes ? item->text.text : "", item->text.bytes);
	number_note(w->out, "payload_type", v[PAYLOAD_TYPE]);
	number_note(w->out, "payload", v[PAYLOAD_TYPE] ? v[PAYLOAD] : 0);
	number_note(w->out, "level", v[LEVEL]);
	number_note(w->out, "range", v[RANGE_ID]);
	if (is_span && v[START_TID] != item->tid)
		nvtxt_note_number(w->out, "start_thread", (uint64_t)v[START_TID]);
	number_note(w->out, "flags", own_flags(item));
	number_note(w->out, "instant", is_span && !v[DURATION]);
	w->tally->noted++;
	w->tally->changed += item->changed;
}

/* ---- events ---- */

/* Return the payload as an integer, which is all that NVTXT supports. Comments contain the bits. */
static int64_t payload_number(int64_t type, int64_t bits)
{
	double number;
	float small;
	uint32_t low = (uint32_t)bits;
	if (type == PAYLOAD_INT32)
		return (int32_t)low;
	if (type == PAYLOAD_UINT32)
		return low;
	if (type != PAYLOAD_DOUBLE && type != PAYLOAD_FLOAT)
		return type ? bits : 0;
	memcpy(&number, &bits, sizeof(number));
	memcpy(&small, &low, sizeof(small));
	number = type == PAYLOAD_FLOAT ? (double)small : number;
	return number > -9e18 && number < 9e18 ? (int64_t)number : 0;
}

static void common_write(struct nvtxt_export *w, struct item *item)
{
	const int64_t *v = item->value;
	fprintf(w->out, ", %u, %u, %u, 0x%08X, ", item->pid, item->tid, (uint32_t)v[CATEGORY],
		(uint32_t)v[COLOR]);
	message_write(w, item, true);
	fprintf(w->out, ", %" PRId64, payload_number(v[PAYLOAD_TYPE], v[PAYLOAD]));
	note_write(w, item);
}

/* Write a range as a push directly followed by its pop. Readers pair them in the order of lines, so
 * overlapping ranges stay separate. */
static void range_write(struct nvtxt_export *w, struct item *item)
{
	fprintf(w->out, "RangePush, %" PRIu64, item->start_ns);
	common_write(w, item);
	fprintf(w->out, "\nRangePop, %" PRIu64 ", %u, %u\n",
		item->start_ns + (uint64_t)item->value[DURATION], item->pid, item->tid);
}

static void span_write(struct nvtxt_export *w, struct item *item)
{
	uint64_t duration = (uint64_t)item->value[DURATION];
	fprintf(w->out, "RangeStartEnd, %" PRIu64 ", %" PRIu64, item->start_ns,
		item->start_ns + (duration ? duration : 1));
	common_write(w, item);
	putc_unlocked('\n', w->out);
}

static void mark_write(struct nvtxt_export *w, struct item *item)
{
	fprintf(w->out, "Marker, %" PRIu64, item->start_ns);
	common_write(w, item);
	putc_unlocked('\n', w->out);
}

/* Write a name. Threads have a command that all readers understand; `trace import` reads the
 * comment. */
static void name_write(struct nvtxt_export *w, struct item *item)
{
	const int64_t *v = item->value;
	if (v[WHAT] == NAMED_THREAD && v[IDENTIFIER] >= 0 && v[IDENTIFIER] <= NVTXT_IDS_MAX) {
		fprintf(w->out, "NameOsThread, %u, %" PRIu64 ", ", item->pid,
			(uint64_t)v[IDENTIFIER]);
		message_write(w, item, false);
		fputs(" # libtrace: skip\n", w->out);
	}
	fputs("# libtrace: name", w->out);
	nvtxt_note_number(w->out, "time", item->start_ns);
	nvtxt_note_number(w->out, "process", item->pid);
	nvtxt_note_number(w->out, "thread", item->tid);
	number_note(w->out, "what", v[WHAT]);
	number_note(w->out, "identifier", v[IDENTIFIER]);
	number_note(w->out, "type", v[TYPE]);
	if (item->domain.bytes)
		nvtxt_note_text(w->out, "domain", item->domain.text, item->domain.bytes);
	if (item->text.bytes)
		nvtxt_note_text(w->out, "text", item->text.text, item->text.bytes);
	putc_unlocked('\n', w->out);
}

/* Write the name that the system gave a thread, for readers other than `trace import`. */
static void thread_name_write(struct nvtxt_export *w, const struct event_row *row, uint32_t field)
{
	struct item item = {.row = row};
	item.text = string_table_get(&w->contents->strings,
		(uint32_t)row->values[schema_column_index(row->event, field)]);
	if (!item.text.bytes || row->tid > NVTXT_IDS_MAX ||
		row->process->facts->pid > NVTXT_IDS_MAX)
		return;
	fprintf(w->out, "NameOsThread, %u, %u, ", row->process->facts->pid, row->tid);
	message_write(w, &item, false);
	fputs(" # libtrace: skip\n", w->out);
}

static const struct layout *layout_of(const struct event_row *row)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].kind == row->event->number)
			return &layouts[i];
	return NULL;
}

/* Count columns that the layout does not have as lost, unless they are 0. */
static void lost_count(
	struct nvtxt_export *w, const struct event_row *row, const struct layout *layout)
{
	for (uint32_t i = 1; i < row->event->field_count; i++) {
		bool is_known = false;
		for (unsigned n = 0; n < COLUMNS; n++)
			is_known |= layout->fields[n] == row->event->fields[i].number;
		w->tally->lost[row->event->number][i] += !is_known && row->values[i];
	}
}

static void event_write(
	struct nvtxt_export *w, const struct event_row *row, const struct layout *layout)
{
	struct item item = {row, (uint64_t)row->values[0] - w->origin_ns, row->process->facts->pid,
		row->tid, {0}, {0}, {0}, false};
	if (item.pid > NVTXT_IDS_MAX || item.tid > NVTXT_IDS_MAX) {
		w->tally->ids++;
		return;
	}
	for (unsigned i = 0; i < COLUMNS; i++)
		item.value[i] = layout->fields[i]
			? row->values[schema_column_index(row->event, layout->fields[i])]
			: 0;
	/* An extended payload is a reference to other events, which NVTXT cannot represent. */
	if (item.value[PAYLOAD_TYPE] > PAYLOAD_FLOAT) {
		w->tally->lost[layout->kind]
			      [schema_column_index(row->event, layout->fields[PAYLOAD])]++;
		item.value[PAYLOAD_TYPE] = item.value[PAYLOAD] = 0;
	}
	item.domain = string_table_get(&w->contents->strings, (uint32_t)item.value[DOMAIN]);
	item.text = string_table_get(&w->contents->strings, (uint32_t)item.value[TEXT]);
	lost_count(w, row, layout);
	w->tally->written[layout->kind]++;
	if (layout->kind == KIND_NVTX_MARK)
		mark_write(w, &item);
	else if (layout->kind == KIND_NVTX_RANGE)
		range_write(w, &item);
	else if (layout->kind == KIND_NVTX_START_END)
		span_write(w, &item);
	else
		name_write(w, &item);
}

static void head_write(struct nvtxt_export *w, const char *name)
{
	struct item title = {.text = {name, (uint32_t)strlen(name)}};
	fprintf(w->out,
		"# Nanoseconds of CLOCK_MONOTONIC since the start of the session.\n"
		"# libtrace: file origin=%" PRIu64 "\n"
		"SetFileDisplayName, ",
		w->origin_ns);
	message_write(w, &title, false);
	fputs("\nTimeBase = Manual\n", w->out);
	for (size_t i = 0; i < w->contents->processes.count; i++) {
		const Libtrace__Process *f = w->contents->processes.rows[i]->facts;
		char program[PROCESS_NAME_BYTES];
		process_name(&w->contents->processes, w->contents->processes.rows[i], program);
		if (!strcmp(program, "?") || f->pid > NVTXT_IDS_MAX)
			continue;
		title.text = (struct string_ref){program, (uint32_t)strlen(program)};
		fprintf(w->out, "NameProcess, %u, ", f->pid);
		message_write(w, &title, false);
		fputs(" # libtrace: skip\n", w->out);
	}
	fputs("@RangePush, Time, ProcessId, ThreadId, CategoryId, Color, Message, Payload\n"
	      "@RangePop, Time, ProcessId, ThreadId\n"
	      "@RangeStartEnd, Start, End, ProcessId, ThreadId, CategoryId, Color, Message, "
	      "Payload\n"
	      "@Marker, Time, ProcessId, ThreadId, CategoryId, Color, Message, Payload\n",
		w->out);
}

static void row_write(struct nvtxt_export *w, const struct event_row *row)
{
	const struct layout *layout = layout_of(row);
	if (layout) {
		event_write(w, row, layout);
		return;
	}
	if (row->event->number == KIND_THREAD_START)
		thread_name_write(w, row, FIELD_THREAD_START_NAME);
	else if (row->event->number == KIND_THREAD_NAME)
		thread_name_write(w, row, FIELD_THREAD_NAME_NAME);
	else
		w->tally->left_out[row->event->number]++;
}

int nvtxt_write(FILE *out, struct cursor *cursor, const char *name, struct nvtxt_tally *ret_tally)
{
	struct event_row row;
	struct contents *c = cursor->contents;
	struct nvtxt_export w = {out, c, ret_tally, c->session ? c->session->start_ns : 0};
	int error;
	*ret_tally = (struct nvtxt_tally){0};
	if (!c->session || c->first_ns < w.origin_ns)
		w.origin_ns = c->first_ns <= c->last_ns ? c->first_ns : 0;
	head_write(&w, name);
	cursor_start(cursor);
	while ((error = cursor_next(cursor, &row)) > 0) {
		row_write(&w, &row);
		if (ferror_unlocked(out))
			return -EPIPE;
	}
	return error;
}
