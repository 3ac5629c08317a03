/* SPDX-License-Identifier: Apache-2.0 */
/* merged.c - `trace info` of a merged report: the reports that it was merged from, and how far
 * apart their clocks can be. */
#include <inttypes.h>
#include <string.h>

#include "reader/base/print.h"
#include "reader/cli/info/info.h"

#define REPORTS_PRINTED 16u

/* Return the first report of a host; NULL = none. */
static const Libtrace__Merged *report_of(const struct contents *c, uint32_t host)
{
	for (uint32_t i = 0; i < c->merged_count; i++)
		if (c->merged[i]->host == host)
			return c->merged[i];
	return NULL;
}

/* Print a number of ns with its sign in us or ms. */
static void signed_print(FILE *out, int64_t ns)
{
	fputs(ns < 0 ? "-" : "+", out);
	info_print_span(out, ns < 0 ? -(uint64_t)ns : (uint64_t)ns);
}

static void messages_print(FILE *out, const Libtrace__Merged *m)
{
	fputs(", clock ", out);
	signed_print(out, m->offset_ns);
	if (m->has_drift_ppb)
		fprintf(out, ", rate %+.3f ppm", (double)m->drift_ppb / 1e3);
	else
		fputs(", rate not known", out);
	fprintf(out, ", by %" PRIu64 " messages and collectives: wrong by at most ", m->bounds);
	info_print_span(out, m->error_ns);
	fputs(", at the ends ", out);
	info_print_span(out, m->error_ends_ns);
}

static void clock_print(FILE *out, const Libtrace__Merged *m)
{
	if (m->clock == LIBTRACE__MERGED_CLOCK__MERGED_CLOCK_MESSAGES) {
		messages_print(out, m);
	} else if (m->clock == LIBTRACE__MERGED_CLOCK__MERGED_CLOCK_WALL) {
		fputs(", clock ", out);
		signed_print(out, m->offset_ns);
		fputs(" by the wall clock: its error is not known", out);
	}
	if (m->clock_group != m->host && m->clock_group != 1)
		fprintf(out, ", with host %" PRIu32, m->clock_group);
}

static void report_print(FILE *out, const struct contents *c, const Libtrace__Merged *m)
{
	fputs("  ", out);
	print_text(out, (const char *)m->name.data, m->name.len);
	fprintf(out, ": host %" PRIu32, m->host);
	if (m->session->hostname) {
		fputs(" (", out);
		print_text(out, m->session->hostname, strlen(m->session->hostname));
		fputs(")", out);
	}
	if (report_of(c, m->host) == m)
		clock_print(out, m);
	fputs(m->complete ? "\n" : "; not complete\n", out);
}

/* Print how far two hosts can be apart, for those that are the farthest. */
static void pairs_print(FILE *out, const struct contents *c)
{
	uint64_t first = 0, second = 0;
	uint32_t hosts = 0, a = 0, b = 0;
	for (uint32_t i = 0; i < c->merged_count; i++) {
		const Libtrace__Merged *m = c->merged[i];
		if (report_of(c, m->host) != m || m->clock_group != 1)
			continue;
		hosts++;
		if (m->error_ns >= first) {
			second = first;
			b = a;
			first = m->error_ns;
			a = m->host;
		} else if (m->error_ns >= second) {
			second = m->error_ns;
			b = m->host;
		}
	}
	if (hosts < 3)
		return;
	fprintf(out, "  between two hosts: the sum of both, at most ");
	info_print_span(out, first + second);
	fprintf(out, " (hosts %" PRIu32 " and %" PRIu32 ")\n", a, b);
}

void info_print_merged(FILE *out, const struct contents *c, bool verbose)
{
	uint32_t printed = verbose ? c->merged_count : REPORTS_PRINTED;
	if (!c->merged_count)
		return;
	fprintf(out, "\nmerged from %" PRIu32 " report%s:\n", c->merged_count,
		c->merged_count == 1 ? "" : "s");
	for (uint32_t i = 0; i < c->merged_count && i < printed; i++)
		report_print(out, c, c->merged[i]);
	if (printed < c->merged_count)
		fprintf(out, "  and %" PRIu32 " more: -v\n", c->merged_count - printed);
	pairs_print(out, c);
}

static void member(FILE *out, const char *name, bool has, int64_t value)
{
	if (has)
		fprintf(out, ", \"%s\": %" PRId64, name, value);
}

void info_print_merged_json(FILE *out, const struct contents *c)
{
	static const char *const clocks[] = {"?", "same", "messages", "wall"};
	for (uint32_t i = 0; i < c->merged_count; i++) {
		const Libtrace__Merged *m = c->merged[i];
		fprintf(out, "%s\n  {\"number\": %" PRIu32 ", \"name\": ", i ? "," : "", m->number);
		print_json(out, (const char *)m->name.data, m->name.len);
		fputs(", \"hostname\": ", out);
		print_json_string(out, m->session->hostname);
		fputs(", \"boot_id\": ", out);
		print_json_string(out, m->session->boot_id);
		fprintf(out, ", \"clock\": \"%s\"", clocks[(unsigned)m->clock < 4 ? m->clock : 0]);
		member(out, "host", true, m->host);
		member(out, "clock_group", true, m->clock_group);
		member(out, "offset_ns", true, m->offset_ns);
		member(out, "drift_ppb", m->has_drift_ppb, m->drift_ppb);
		member(out, "error_ns", m->has_error_ns, (int64_t)m->error_ns);
		member(out, "error_ends_ns", m->has_error_ends_ns, (int64_t)m->error_ends_ns);
		member(out, "bounds", m->has_bounds, (int64_t)m->bounds);
		fprintf(out, ", \"complete\": %s}", m->complete ? "true" : "false");
	}
}
