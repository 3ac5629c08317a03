/* SPDX-License-Identifier: Apache-2.0 */
/* metric_runs.c - hardware metrics of repeated runs, added to the report of the first. */
#define _GNU_SOURCE
#include "reader/cli/metric_runs.h"

#include <inttypes.h>
#include <string.h>

#include "reader/cli/base/change.h"
#include "reader/cli/base/input.h"
#include "reader/merge/metric_runs.h"

/* Check what a report contributed. Returns an exit status. */
static int share_check(const struct metric_share *s, const char *path, const char *name)
{
	if (!s->rows) {
		cli_error("'%s' has no hardware metrics of kernels or NVTX ranges (--gpu-metrics)",
			path);
		return STATUS_FAILED;
	}
	if (!s->found) {
		cli_error("no launch or range with metrics in '%s' is one of '%s': is it the same "
			  "program?",
			path, name);
		return STATUS_FAILED;
	}
	if (s->found < s->workloads)
		cli_note("'%s': %" PRIu64 " of %" PRIu64
			 " launches and ranges with metrics are not in '%s', and left out",
			path, s->workloads - s->found, s->workloads, name);
	if (!s->added)
		cli_note("'%s': no value was added, since '%s' has them all", path, name);
	return STATUS_OK;
}

static int file_add(struct metric_runs *j, const char *path, const char *name, bool no_wait)
{
	struct cli_report r;
	struct contents contents;
	struct metric_share share = {0};
	if (cli_open(&r, path, no_wait))
		return STATUS_FAILED;
	const struct contents_visitor visitor = {&r, cli_progress, NULL, cli_problem};
	contents_init(&contents);
	int error = contents_read(&contents, &r.report, &visitor);
	if (!error)
		error = metric_runs_add(j, &r.report, &contents, &share);
	cli_progress_end(&r);
	const int status = error ? cli_failed(&r, error)
		: r.problems     ? STATUS_FAILED
				 : share_check(&share, path, name);
	contents_release(&contents);
	cli_close(&r);
	return status;
}

int metric_runs_join(
	const char *into, const char *name, char *const *files, int count, bool no_wait)
{
	struct change g;
	struct metric_runs j = {.append = NULL};
	int status = change_open(&g, into, name, no_wait);
	int error = status ? 0 : metric_runs_begin(&j, &g.append, &g.contents);
	for (int i = 0; i < count && !status && !error; i++)
		status = file_add(&j, files[i], name, no_wait);
	if (!status && !error)
		error = metric_runs_end(&j, (uint32_t)count);
	if (error)
		status = change_failed(&g, "metrics", error);
	else if (!status)
		status = change_commit(&g, "metrics");
	metric_runs_release(&j);
	change_close(&g);
	return status;
}
