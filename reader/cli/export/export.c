/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.c - `trace export`: conversion to the formats of reader/export/exporters.def.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/cli/base/output.h"
#include "reader/cli/commands.h"
#include "reader/ncu/pages/dump_results.h"
#include "reader/cli/events.h"
#include "reader/cli/export/codexl.h"
#include "reader/cli/export/flame.h"
#include "reader/cli/export/list.h"
#include "reader/cli/export/ncu.h"
#include "reader/cli/export/nvtxt.h"
#include "reader/cli/export/table_list.h"
#include "reader/cli/export/timeline.h"
#include "reader/cli/export/tools.h"
#include "reader/cli/database/input.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/python.h"
#include "reader/cli/base/select.h"
#include "reader/cli/database/open.h"
#include "reader/cli/base/stop.h"
#include "reader/export/output.h"
#include "reader/export/sqlite/export.h"
#include "reader/sql/connection.h"
#include "reader/stats/profile.h"
#include "reader/xspace/xspace.h"

/* Widths of `--list` and `--list-tables` if the terminal's width is unknown. */
#define LIST_COLUMNS 160u
#define TABLE_COLUMNS 118u

/* Build the default name: "dir/name.rep" -> "dir/name.json". The caller frees it. */
static char *default_name(const char *file, const char *suffix)
{
	char *name = NULL;
	const char *slash = strrchr(file, '/'), *dot = strrchr(slash ? slash : file, '.');
	int stem =
		(int)(dot && dot != file && dot[-1] != '/' ? (size_t)(dot - file) : strlen(file));
	return asprintf(&name, "%.*s.%s", stem, file, suffix) < 0 ? NULL : name;
}

/* Write all FILEs into one database. */
static int export_sqlite(const struct options *o, const char *output)
{
	struct cli_report *reports = calloc((size_t)o->argc, sizeof(*reports));
	struct sqlite_source *sources = calloc((size_t)o->argc, sizeof(*sources));
	struct sqlite_result result = {0};
	struct sqlite_job job = {.output = output,
		.overwrite = option_is(o, OPT_export_force_overwrite, "true"),
		.no_symbols = o->value[OPT_export_no_symbols],
		.symbol_path = o->value[OPT_export_symbol_path],
		.critical_path = o->value[OPT_export_critical_path],
		.log_events = o->value[OPT_export_log_events],
		.nvtx = select_filter(),
		.read_by = o->value[OPT_export_tables],
		.sources = sources};
	if (o->value[OPT_export_compat])
		nsys_generation_named(o->value[OPT_export_compat], &job.generation);
	int status = reports && sources ? STATUS_OK : STATUS_FAILED;
	for (; !status && job.count < (uint32_t)o->argc; job.count += !status) {
		struct cli_report *r = &reports[job.count];
		status = input_open_events(r, o->argv[job.count], o->value[OPT_export_no_wait]);
		sources[job.count] = (struct sqlite_source){
			&r->report, {r, stop_or_progress, NULL, cli_problem}, sql_note_cut_off};
	}
	stops_await();
	int error = status ? 0 : sqlite_export(&job, &result);
	if (error) {
		stop_if_asked();
		if (result.failed)
			cli_error("cannot read '%s': %s", result.failed->name, result.cause);
		else
			cli_write_failed(output, error, result.cause);
		status = STATUS_FAILED;
	}
	if (!status && job.count)
		sql_note_results(&reports[0], &result);
	if (result.impossible)
		cli_note("left out %llu calls that end before they start",
			(unsigned long long)result.impossible);
	for (uint32_t i = 0; i < job.count; i++) {
		cli_progress_end(&reports[i]);
		status = !status && reports[i].problems ? STATUS_DAMAGED : status;
		cli_close(&reports[i]);
	}
	free(sources);
	free(reports);
	return status;
}

static int write_json(
	struct cli_report *r, const struct options *o, FILE *out, const struct contents_visitor *v)
{
	const struct cursor_filter all = {0};
	if (is_of_ncu(&r->report))
		return results_print(out, r, true);
	const struct events_form form = {.json = true,
		.some = true,
		.no_symbols = o->value[OPT_export_no_symbols],
		.symbol_path = o->value[OPT_export_symbol_path]};
	return events_print(out, r, v, &all, &form);
}

static bool ends_with(const char *text, const char *end)
{
	const size_t bytes = text ? strlen(text) : 0;
	return bytes >= strlen(end) && !strcmp(text + bytes - strlen(end), end);
}

static bool begins_with(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

static int write_format(struct cli_report *r, const struct options *o, const char *format,
	FILE *out, const struct contents_visitor *v)
{
	if (!strcmp(format, "json"))
		return write_json(r, o, out, v);
	if (!strcmp(format, "nvtxt"))
		return export_nvtxt(out, r, v);
	if (!strcmp(format, "ncu")) {
		const struct export_ncu_form form = {
			.symbol_path = o->value[OPT_export_symbol_path],
			.no_symbols = o->value[OPT_export_no_symbols],
			.packed = ends_with(o->value[OPT_export_output], ".ncu-repz")};
		return export_ncu(out, r, v, &form);
	}
	if (!strcmp(format, "atp") || !strcmp(format, "csv") || !strcmp(format, "occupancy"))
		return export_codexl(out, r, o, format, v);
	if (export_is_flame(format))
		return export_flame(out, r, o, format, v);
	return export_timeline(out, r, o, format, v);
}

/* Return the option of `trace run` that records what --source names; NULL where something else
 * recorded the file, or the default does. */
static const char *source_advice(const struct cli_report *r, const struct options *o)
{
	return sql_is_database(r->path) || xspace_is(r->path)
		? NULL
		: profile_source_advice(profile_source_named(o->value[OPT_export_source]));
}

static int export_to(struct cli_report *r, const struct options *o,
	const struct export_format *format, const char *name)
{
	const struct contents_visitor visitor = {r, stop_or_progress, NULL, cli_problem};
	const bool to_stdout = !strcmp(name, "-"),
		   overwrite = option_is(o, OPT_export_force_overwrite, "true");
	struct cli_output out = {.file = stdout};
	if (!to_stdout && !output_is_special(name))
		stops_await();
	if (!to_stdout && !cli_output_open(&out, name, overwrite))
		return STATUS_FAILED;
	int error = write_format(r, o, format->name, out.file, &visitor);
	cli_progress_end(r);
	if (stop_signal && out.temporary)
		error = -EINTR;
	else if (!error && out.temporary && ftello(out.file) == 0)
		error = -ENODATA;
	const bool is_full = error == -EFBIG || error == -ENOSPC || error == -EDQUOT;
	if (error == -ENODATA)
		export_found_nothing(r, format->name, source_advice(r, o));
	else if (is_full)
		cli_write_failed(name, error,
			"no room for a temporary file; set TMPDIR to use another folder");
	int status = error == -ENODATA || is_full ? STATUS_FAILED
		: error && error != -EPIPE
		? stop_signal ? STATUS_FAILED : cli_failed(r, error)
		: cli_finish(out.file, to_stdout ? "standard output" : name);
	if (!to_stdout)
		status = cli_output_close(&out, name, overwrite, status);
	stop_if_asked();
	return !status && r->problems ? STATUS_DAMAGED : status;
}

/* Write a database, which is not a stream and can contain several reports. */
static int export_database(const struct options *o, const struct export_format *format)
{
	const char *name = o->value[OPT_export_output];
	if (!o->argc)
		return option_file(o) ? STATUS_OK : STATUS_FAILED;
	if (name && !strcmp(name, "-")) {
		cli_error("cannot write a SQLite database to standard output; use -o FILE");
		return STATUS_FAILED;
	}
	char *made = name ? NULL : default_name(o->argv[0], format->suffix);
	name = name ? name : made;
	int status = name && !cli_output_is_input(o, name) ? export_sqlite(o, name) : STATUS_FAILED;
	if (status != STATUS_FAILED)
		cli_wrote(name);
	free(made);
	return status;
}

/* Write the tables of the sqlite format by the package trace_tools, which starts this command
 * again to read them. */
static int export_parquet(const struct options *o)
{
	struct python_arguments a = {0};
	static const enum option_id passed[] = {OPT_export_output, OPT_export_force_overwrite,
		OPT_export_symbol_path, OPT_export_filter_time, OPT_export_no_symbols,
		OPT_export_callchains, OPT_export_tables};
	int error = 0;
	for (size_t i = 0; !error && i < sizeof(passed) / sizeof(passed[0]); i++)
		if (o->value[passed[i]])
			error = python_add(
				&a, "--%s=%s", option_rows[passed[i]].name, o->value[passed[i]]);
	for (int i = 0; !error && i < o->argc; i++)
		error = python_add(&a, "--file=%s", o->argv[i]);
	if (!o->argc)
		return option_file(o) ? STATUS_OK : STATUS_FAILED;
	if (option_is(o, OPT_export_output, "-")) {
		cli_error("cannot write a folder to standard output; use -o FOLDER");
		return STATUS_FAILED;
	}
	if (error) {
		cli_error("out of memory");
		return STATUS_FAILED;
	}
	return python_become("parquet", &a);
}

/* Create the folders that viewers require: DIR/plugins/profile/RUN. Returns false after a
 * message. */
static bool folders_ready(const struct export_format *format, const char *name)
{
	if (!ends_with(name, "/") || !strcmp(format->name, TOOLS_FORMAT)) {
		int error = begins_with(format->name, "xplane") ? output_folders_make(name) : 0;
		if (error)
			cli_write_failed(name, error, strerror(-error));
		return !error;
	}
	cli_error("cannot write '%s': it is a folder; use -o FILE", name);
	return false;
}

int command_export(const struct options *o)
{
	struct cli_report r;
	const struct export_format *format = export_format_named(o->value[OPT_export_type]);
	if (o->value[OPT_export_list]) {
		export_list_print(stdout, cli_terminal_width(LIST_COLUMNS));
		return cli_finish(stdout, "standard output");
	}
	if (o->value[OPT_export_list_tables]) {
		table_list_print(stdout, cli_terminal_width(TABLE_COLUMNS));
		return cli_finish(stdout, "standard output");
	}
	const struct select_options by = {OPT_export_nvtx_include, OPT_export_nvtx_exclude,
		OPT_export_nvtx_scope, o->value[OPT_export_filter_time], false};
	if (select_by(o, &by))
		return STATUS_FAILED;
	select_callchains(o->value[OPT_export_callchains]);
	if (!strcmp(format->name, "sqlite"))
		return export_database(o, format);
	if (!strcmp(format->name, "parquet"))
		return export_parquet(o);
	const char *file = option_file(o), *name = o->value[OPT_export_output];
	cli_notes_hold();
	if (!file || input_open_events(&r, file, o->value[OPT_export_no_wait])) {
		cli_notes_end();
		return STATUS_FAILED;
	}
	char *made = name ? NULL : default_name(file, format->suffix);
	name = name ? name : made;
	int status = !name || cli_output_is_input(o, name) || !folders_ready(format, name)
		? STATUS_FAILED
		: !strcmp(format->name, TOOLS_FORMAT) ? export_tools(&r, o, name)
						      : export_to(&r, o, format, name);
	free(made);
	cli_close(&r);
	cli_notes_end();
	return status;
}
