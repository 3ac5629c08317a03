/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.c - the selection of events that options ask for: NVTX ranges and a window of time; and of
 * frames of callchains.
 */
#define _GNU_SOURCE
#include "reader/cli/base/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/sql/window.h"

static struct nvtx_filter filter;
static struct selection_spec wanted;
static enum callchain_view callchains;

static int filter_add(const char *text, enum option_id option)
{
	size_t at;
	const char *why;
	int error = nvtx_filter_add(&filter, text, option_rows[option].name[5] == 'e', &at, &why);
	if (error == -EINVAL)
		cli_error("--%s '%s': %s\n%*s^", option_rows[option].name, text, why,
			(int)(strlen("trace: --") + strlen(option_rows[option].name) +
				strlen(" '") + at),
			"");
	else if (error)
		cli_error("--%s '%s': %s", option_rows[option].name, text, strerror(-error));
	return error ? STATUS_FAILED : STATUS_OK;
}

static int filter_add_all(const struct options *o, enum option_id option)
{
	char *copy = o->value[option] ? strdup(o->value[option]) : NULL, *rest = copy, *text;
	int status = STATUS_OK;
	while (!status && (text = strsep(&rest, "\n")))
		status = filter_add(text, option);
	free(copy);
	return status;
}

static int window_add(const char *text)
{
	struct sql_window window;
	if (!text)
		return STATUS_OK;
	if (!window_parse(text, &window)) {
		cli_error("invalid time window '%s': expected [START]/[END], such as '1s/2500ms'",
			text);
		return STATUS_FAILED;
	}
	wanted.has_window = !window.all;
	wanted.start_ns = window.start_ns > 0 ? (uint64_t)window.start_ns : 0;
	wanted.end_ns = window.end_ns > 0 ? (uint64_t)window.end_ns : 0;
	return STATUS_OK;
}

int select_nvtx(const struct options *o, enum option_id include, enum option_id exclude,
	const struct nvtx_filter **ret_filter)
{
	int status = filter_add_all(o, include);
	if (!status)
		status = filter_add_all(o, exclude);
	*ret_filter = filter.count ? &filter : NULL;
	return status;
}

int select_by(const struct options *o, const struct select_options *by)
{
	int status = select_nvtx(o, by->include, by->exclude, &wanted.filter);
	filter.of_process = option_is(o, by->scope, "process");
	if (!status)
		status = window_add(by->window);
	wanted.events_only = by->events_only;
	return status;
}

void select_callchains(const char *view)
{
	callchains = !view || !strcmp(view, "merged") ? CALLCHAINS_MERGED
		: !strcmp(view, "native")             ? CALLCHAINS_NATIVE
						      : CALLCHAINS_PYTHON;
}

const struct nvtx_filter *select_filter(void)
{
	return wanted.filter;
}

void select_note_empty(const struct cli_report *r)
{
	static const char *noted_path;
	if (!r->selection.asked || r->selection.chosen || noted_path == r->path)
		return;
	noted_path = r->path;
	cli_note("'%s': no event matches %s", r->path,
		!wanted.has_window       ? "the NVTX filter"
			: !wanted.filter ? "the time window"
					 : "the NVTX filter and the time window");
}

int select_report(struct cli_report *r)
{
	r->report.callchains = callchains;
	if (!wanted.filter && !wanted.has_window)
		return STATUS_OK;
	int error = selection_read(&r->selection, &wanted, &r->report);
	if (error == -E2BIG)
		cli_error("cannot filter '%s': more than %u open NVTX ranges or %u domains",
			r->path, NVTX_STATE_RANGES, NVTX_STATE_DOMAINS);
	else if (error)
		cli_failed(r, error);
	return error ? STATUS_FAILED : STATUS_OK;
}
