/* SPDX-License-Identifier: Apache-2.0 */
/* merged.c - `trace info` of a merged report: the reports that it was merged from, and how far
 * apart their clocks can be. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/print.h"
#include "reader/cli/info/info.h"

#define REPORTS_PRINTED 16u
#define PAIRS_PRINTED 16u

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

/* A pair of hosts, `host` the later one. */
struct host_pair {
	uint32_t host, other;
	uint64_t error_ns, error_ends_ns;
};

/* Return the number of pairs of a report's host and those before it. */
static size_t pairs_of(const Libtrace__Merged *m)
{
	return m->n_pair_error_ns < m->n_pair_error_ends_ns ? m->n_pair_error_ns
							    : m->n_pair_error_ends_ns;
}

static bool pair_is_known(const Libtrace__Merged *m, size_t i)
{
	return m->pair_error_ns[i] <= INT64_MAX && m->pair_error_ends_ns[i] <= INT64_MAX;
}

/* The greatest error first; of equal ones, the earlier host. */
static int compare_pairs(const void *a, const void *b)
{
	const struct host_pair *x = a, *y = b;
	if (x->error_ns != y->error_ns)
		return x->error_ns < y->error_ns ? 1 : -1;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return (x->other > y->other) - (x->other < y->other);
}

/* Collect the pairs of hosts whose error is known, the greatest first. The caller frees them. */
static size_t pairs_collect(const struct contents *c, struct host_pair **ret_pairs)
{
	size_t room = 0, count = 0;
	for (uint32_t i = 0; i < c->merged_count; i++)
		room += pairs_of(c->merged[i]);
	struct host_pair *pairs = calloc(room + 1, sizeof(*pairs));
	for (uint32_t i = 0; pairs && i < c->merged_count; i++) {
		const Libtrace__Merged *m = c->merged[i];
		for (size_t k = 0; k < pairs_of(m); k++)
			if (pair_is_known(m, k))
				pairs[count++] = (struct host_pair){m->host, (uint32_t)k + 1,
					m->pair_error_ns[k], m->pair_error_ends_ns[k]};
	}
	if (pairs)
		qsort(pairs, count, sizeof(*pairs), compare_pairs);
	*ret_pairs = pairs;
	return count;
}

/* Print how far the clocks of each two hosts can be apart. */
static void pairs_print(FILE *out, const struct contents *c, bool verbose)
{
	struct host_pair *pairs;
	const size_t count = pairs_collect(c, &pairs);
	const size_t printed = verbose || count < PAIRS_PRINTED ? count : PAIRS_PRINTED;
	if (count > 1)
		fputs("  between two hosts, wrong by at most:\n", out);
	for (size_t i = 0; count > 1 && i < printed; i++) {
		fprintf(out, "    hosts %" PRIu32 " and %" PRIu32 ": ", pairs[i].other,
			pairs[i].host);
		info_print_span(out, pairs[i].error_ns);
		fputs(", at the ends ", out);
		info_print_span(out, pairs[i].error_ends_ns);
		fputc('\n', out);
	}
	if (printed < count)
		fprintf(out, "    and %zu pairs that are closer: -v\n", count - printed);
	free(pairs);
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
	pairs_print(out, c, verbose);
}

static void member(FILE *out, const char *name, bool has, int64_t value)
{
	if (has)
		fprintf(out, ", \"%s\": %" PRId64, name, value);
}

static void pairs_print_json(FILE *out, const Libtrace__Merged *m)
{
	bool is_first = true;
	fputs(", \"pairs\": [", out);
	for (size_t i = 0; i < pairs_of(m); i++) {
		if (!pair_is_known(m, i))
			continue;
		fprintf(out,
			"%s{\"host\": %zu, \"error_ns\": %" PRIu64 ", \"error_ends_ns\": %" PRIu64
			"}",
			is_first ? "" : ", ", i + 1, m->pair_error_ns[i], m->pair_error_ends_ns[i]);
		is_first = false;
	}
	fputc(']', out);
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
		if (m->n_pair_error_ns)
			pairs_print_json(out, m);
		fprintf(out, ", \"complete\": %s}", m->complete ? "true" : "false");
	}
}
