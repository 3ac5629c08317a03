/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_timeline.c - the timeline of a page: tracks, names and levels of detail.
 *
 * SQL prepares the rows (reports/shared/timeline.sql). Each level is made of the one before, in
 * place: rows shorter than a cell that begin in the same cell become one row. The finest level that
 * fits is written, and of the coarser levels those with at most half the rows of the one before. A
 * row of a level is, in base64 of LEB128 numbers: start (since the previous row), twice the
 * duration (plus one if it stands for several events), number of the longest event's name; then,
 * for several events, their count, the time they take and the part of it that is not waiting.
 * Details of the longest events come before the levels (page_details.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/spill.h"
#include "reader/cli/report/page_details.h"
#include "reader/cli/report/page_json.h"
#include "reader/cli/report/page_timeline.h"
#include "reader/sql/reports.h"

#define CELLS_LEAST 1024u /* cells of the coarsest level: about a pixel each */
#define ROWS_FEW 4000u    /* this many rows are drawn at once: no coarser level is needed */
#define TRACKS_MAX 4000u
#define LIFETIMES_MAX 8000u
#define PROCESSES_MAX 4000u
#define NAME_BYTES 24u           /* bytes of a name besides its texts */
#define NAME_BITS 21u            /* of `longest`; 0 = all names without a number there */
#define MEMORY_MOST (128u << 20) /* of rows; the rest is in a file */

struct names {
	uint16_t *bytes; /* size in the page, by number of the name */
	uint8_t *used;   /* used by a level that is kept, or being tried */
	uint32_t count;
};

struct base64 {
	uint32_t bits;
	unsigned held;
};

/* A row of PAGE_ROWS, or several that were combined. */
struct row {
	int64_t start, end, taken, busy, count, longest;
	uint32_t track, row;
};

struct rows {
	struct spill spill;
	struct row *list; /* sorted by track, row and start */
	uint32_t count, capacity;
};

/* A level that is being written to memory. */
struct level {
	FILE *out;
	struct names *names;
	struct base64 digits;
	const struct row *previous;
	int64_t start; /* of the previous row, in the page */
	size_t name_bytes, bytes_most;
	bool too_big;
};

struct timeline {
	FILE *out;
	struct sql *s;
	struct names names;
	struct rows rows;
	int64_t start_ns, end_ns, events;
	size_t bytes_left;
	uint32_t rows_kept; /* rows of the last level that was kept; 0 = none */
};

/* ---- numbers ---- */

static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void byte_put(struct base64 *b, FILE *out, unsigned byte)
{
	b->bits = b->bits << 8 | byte;
	if (++b->held < 3)
		return;
	for (int shift = 18; shift >= 0; shift -= 6)
		fputc(digits64[b->bits >> shift & 63], out);
	*b = (struct base64){0};
}

static void base64_end(struct base64 *b, FILE *out)
{
	if (b->held == 1)
		fprintf(out, "%c%c==", digits64[b->bits >> 2], digits64[(b->bits & 3) << 4]);
	else if (b->held == 2)
		fprintf(out, "%c%c%c=", digits64[b->bits >> 10], digits64[b->bits >> 4 & 63],
			digits64[(b->bits & 15) << 2]);
	*b = (struct base64){0};
}

static void number_put(struct level *l, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		byte_put(&l->digits, l->out, (unsigned)(number & 0x7f) | 0x80);
	byte_put(&l->digits, l->out, (unsigned)number);
}

/* ---- one level ---- */

/* Mark a name as used. Returns the bytes that it adds to the page. */
static size_t name_use(void *user, uint32_t name)
{
	struct names *n = user;
	if (name >= n->count || n->used[name])
		return 0;
	n->used[name] = 1;
	return n->bytes[name] + NAME_BYTES;
}

static void row_put(struct level *l, const struct row *r)
{
	const uint32_t name = (uint32_t)r->longest & ((1u << NAME_BITS) - 1);
	const struct row *p = l->previous;
	const bool is_first = !p || p->track != r->track || p->row != r->row;
	const bool several = r->count > 1;
	if (is_first) {
		base64_end(&l->digits, l->out);
		fprintf(l->out, "%s[%" PRIu32 ", %" PRIu32 ", \"", p ? "\"],\n" : "", r->track,
			r->row);
		l->start = 0;
	}
	/* Times before the session's start would break the order: move them to the start. */
	const int64_t start = r->start > l->start ? r->start : l->start;
	number_put(l, (uint64_t)(start - l->start));
	number_put(l, (uint64_t)(r->end - r->start) << 1 | several);
	number_put(l, name);
	if (several) {
		number_put(l, (uint64_t)r->count);
		number_put(l, (uint64_t)r->taken);
		number_put(l, (uint64_t)r->busy);
	}
	l->name_bytes += name_use(l->names, name);
	l->start = start;
	l->previous = r;
}

/* Write a level if it fits and has few enough rows. */
static int level_print(struct timeline *t, int64_t cell_ns)
{
	char *text = NULL;
	size_t bytes = 0;
	uint8_t *used_before = malloc(t->names.count + 1);
	struct level l = {.out = open_memstream(&text, &bytes),
		.names = &t->names,
		.bytes_most = t->rows_kept ? t->bytes_left : t->bytes_left / 5 * 3};
	int error = l.out && used_before ? 0 : -ENOMEM;
	if (used_before)
		memcpy(used_before, t->names.used, t->names.count);
	for (uint32_t i = 0; !error && !l.too_big && i < t->rows.count; i++) {
		row_put(&l, &t->rows.list[i]);
		spill_use(&t->rows.spill, 1);
		if ((i + 1) % 1024 == 0)
			l.too_big = (size_t)ftell(l.out) + l.name_bytes > l.bytes_most;
	}
	if (l.out) {
		base64_end(&l.digits, l.out);
		fputs(l.previous ? "\"]" : "", l.out);
		if (fclose(l.out) && !error)
			error = -ENOMEM;
	}
	const bool fits = !error && !l.too_big && bytes + l.name_bytes <= l.bytes_most,
		   worth = !t->rows_kept || t->rows.count <= t->rows_kept / 2;
	if (fits && worth) {
		fprintf(t->out,
			"%s{\"cell_ns\": %" PRId64 ", \"rows\": %" PRIu32 ", \"track_rows\": [",
			t->rows_kept ? ",\n" : "", cell_ns, t->rows.count);
		fwrite(text, 1, bytes, t->out);
		fputs("]}", t->out);
		t->rows_kept = t->rows.count;
		t->bytes_left -= bytes + l.name_bytes;
	} else if (used_before) {
		memcpy(t->names.used, used_before, t->names.count);
	}
	free(used_before);
	free(text);
	return error;
}

static int row_read(void *user, const struct sql_value *v, int count)
{
	enum { R_TRACK, R_ROW, R_START, R_END, R_BUSY, R_LONGEST, R_FIELDS };
	struct rows *r = user;
	if (count != R_FIELDS)
		return 0;
	int error = spill_room(&r->spill, &r->list, r->count, &r->capacity, sizeof(*r->list));
	if (!error)
		r->list[r->count++] = (struct row){v[R_START].integer, v[R_END].integer,
			v[R_END].integer - v[R_START].integer, v[R_BUSY].integer, 1,
			v[R_LONGEST].integer, (uint32_t)v[R_TRACK].integer,
			(uint32_t)v[R_ROW].integer};
	spill_use(&r->spill, 1);
	return error;
}

static int rows_read(struct timeline *t)
{
	const struct sql_visitor visitor = {&t->rows, NULL, row_read};
	t->rows.spill.limit = MEMORY_MOST;
	return sql_run(t->s,
		"SELECT track, row, start, \"end\", busy, longest FROM PAGE_ROWS "
		"ORDER BY track, row, start",
		&visitor);
}

/* Return a sum of durations, at most INT64_MAX: invalid ones may overlap as often as they like. */
static int64_t sum_of(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Add a row to another one. */
static void row_combine(struct row *to, const struct row *r)
{
	to->end = r->end > to->end ? r->end : to->end;
	to->taken = sum_of(to->taken, r->taken);
	to->busy = sum_of(to->busy, r->busy);
	to->count += r->count;
	to->longest = r->longest > to->longest ? r->longest : to->longest;
}

/* Make the next level: combine rows shorter than a cell that begin in the same cell. */
static void level_make(struct rows *rows, int64_t cell_ns)
{
	struct row *open = NULL; /* the last row that is shorter than a cell */
	uint32_t count = 0;
	for (uint32_t i = 0; i < rows->count; i++) {
		const struct row r = rows->list[i];
		const bool is_short = r.end - r.start < cell_ns;
		spill_use(&rows->spill, 1);
		if (is_short && open && open->track == r.track && open->row == r.row &&
			open->start / cell_ns == r.start / cell_ns) {
			row_combine(open, &r);
			continue;
		}
		rows->list[count] = r;
		open = is_short ? &rows->list[count] : open;
		count++;
	}
	rows->count = count;
}

/* Write the levels, from single events to cells of 1/1000 of the whole time. */
static int levels_print(struct timeline *t)
{
	int64_t span_ns = t->end_ns - t->start_ns,
		cell_ns = span_ns / (4 * (t->events ? t->events : 1));
	int error = rows_read(t);
	error = error ? error : level_print(t, 0);
	cell_ns = cell_ns ? cell_ns : 1;
	for (; !error && t->rows.count > ROWS_FEW && cell_ns / 4 < span_ns / CELLS_LEAST;
		cell_ns *= 4) {
		level_make(&t->rows, cell_ns);
		error = level_print(t, cell_ns);
	}
	spill_release(&t->rows.spill);
	return error;
}

/* ---- names, tracks, processes ---- */

static int name_measure(void *user, const struct sql_value *v, int count)
{
	struct names *n = user;
	int64_t id = v[0].integer, bytes = v[1].integer;
	if (count == 2 && id > 0 && id < (int64_t)n->count)
		n->bytes[id] = (uint16_t)(bytes < UINT16_MAX ? bytes : UINT16_MAX);
	return 0;
}

static int names_measure(struct timeline *t, int64_t last)
{
	char statement[200];
	const struct sql_visitor visitor = {&t->names, NULL, name_measure};
	t->names.count = (uint32_t)(last < (1 << NAME_BITS) ? last + 1 : 1 << NAME_BITS);
	t->names.bytes = calloc(t->names.count, sizeof(*t->names.bytes));
	t->names.used = calloc(t->names.count, 1);
	if (!t->names.bytes || !t->names.used)
		return -ENOMEM;
	snprintf(statement, sizeof(statement),
		"SELECT id, min(length(CAST(text AS BLOB)), %u) + "
		"min(length(CAST(detail AS BLOB)), %u) FROM PAGE_NAMES",
		PAGE_TEXT_BYTES, PAGE_TEXT_BYTES);
	return sql_run(t->s, statement, &visitor);
}

struct list {
	struct timeline *t;
	int columns;
	uint64_t count, most;
};

static int name_print(void *user, const struct sql_value *v, int count)
{
	struct list *l = user;
	FILE *out = l->t->out;
	if (count != 4 || v[0].integer >= (int64_t)l->t->names.count ||
		!l->t->names.used[v[0].integer])
		return 0;
	fprintf(out, "%s[%" PRId64 ", \"%s\", ", l->count++ ? ",\n" : "", v[0].integer,
		v[1].text ? v[1].text : "");
	page_value(out, &v[2]);
	fputs(", ", out);
	page_value(out, &v[3]);
	fputc(']', out);
	return ferror(out) ? -EPIPE : 0;
}

static int list_row(void *user, const struct sql_value *v, int count)
{
	struct list *l = user;
	FILE *out = l->t->out;
	if (count != l->columns || l->count++ >= l->most)
		return 0;
	fputs(l->count > 1 ? ",\n" : "", out);
	for (int i = 0; i < count; i++) {
		fputs(i ? ", " : "[", out);
		if (v[i].type == SQL_TEXT)
			page_text(out, v[i].text, v[i].bytes);
		else
			fprintf(out, "%" PRId64, v[i].type == SQL_INTEGER ? v[i].integer : 0);
	}
	fputc(']', out);
	return ferror(out) ? -EPIPE : 0;
}

static int list_print(
	struct timeline *t, const char *name, const char *statement, int columns, uint64_t most)
{
	struct list l = {t, columns, 0, most};
	const struct sql_visitor visitor = {&l, NULL, list_row};
	fprintf(t->out, ", \"%s\": [\n", name);
	int error = sql_run(t->s, statement, &visitor);
	fprintf(t->out, "], \"%s_left_out\": %" PRIu64, name, l.count > most ? l.count - most : 0);
	return error;
}

static int names_print(struct timeline *t)
{
	struct list l = {.t = t};
	const struct sql_visitor visitor = {&l, NULL, name_print};
	fputs("], \"names\": [\n", t->out);
	int error = sql_run(t->s, "SELECT id, kind, text, detail FROM PAGE_NAMES", &visitor);
	fputs("]", t->out);
	return error;
}

static int extent_take(void *user, const struct sql_value *v, int count)
{
	struct timeline *t = user;
	t->events = v[0].integer;
	t->start_ns = v[1].integer;
	t->end_ns = v[2].integer;
	return count == 4 ? names_measure(t, v[3].integer) : -EINVAL;
}

static int timeline_prepare(struct timeline *t)
{
	static const char *const before[] = {"nvtx", "osrt", "graphics", "function_calls",
		"thread_time", "thread_states", "cuda_memory_use", "gpu_clocks", "timeline",
		"page_unknown"};
	const struct sql_visitor visitor = {t, NULL, extent_take};
	int has_gil = sql_has_rows(t->s, "LIBTRACE_GIL_WAIT");
	int error = has_gil > 0 ? sql_run(t->s, report_shared("gil"), NULL) : has_gil;
	for (size_t i = 0; !error && i < sizeof(before) / sizeof(before[0]); i++)
		error = sql_run(t->s, report_shared(before[i]), NULL);
	if (!error)
		error = sql_run(t->s,
			"SELECT sum(counted), min(max(min(start), 0), 4611686018427387903), "
			"max(min(max(\"end\"), 4611686018427387903), 1), "
			"(SELECT max(id) FROM PAGE_NAMES) FROM "
			"(SELECT event & 15 <> 11 AS counted, start, \"end\" FROM PAGE_ROWS "
			"UNION ALL "
			"SELECT 0, start, \"end\" FROM PAGE_LIFETIMES)",
			&visitor);
	return error;
}

/* Print the details of the longest events. The levels get the bytes that are left. */
static int details_print(struct timeline *t)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);
	int error =
		memory ? page_details(memory, t->s, t->bytes_left, name_use, &t->names) : -ENOMEM;
	if (memory && fclose(memory) && !error)
		error = -ENOMEM;
	if (!error)
		fwrite(text, 1, bytes, t->out);
	t->bytes_left -= bytes < t->bytes_left / 2 ? bytes : t->bytes_left / 2;
	free(text);
	return error;
}

#define THREAD_NAME                                                         \
	"coalesce((SELECT n.name FROM THREAD_NAMES AS n WHERE n.globalTid " \
	"= l.process << 24 | l.tid), '') "

int page_timeline(FILE *out, struct sql *s, size_t bytes_most)
{
	struct timeline t = {.out = out, .s = s, .bytes_left = bytes_most};
	int error = timeline_prepare(&t);
	if (!error) {
		fprintf(out,
			",\n\"timeline\": {\"start_ns\": %" PRId64 ", \"end_ns\": %" PRId64
			", \"events\": %" PRId64 ",\n",
			t.start_ns, t.end_ns, t.events);
		error = details_print(&t);
	}
	if (!error) {
		fputs(",\n\"levels\": [\n", out);
		error = levels_print(&t);
	}
	if (!error)
		error = names_print(&t);
	if (!error)
		error = list_print(&t, "tracks",
			"SELECT l.id, l.process, l.tid, l.what, l.device, l.stream, " THREAD_NAME
			"FROM PAGE_TRACKS AS l ORDER BY l.id",
			7, TRACKS_MAX);
	if (!error)
		error = list_print(&t, "lifetimes",
			"SELECT l.process, l.tid, l.start, l.\"end\", " THREAD_NAME
			"FROM PAGE_LIFETIMES AS l ORDER BY l.tid <> 0, l.start, l.process, l.tid",
			5, LIFETIMES_MAX);
	if (!error)
		error = list_print(&t, "names_of_processes",
			"WITH parents (process, parent) AS (SELECT p.globalPid >> 24, "
			"max(q.globalPid >> 24) FROM LIBTRACE_PROCESS AS p JOIN LIBTRACE_PROCESS "
			"AS q ON q.pid = p.parentPid AND q.globalPid <> p.globalPid GROUP BY 1) "
			"SELECT DISTINCT p.globalPid >> 24, p.pid, coalesce(p.name, ''), "
			"coalesce(r.parent, 0) FROM PROCESSES AS p "
			"LEFT JOIN parents AS r ON r.process = p.globalPid >> 24",
			4, PROCESSES_MAX);
	fputs("}", out);
	free(t.names.bytes);
	free(t.names.used);
	return error;
}
