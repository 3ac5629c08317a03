/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - a file opened as a database; reports and XSpaces are converted to a temporary one.
 */
#define _GNU_SOURCE
#include "reader/cli/database/open.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/ncu/pages/dump_results.h"
#include "reader/cli/base/input.h"
#include "reader/cli/base/select.h"
#include "reader/cli/base/stop.h"
#include "reader/export/sqlite/export.h"
#include "reader/xspace/database.h"

#define SIZE_NOTED \
	(256u << 20) /* a note is printed for a temporary database of at least this size */

void sql_note_cut_off(void *user, const struct contents *c)
{
	struct cli_report *r = user;
	if (is_of_ncu(&r->report))
		results_print_torn(r, c);
	else
		cli_note_cut_off(r, c);
}

static int report_convert(struct cli_report *r, const struct sql_open_form *form, const char *name)
{
	struct sqlite_result result = {0};
	const struct sqlite_source source = {
		&r->report, {r, stop_or_progress, NULL, cli_problem}, sql_note_cut_off};
	const struct sqlite_job job = {.output = name,
		.no_symbols = form->no_symbols,
		.symbol_path = form->symbol_path,
		.kernels_only = form->kernels_only,
		.nvtx = select_filter(),
		.read_by = form->read_by,
		.sources = &source,
		.count = 1};
	int error = sqlite_export(&job, &result);
	cli_progress_end(r);
	sql_note_results(r, &result);
	if (error && !stop_signal && result.failed)
		cli_error("cannot read '%s': %s", r->path, result.cause);
	else if (error && !stop_signal)
		cli_error("cannot convert '%s' to a temporary database in '%.*s': %s; set TMPDIR "
			  "to use another folder",
			r->path, (int)(strrchr(name, '/') - name), name, result.cause);
	return error ? STATUS_FAILED : STATUS_OK;
}

static void size_print(const char *path, const char *name)
{
	FILE *file = fopen(name, "re");
	long bytes = file && !fseek(file, 0, SEEK_END) ? ftell(file) : 0;
	if (file)
		fclose(file);
	if (bytes >= (long)SIZE_NOTED)
		cli_note("'%s' was converted to a temporary database of %ld MiB; use 'trace export "
			 "-t sqlite' to keep one",
			path, bytes >> 20);
}

static int xspace_convert(const char *path, const char *name)
{
	struct xspace x;
	struct xspace_tally tally;
	char cause[DATABASE_CAUSE_BYTES];
	int error = xspace_open(&x, path);
	if (error) {
		cli_error("cannot read '%s': %s", path,
			error == -EBADMSG ? "not an XSpace, or damaged" : strerror(-error));
		return STATUS_FAILED;
	}
	error = xspace_to_database(&x, name, &tally, cause);
	xspace_close(&x);
	if (error)
		cli_error("cannot convert '%s' to a temporary database: %s", path, cause);
	else if (tally.left_out)
		cli_note(
			"'%s': left out %llu device events that are not kernels, copies or memsets",
			path, (unsigned long long)tally.left_out);
	return error ? STATUS_FAILED : STATUS_OK;
}

void sql_note_results(const struct cli_report *r, const struct sqlite_result *result)
{
	const struct results_tally *t = &result->results;
	if (t->left_out && t->left_out == t->results)
		cli_note("'%s': no kernel matches the NVTX filter", r->path);
	if (t->untimed)
		cli_note("'%s': %" PRIu64
			 " results have no gpu__time_duration.sum and are left out of kernel times",
			r->path, t->untimed);
}

/* Convert a report, or an XSpace if `r` is NULL, and open the database. Its file is unlinked as
 * soon as it is open. */
static int open_as_database(
	struct sql *s, const char *path, struct cli_report *r, const struct sql_open_form *form)
{
	const char *place = getenv("TMPDIR");
	char *folder = NULL, *name = NULL;
	place = place && *place == '/' ? place : "/var/tmp";
	if (asprintf(&folder, "%s/trace-XXXXXX", place) < 0 || !mkdtemp(folder)) {
		cli_error("cannot create a folder in '%s': %s; set TMPDIR to use another one",
			place, strerror(errno));
		free(folder);
		return STATUS_FAILED;
	}
	int status = asprintf(&name, "%s/report.sqlite", folder) < 0 ? STATUS_FAILED
		: r                                                  ? report_convert(r, form, name)
								     : xspace_convert(path, name);
	if (!status) {
		size_print(path, name);
		status = sql_open(s, name) ? sql_file_failed(s, path, "open", -EIO) : STATUS_OK;
	}
	if (name)
		unlink(name);
	rmdir(folder);
	free(name);
	free(folder);
	return status;
}

int sql_file_open(struct sql *s, const char *path, const struct sql_open_form *form)
{
	struct cli_report r;
	int status;
	*s = (struct sql){0};
	stops_await();
	if (sql_is_database(path)) {
		int error = sql_open(s, path);
		status = error ? sql_file_failed(s, path, "open", error) : STATUS_OK;
	} else if (xspace_is(path)) {
		status = open_as_database(s, path, NULL, form);
	} else {
		if (cli_open_events(&r, path, form->no_wait)) {
			stops_end();
			return STATUS_FAILED;
		}
		status = open_as_database(s, path, &r, form);
		status = !status && r.problems ? STATUS_DAMAGED : status;
		cli_close(&r);
	}
	s->stop = &stop_signal;
	if (status == STATUS_FAILED)
		stops_end();
	return status;
}

int sql_file_failed(const struct sql *s, const char *path, const char *what, int error)
{
	if (!stop_signal && error != -EPIPE)
		cli_error(
			"'%s': cannot %s: %s", path, what, *s->cause ? s->cause : strerror(-error));
	return STATUS_FAILED;
}

bool sql_file_is_foreign(const char *path)
{
	return sql_is_database(path) || xspace_is(path);
}
