/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_reader.c - fuzz target of the report reader: reads arbitrary bytes as a report in all ways:
 * contents, events in order, callchains and modules, statistics, profile, results of kernels; and
 * once more with deferred events of NVTX among the others, if there are any.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/metrics.h"
#include "reader/nvtx/decode.h"
#include "reader/nvtx/deferred.h"
#include "reader/report/cursor.h"
#include "reader/stats/osrt.h"
#include "reader/stats/profile.h"
#include "tests/fuzz/mutate.h"

struct listing {
	struct cursor *cursor;
	struct nvtx_payloads payloads;
	unsigned printed;
};

static int add_block(void *user, const struct report_block *block)
{
	struct listing *l = user;
	return cursor_add_block(l->cursor, block);
}

static int take_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	struct listing *l = user;
	(void)walk;
	return nvtx_payloads_take(&l->payloads, b);
}

/* Print extended payloads of the first rows of any kind that has payloads. */
static void print_payload(struct listing *l, const struct event_row *row)
{
	static FILE *out;
	if (!out)
		out = fopen("/dev/null", "w");
	for (uint32_t i = 1; out && i < row->event->field_count && l->printed < 1000; i++)
		if (row->event->fields[i].kind == FIELD_KIND_PAYLOAD &&
			row->values[i - 1] == PAYLOAD_EXTENDED) {
			const struct nvtx_payload_ref ref = {.process = row->process->id,
				.payload = (uint64_t)row->values[i],
				.domain = (uint32_t)row->values[1]};
			nvtx_payload_print(out, &l->payloads, &ref);
			l->printed++;
		}
}

static void list_rows(struct listing *l)
{
	struct cursor *cursor = l->cursor;
	struct event_row row;
	nvtx_payloads_ready(&l->payloads);
	cursor_start(cursor);
	/* a hostile block expands to any number of rows: a few are representative */
	for (unsigned rows = 0; rows < 100000 && cursor_next(cursor, &row) > 0; rows++) {
		if (!row.process)
			abort();
		print_payload(l, &row);
	}
}

static void follow_chains(struct contents *c)
{
	static uint64_t chain[CALLCHAIN_FRAMES_MAX];
	bool whole;
	for (size_t i = 0; i < c->processes.count; i++) {
		struct process *p = c->processes.rows[i];
		for (uint32_t n = 0; n < p->callchains.count && n < 100; n++) {
			const struct callchain_piece *piece = &p->callchains.pieces[n];
			uint32_t frames = callchain_addresses(&p->callchains,
				piece->first_id + piece->count - 1, chain, CALLCHAIN_FRAMES_MAX,
				&whole);
			for (uint32_t f = 0; f < frames; f++)
				module_map_find(&p->modules, chain[f], f);
		}
		if (p->modules.count)
			module_map_each(&p->modules, p->modules.modules[0].begin, NULL);
	}
}

static void sum_chains(const struct report *report)
{
	const struct contents_visitor none = {0};
	const struct cursor_filter all = {0};
	struct contents c;
	struct symbols symbols;
	struct profile profile;
	uint32_t count;
	contents_init(&c);
	symbols_init(&symbols, &c, NULL);
	if (!profile_init(&profile, &c, &symbols, &all, PROFILE_OSRT, true) &&
		!profile_read(&profile, report, &none)) {
		struct profile_entry *entries = profile_order(&profile, PROFILE_TIME, &count);
		free(profile_flat(&profile, entries, count, PROFILE_COUNT));
		free(entries);
	}
	profile_release(&profile);
	symbols_release(&symbols);
	contents_release(&c);
}

static int note_results(void *user, const struct report_block *block)
{
	const char *cause;
	int error = ncu_results_note(user, block, &cause);
	return error == -EBADMSG ? 0 : error;
}

static void read_results(const struct report *report)
{
	struct ncu_results n;
	struct contents c;
	const struct contents_visitor visitor = {&n, note_results, NULL, NULL};
	contents_init(&c);
	ncu_results_init(&n, report);
	contents_read(&c, report, &visitor);
	for (size_t i = 0; i < n.count && i < 100; i++) {
		Ncu__ProfileResult *result;
		if (n.entries[i].kind != NCU_RESULT || ncu_result_read(&n, i, &result))
			continue;
		for (size_t m = 0; m < n.name_count && m < 100; m++)
			ncu_metric_find(&n, result, n.names[m]);
		ncu__profile_result__free_unpacked(result, NULL);
	}
	ncu_results_release(&n);
	contents_release(&c);
}

static void read_report(const struct report *report)
{
	const struct cursor_filter all = {0};
	const struct contents_visitor none = {0};
	struct contents c, again;
	struct cursor cursor;
	struct osrt_totals totals;
	struct listing l = {.cursor = &cursor};
	const struct contents_visitor visitor = {&l, add_block, take_batch, NULL};
	contents_init(&c);
	contents_init(&again);
	nvtx_payloads_init(&l.payloads, &c);
	osrt_totals_init(&totals);
	cursor_init(&cursor, report, &c, &all);
	if (contents_read(&c, report, &visitor) == 0)
		list_rows(&l);
	follow_chains(&c);
	sum_chains(report);
	read_results(report);
	osrt_totals_read(&totals, &again, report, &none);
	osrt_totals_release(&totals);
	cursor_release(&cursor);
	nvtx_payloads_release(&l.payloads);
	contents_release(&again);
	contents_release(&c);
}

static void read_with_deferred(struct report *report)
{
	struct nvtx_deferred deferred;
	read_report(report);
	if (!nvtx_deferred_read(&deferred, report, true) && deferred.blocks)
		read_report(report);
	nvtx_deferred_release(&deferred);
}

static void read_mended(const uint8_t *data, size_t bytes)
{
	struct report report;
	const char *cause;
	uint8_t *copy = malloc(bytes + 1);
	if (!copy)
		return;
	memcpy(copy, data, bytes);
	mutate_mend(copy, bytes);
	if (report_open_memory(&report, copy, bytes, &cause) == 0) {
		read_with_deferred(&report);
		report_close(&report);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct report report;
	const char *cause;
	if (report_open_memory(&report, data, bytes, &cause) == 0) {
		read_with_deferred(&report);
		report_close(&report);
		read_mended(data, bytes);
	}
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed)
{
	return mutate_report(data, bytes, max, seed);
}
