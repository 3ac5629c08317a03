/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - public functions that open and describe a report.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/api/api.h"
#include "reader/api/json.h"
#include "reader/ncu/metrics.h"

uint32_t libtrace_reader_version(void)
{
	return LIBTRACE_READER_VERSION;
}

void libtrace_text_free(char *text)
{
	free(text);
}

void libtrace_data_free(void *data)
{
	free(data);
}

/* Count a problem, and keep its text if there is memory for it. */
static void problem_add(struct libtrace_report *r, const char *cause, uint64_t offset)
{
	char *text = NULL;
	if (r->problems < API_PROBLEMS_MAX &&
		asprintf(&text, "%s at offset %" PRIu64, cause, offset) >= 0)
		r->problem_texts[r->problems] = text;
	r->problems++;
}

static int note_block(void *user, const struct report_block *block)
{
	struct libtrace_report *r = user;
	const char *cause;
	int error = ncu_results_note(&r->results, block, &cause);
	if (error != -EBADMSG)
		return error;
	problem_add(r, cause, block->offset);
	return 0;
}

static void note_problem(void *user, uint64_t offset, const char *cause)
{
	problem_add(user, cause, offset);
}

/* Add a problem if the file, or the recording, ends early. */
static void note_end(struct libtrace_report *r)
{
	const uint64_t bytes = r->report.source.size;
	if (r->report.unfinished)
		problem_add(
			r, "the report is still being written; later events are missing", bytes);
	else if (r->contents.tally.torn_bytes)
		problem_add(r, "the file is truncated", bytes - r->contents.tally.torn_bytes);
	else if (processes_unended(&r->contents.processes))
		problem_add(r, "the recording was not finished; events are missing", bytes);
}

static void say(char *cause, size_t cause_bytes, const char *path, const char *why)
{
	if (cause && cause_bytes)
		snprintf(cause, cause_bytes, "'%s': %s", path, why);
}

int libtrace_report_open(
	const char *path, struct libtrace_report **ret_report, char *cause, size_t cause_bytes)
{
	const char *why = NULL;
	struct libtrace_report *r = calloc(1, sizeof(*r));
	int error = r ? report_open(&r->report, path, REPORT_WAIT_NS, &why) : -ENOMEM;
	if (error) {
		say(cause, cause_bytes, path, error == -EBADMSG && why ? why : strerror(-error));
		free(r);
		return error;
	}
	const struct contents_visitor visitor = {r, note_block, NULL, note_problem};
	contents_init(&r->contents);
	ncu_results_init(&r->results, &r->report);
	error = contents_read(&r->contents, &r->report, &visitor);
	if (!error && r->contents.tally.blocks > r->contents.tally.foreign_blocks)
		error = nvtx_deferred_read(&r->deferred, &r->report, true);
	if (error) {
		say(cause, cause_bytes, path, strerror(-error));
		libtrace_report_close(r);
		return error;
	}
	note_end(r);
	*ret_report = r;
	return 0;
}

void libtrace_report_close(struct libtrace_report *r)
{
	if (!r)
		return;
	api_code_release(r);
	ncu_results_release(&r->results);
	contents_release(&r->contents);
	nvtx_deferred_release(&r->deferred);
	report_close(&r->report);
	for (size_t i = 0; i < API_PROBLEMS_MAX; i++)
		free(r->problem_texts[i]);
	free(r);
}

uint64_t libtrace_report_problems(const struct libtrace_report *r)
{
	return r->problems;
}

const char *libtrace_report_problem(const struct libtrace_report *r, size_t index)
{
	return index < API_PROBLEMS_MAX ? r->problem_texts[index] : NULL;
}

int libtrace_report_session(const struct libtrace_report *r, char **ret_json)
{
	return json_message(r->contents.details ? &r->contents.details->base : NULL, ret_json);
}

const char *libtrace_report_metric_name(const struct libtrace_report *r, uint32_t name_id)
{
	return name_id < r->results.name_count ? r->results.names[name_id] : NULL;
}

int libtrace_report_metric_names(
	const struct libtrace_report *r, char **ret_names, size_t *ret_bytes)
{
	size_t bytes = 0, at = 0;
	for (size_t i = 0; i < r->results.name_count; i++)
		bytes += strlen(r->results.names[i]) + 1;
	char *names = malloc(bytes + 1);
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < r->results.name_count; i++)
		at = (size_t)(stpcpy(names + at, r->results.names[i]) + 1 - names);
	*ret_names = names;
	*ret_bytes = bytes;
	return 0;
}

size_t libtrace_report_result_count(const struct libtrace_report *r)
{
	return r->results.count;
}

void libtrace_metric_unit(const char *name, char *unit, size_t unit_bytes)
{
	char text[NCU_UNIT_BYTES];
	ncu_unit(name, text);
	if (unit_bytes)
		snprintf(unit, unit_bytes, "%s", text);
}
