/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_api.c - fuzz target of libtrace-reader.h: calls every function on arbitrary bytes as a
 * report; bytes that are not a report are read as a chart file of a rule.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/libtrace-reader.h"
#include "tests/fuzz/mutate.h"

#define CAUSE_BYTES 200u
#define RESULTS_MAX 20u

static char path[64];
static char cause[CAUSE_BYTES];
static uint64_t sum; /* sum of all returned values, so that they are read */

static void path_remove(void)
{
	unlink(path);
}

/* Check an error: `text` was set by the call that returned `error`. */
static void take_text(int error, char *const *text)
{
	if (!error && *text)
		sum += strlen(*text);
	if (!error)
		libtrace_text_free(*text);
}

static void take_values(const struct libtrace_values *v)
{
	double *reals = malloc(v->count * 8 + 1);
	uint64_t *wholes = malloc(v->count * 8 + 1);
	if (reals && wholes) {
		libtrace_values_as_real(v, reals);
		libtrace_values_as_whole(v, wholes);
	}
	for (size_t i = 0; i < v->count; i++)
		if (v->kinds[i] == LIBTRACE_VALUE_STRING)
			sum += strlen((const char *)(uintptr_t)v->bits[i]);
	free(reals);
	free(wholes);
}

static void take_places(struct libtrace_result *r, const struct libtrace_values *keys)
{
	for (size_t i = 0; i < keys->count && i < 20; i++) {
		char *text = NULL;
		uint32_t line;
		const uint64_t address = keys->bits[i];
		take_text(libtrace_result_sass(r, address, &text), &text);
		take_text(libtrace_result_ptx(r, address, &text), &text);
		take_text(libtrace_result_line(r, address, &text, &line), &text);
	}
}

static void take_result(struct libtrace_report *report, size_t index)
{
	static const char *const parts[] = {"nvtx", "sections,rule_results", "call_stack",
		"context_id,grid_size", "no_such_field", "metric_results"};
	struct libtrace_result *r;
	struct libtrace_metrics metrics;
	struct libtrace_instances instances;
	char *text;
	size_t position;
	if (libtrace_result_open(report, index, &r))
		return;
	sum += (unsigned)libtrace_result_workload(r);
	if (!libtrace_result_metrics(r, &metrics)) {
		take_values(&metrics.values);
		libtrace_result_metric(r, "launch__two", &position);
		if (!libtrace_result_instances(r, &instances)) {
			take_values(&instances.keys);
			take_values(&instances.values);
			take_places(r, &instances.keys);
		}
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		take_text(libtrace_result_part(r, parts[i], &text), &text);
	take_text(libtrace_result_source_files(r, &text), &text);
	libtrace_result_close(r);
}

static void take_events(struct libtrace_report *report)
{
	const struct libtrace_event_filter all = {0},
					   some = {.name = "r*",
						   .end_ns = 1000000,
						   .callchains = 2};
	for (unsigned i = 0; i < 2; i++) {
		struct libtrace_events *events;
		char *text = NULL;
		if (libtrace_events_open(report, i ? &some : &all, &events))
			continue;
		for (unsigned n = 0; n < 20 && !libtrace_events_next(events, 100, &text) && text;
			n++)
			take_text(0, &text);
		libtrace_events_close(events);
	}
}

static void take_report(struct libtrace_report *report)
{
	static const char *const includes[] = {"a/*/b", "regex:.@a"}, *const excludes[] = {"b"};
	const size_t results = libtrace_report_result_count(report);
	char *text, unit[16];
	size_t bytes;
	uint8_t *chosen = malloc(results + 1);
	sum += libtrace_report_problems(report);
	for (size_t i = 0; libtrace_report_problem(report, i); i++)
		sum += strlen(libtrace_report_problem(report, i));
	take_text(libtrace_report_session(report, &text), &text);
	if (!libtrace_report_metric_names(report, &text, &bytes))
		libtrace_text_free(text);
	for (uint32_t i = 0; i < 100 && libtrace_report_metric_name(report, i); i++)
		libtrace_metric_unit(libtrace_report_metric_name(report, i), unit, sizeof(unit));
	if (chosen)
		libtrace_report_nvtx(
			report, includes, 2, excludes, 1, chosen, cause, sizeof(cause));
	free(chosen);
	for (size_t i = 0; i < results && i < RESULTS_MAX; i++)
		take_result(report, i);
	take_events(report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct libtrace_report *report;
	void *item;
	size_t item_bytes;
	if (!path[0]) {
		snprintf(path, sizeof(path), "/dev/shm/fuzz-%d.rep", (int)getpid());
		setenv("PATH", "/nonexistent", 1);
		atexit(path_remove);
	}
	uint8_t *file = malloc(bytes + 1);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (!file || fd < 0)
		abort();
	memcpy(file, data, bytes);
	mutate_mend(file, bytes);
	if (write(fd, file, bytes) != (ssize_t)bytes)
		abort();
	close(fd);
	free(file);
	if (!libtrace_report_open(path, &report, cause, sizeof(cause))) {
		take_report(report);
		libtrace_report_close(report);
	} else if (!libtrace_body_item(
			   (const char *)data, bytes, &item, &item_bytes, cause, sizeof(cause))) {
		libtrace_data_free(item);
	}
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed)
{
	return mutate_report(data, bytes, max, seed);
}
