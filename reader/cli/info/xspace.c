/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xspace.c - `trace info` of an XSpace, as text and as JSON.
 */
#include "reader/cli/info/xspace.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "reader/base/print.h"
#include "reader/cli/base/message.h"
#include "reader/xspace/xspace.h"

static void print_value(FILE *out, const struct xspace_stat *s, bool json)
{
	switch (s->kind) {
	case XSPACE_REAL:
		print_real(out, s->real, 17);
		break;
	case XSPACE_U64:
		print_u64(out, s->number);
		break;
	case XSPACE_I64:
		print_i64(out, (int64_t)s->number);
		break;
	case XSPACE_TEXT:
		(json ? print_json : print_text)(out, s->text.text, s->text.bytes);
		break;
	case XSPACE_BYTES:
		fprintf(out, json ? "\"<%zu bytes>\"" : "<%zu bytes>", s->text.bytes);
		break;
	case XSPACE_NONE:
		fputs(json ? "null" : "?", out);
		break;
	}
}

/* ---- text ---- */

static void print_line(FILE *out, const struct xspace_line *l)
{
	fputs("    ", out);
	print_text(out, l->name.text, l->name.bytes);
	fprintf(out, " (%" PRId64 "): ", l->id);
	print_grouped(out, l->events);
	fprintf(out, " events, %" PRId64 " ns in total", l->total_ps / 1000);
	if (l->events)
		fprintf(out, ", from %" PRId64 " to %" PRId64 " ns",
			l->timestamp_ns + l->first_ps / 1000, l->timestamp_ns + l->last_ps / 1000);
	fputc('\n', out);
}

static void print_plane(FILE *out, const struct xspace_plane *p)
{
	struct xspace_stat s;
	const uint8_t *at = p->at;
	print_text(out, p->name.text, p->name.bytes);
	fprintf(out, ": %u lines, %u event names\n", p->line_count, p->event_names.count);
	while (xspace_stat_next(p, XSPACE_PLANE_STAT, &at, p->end, &s)) {
		fputs("    ", out);
		print_text(out, s.name.text, s.name.bytes);
		fputs(" = ", out);
		print_value(out, &s, false);
		fputc('\n', out);
	}
	for (uint32_t i = 0; i < p->line_count; i++)
		print_line(out, &p->lines[i]);
}

static void print_space(FILE *out, const char *path, const struct xspace *x)
{
	uint64_t events = 0;
	for (uint32_t i = 0; i < x->plane_count; i++)
		for (uint32_t n = 0; n < x->planes[i].line_count; n++)
			events += x->planes[i].lines[n].events;
	fprintf(out,
		"file:      %s\nformat:    XSpace of a profiler (XProf), not written as a report\n",
		path);
	for (uint32_t i = 0; i < x->hostname_count; i++) {
		fputs("host:      ", out);
		print_text(out, x->hostnames[i].text, x->hostnames[i].bytes);
		fputc('\n', out);
	}
	fprintf(out, "planes:    %u, with %" PRIu64 " events\n", x->plane_count, events);
	if (x->errors || x->warnings)
		fprintf(out, "its profiler reported %" PRIu64 " errors and %" PRIu64 " warnings\n",
			x->errors, x->warnings);
	for (uint32_t i = 0; i < x->plane_count; i++) {
		fputc('\n', out);
		print_plane(out, &x->planes[i]);
	}
}

/* ---- JSON ---- */

static void print_line_json(FILE *out, const struct xspace_line *l)
{
	fprintf(out, "{\"id\":%" PRId64 ",\"name\":", l->id);
	print_json(out, l->name.text, l->name.bytes);
	fprintf(out,
		",\"timestamp_ns\":%" PRId64 ",\"events\":%" PRIu64 ",\"sum_duration_ps\":%" PRId64
		",\"min_offset_ps\":%" PRId64 ",\"max_end_ps\":%" PRId64 "}",
		l->timestamp_ns, l->events, l->total_ps, l->first_ps, l->last_ps);
}

static void print_plane_json(FILE *out, const struct xspace_plane *p)
{
	struct xspace_stat s;
	const uint8_t *at = p->at;
	const char *comma = "";
	fprintf(out, "{\"id\":%" PRId64 ",\"name\":", p->id);
	print_json(out, p->name.text, p->name.bytes);
	fprintf(out, ",\"event_metadata\":%u,\"stat_metadata\":%u,\"plane_stats\":{",
		p->event_names.count, p->stat_names.count);
	for (; xspace_stat_next(p, XSPACE_PLANE_STAT, &at, p->end, &s); comma = ",") {
		fputs(comma, out);
		print_json(out, s.name.text, s.name.bytes);
		fputc(':', out);
		print_value(out, &s, true);
	}
	fputs("},\"lines\":[", out);
	for (uint32_t i = 0; i < p->line_count; i++) {
		fputs(i ? "," : "", out);
		print_line_json(out, &p->lines[i]);
	}
	fputs("]}", out);
}

static void print_space_json(FILE *out, const struct xspace *x)
{
	fputs("{\"format\":\"XSpace\",\"hostnames\":[", out);
	for (uint32_t i = 0; i < x->hostname_count; i++) {
		fputs(i ? "," : "", out);
		print_json(out, x->hostnames[i].text, x->hostnames[i].bytes);
	}
	fprintf(out, "],\"errors\":%" PRIu64 ",\"warnings\":%" PRIu64 ",\"planes\":[", x->errors,
		x->warnings);
	for (uint32_t i = 0; i < x->plane_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		print_plane_json(out, &x->planes[i]);
	}
	fputs("]}\n", out);
}

int info_xspace(const char *path, bool json)
{
	struct xspace x;
	int error = xspace_open(&x, path);
	if (error) {
		cli_error("cannot read '%s': %s", path,
			error == -EBADMSG ? "not an XSpace, or damaged" : strerror(-error));
		return STATUS_FAILED;
	}
	if (json)
		print_space_json(stdout, &x);
	else
		print_space(stdout, path, &x);
	xspace_close(&x);
	return cli_finish(stdout, "standard output");
}
