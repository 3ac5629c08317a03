/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_details.c - details of the longest events of a page.
 *
 * SQL chooses the events and names the columns (reports/shared/page_details.sql). The page stays
 * small: the number of events is limited, and each list has a share of the bytes.
 */
#include "reader/cli/report/page_details.h"

#include <errno.h>
#include <inttypes.h>

#include "reader/base/print.h"
#include "reader/cli/report/page_json.h"
#include "reader/sql/reports.h"

#define EVENTS_MAX "8000" /* events of each kind of track */
#define SHARES 28u        /* a list has at most 1/28 of the bytes */
#define COLUMN_NAME 4     /* index of the column with the name of the event */

struct list {
	FILE *out;
	page_name_used used; /* NULL = the rows are not events */
	void *user;
	size_t bytes_most, name_bytes;
	long begin;
	uint64_t rows, left_out;
	int64_t source, chain; /* of the last callchain */
};

static bool is_full(struct list *l)
{
	long now = ftell(l->out);
	bool full = l->left_out || now < l->begin ||
		(size_t)(now - l->begin) + l->name_bytes > l->bytes_most;
	l->left_out += full;
	return full;
}

static int labels_print(void *user, const char *const *names, int count)
{
	struct list *l = user;
	fputs("\"labels\": [", l->out);
	for (int i = 0; i < count; i++)
		fprintf(l->out, "%s\"%s\"", i ? ", " : "", names[i]);
	fputs("], \"rows\": [", l->out);
	return 0;
}

/* Print a value. Integers beyond 2^53 (addresses, payloads), which JavaScript cannot represent
 * exactly, are printed as strings. */
static void value_print(FILE *out, const struct sql_value *v)
{
	const int64_t exact = INT64_C(1) << 53;
	if (v->type == SQL_INTEGER)
		fprintf(out,
			v->integer > exact || v->integer < -exact ? "\"%" PRId64 "\"" : "%" PRId64,
			v->integer);
	else if (v->type == SQL_REAL)
		print_real(out, v->real, 12);
	else if (v->type == SQL_TEXT)
		page_value(out, v);
	else
		fputs("null", out);
}

static int row_print(void *user, const struct sql_value *v, int count)
{
	struct list *l = user;
	if (is_full(l))
		return 0;
	if (l->used && count > COLUMN_NAME)
		l->name_bytes += l->used(l->user, (uint32_t)v[COLUMN_NAME].integer);
	fputs(l->rows++ ? ",\n[" : "\n[", l->out);
	for (int i = 0; i < count; i++) {
		fputs(i ? "," : "", l->out);
		value_print(l->out, &v[i]);
	}
	fputc(']', l->out);
	return ferror(l->out) ? -EPIPE : 0;
}

/* Print a frame of a callchain: [source, chain, frame, frame...]. */
static int frame_print(void *user, const struct sql_value *v, int count)
{
	struct list *l = user;
	bool same = l->rows && l->source == v[0].integer && l->chain == v[1].integer;
	if (count != 3 || (same ? l->left_out != 0 : is_full(l)))
		return 0;
	if (!same)
		fprintf(l->out, "%s[%" PRId64 ",%" PRId64, l->rows++ ? "],\n" : "\n", v[0].integer,
			v[1].integer);
	l->source = v[0].integer;
	l->chain = v[1].integer;
	fprintf(l->out, ",%" PRId64, v[2].integer);
	return ferror(l->out) ? -EPIPE : 0;
}

static int list_run(struct list *l, struct sql *s, const char *statement,
	int (*row)(void *, const struct sql_value *, int))
{
	const struct sql_visitor visitor = {l, l->used ? labels_print : NULL, row};
	l->begin = ftell(l->out);
	l->name_bytes = l->rows = l->left_out = 0;
	return sql_run(s, statement, &visitor);
}

static int events_print(struct list *l, struct sql *s)
{
	static const char *const statements[] = {"SELECT * FROM PAGE_CALLS_DETAILS",
		"SELECT * FROM PAGE_OSRT_DETAILS", "SELECT * FROM PAGE_KERNEL_DETAILS",
		"SELECT * FROM PAGE_COPY_DETAILS", "SELECT * FROM PAGE_SET_DETAILS",
		"SELECT * FROM PAGE_GRAPH_DETAILS", "SELECT * FROM PAGE_NVTX_DETAILS",
		"SELECT * FROM PAGE_MPI_DETAILS", "SELECT * FROM PAGE_GIL_DETAILS",
		"SELECT * FROM PAGE_SAMPLE_DETAILS", "SELECT * FROM PAGE_OPENMP_DETAILS",
		"SELECT * FROM PAGE_FUNCTION_DETAILS", "SELECT * FROM PAGE_OUTPUT_DETAILS",
		"SELECT * FROM PAGE_PATH_DETAILS"};
	uint64_t rows = 0;
	int error = 0;
	fputs("\"details\": {\"lists\": [", l->out);
	for (size_t i = 0; !error && i < sizeof(statements) / sizeof(statements[0]); i++) {
		fputs(i ? "]},\n{" : "\n{", l->out);
		error = list_run(l, s, statements[i], row_print);
		rows += l->rows;
	}
	fprintf(l->out, "]}], \"events\": %" PRIu64, rows);
	return error;
}

int page_details(FILE *out, struct sql *s, size_t bytes_most, page_name_used used, void *user)
{
	struct list l = {.out = out, .used = used, .user = user, .bytes_most = bytes_most / SHARES};
	s->arguments = "most=" EVENTS_MAX;
	int error = sql_run(s, report_shared("page_details"), NULL);
	s->arguments = NULL;
	if (!error)
		error = events_print(&l, s);
	l.used = NULL;
	if (!error) {
		fputs(", \"chains\": [", out);
		error = list_run(&l, s, "SELECT * FROM PAGE_CHAIN_FRAMES", frame_print);
	}
	if (!error) {
		fputs(l.rows ? "]], \"frames\": [" : "], \"frames\": [", out);
		error = list_run(&l, s, "SELECT * FROM PAGE_FRAME_TEXTS", row_print);
		fputs("]}", out);
	}
	return error;
}
