/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - `trace report`: the contents of a report as text on a terminal or as a page for a
 * browser.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/base/print.h"
#include "reader/cli/commands.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"
#include "reader/cli/base/output.h"
#include "reader/cli/base/select.h"
#include "reader/cli/report/page.h"
#include "reader/cli/report/text.h"
#include "reader/cli/base/stop.h"
#include "reader/export/output.h"

#define COMPARISON_BYTES_MAX (4u << 20)

static struct stats_form form_of(const struct options *o)
{
	return (struct stats_form){.symbol_path = o->value[OPT_report_symbol_path],
		.no_wait = o->value[OPT_report_no_wait],
		.no_symbols = o->value[OPT_report_no_symbols],
		.window = {.all = true}};
}

/* Print one FILE as an object of the page's data. `path`: as for page_report(). Returns an exit
 * status. */
static int page_file(FILE *out, const struct options *o, const char *file, const char *path)
{
	const struct stats_form form = form_of(o);
	struct overview overview;
	struct stats_database database;
	int status = overview_gather(&overview, file, form.no_wait);
	if (!status)
		status = stats_database_open(&database, file, &form, form.no_symbols);
	if (!status) {
		int error = overview_add_database(&overview, &database.sql);
		if (!error)
			error = page_report(out, &overview, &database,
				PAGE_TIMELINE_BYTES / (unsigned)o->argc, path);
		status = error ? sql_file_failed(&database.sql, file, "write the page", error)
			       : database.status;
		stats_database_close(&database);
	}
	overview_release(&overview);
	return status;
}

/* Read the output of `trace diff -f json`, without parsing it: the page's script does that. Returns
 * false after a message. */
static bool comparison_read(const char *name, char **ret_text, size_t *ret_bytes)
{
	FILE *in = name ? fopen(name, "re") : NULL;
	if (!name)
		return true;
	*ret_text = in ? malloc(COMPARISON_BYTES_MAX + 1) : NULL;
	errno = in && !*ret_text ? ENOMEM : errno;
	if (*ret_text)
		*ret_bytes = fread(*ret_text, 1, COMPARISON_BYTES_MAX + 1, in);
	bool failed = !*ret_text || ferror(in);
	if (failed)
		cli_error("cannot read '%s': %s", name, strerror(errno));
	else if (*ret_bytes > COMPARISON_BYTES_MAX)
		cli_error(
			"'%s': more than %u MiB of differences", name, COMPARISON_BYTES_MAX >> 20);
	if (in)
		fclose(in);
	return !failed && *ret_bytes <= COMPARISON_BYTES_MAX;
}

static int page_files(FILE *out, const struct options *o, const char *comparison, size_t bytes)
{
	const char *path = o->value[OPT_report_critical_path]; /* of 'trace why': its arguments */
	int status = STATUS_OK;
	page_begin(out);
	FILE *data = page_escaped(out);
	if (!data)
		return STATUS_FAILED;
	fputs("{\"version\": \"" LIBTRACE_VERSION "\", \"reports\": [", data);
	for (int i = 0; i < o->argc && status != STATUS_FAILED; i++) {
		fputs(i ? ",\n" : "\n", data);
		int one = page_file(data, o, o->argv[i], path);
		status = one > status ? one : status;
	}
	fputs("]", data);
	if (comparison) {
		fputs(",\n\"comparison\": \"", data);
		print_json_part(data, comparison, bytes);
		fputc('"', data);
	}
	fputc('}', data);
	if (fclose(data) && status != STATUS_FAILED)
		status = STATUS_FAILED; /* cli_finish() reports why */
	page_end(out);
	return status;
}

/* Write the page to `name`; a file gets its name when it is complete; "-" is standard output. */
static int page_to(const struct options *o, const char *name, const char *comparison, size_t bytes)
{
	const bool special = !strcmp(name, "-") || output_is_special(name),
		   overwrite = option_is(o, OPT_report_force_overwrite, "true");
	char *temporary = NULL;
	int fd = !strcmp(name, "-") ? dup(STDOUT_FILENO)
		: special           ? output_special_open(name)
				    : output_begin(name, overwrite, &temporary);
	int error = fd >= 0 ? 0 : !strcmp(name, "-") ? -errno : fd;
	FILE *out = error ? NULL : fdopen(fd, "w");
	if (!out) {
		if (error == -EEXIST)
			cli_error("'%s' exists; use '--force-overwrite true' to replace it", name);
		else
			cli_error("cannot write '%s': %s", name, strerror(error ? -error : errno));
		free(temporary);
		return STATUS_FAILED;
	}
	int status = page_files(out, o, comparison, bytes);
	int finished = cli_finish(out, special && *name == '-' ? "standard output" : name);
	fclose(out);
	status = finished ? finished : status;
	if (temporary && status != STATUS_FAILED &&
		(error = output_end(temporary, name, overwrite))) {
		cli_error("cannot write '%s': %s", name, strerror(-error));
		status = STATUS_FAILED;
	}
	if (temporary && status == STATUS_FAILED)
		unlink(temporary);
	else if (temporary)
		cli_wrote(name);
	free(temporary);
	stop_if_asked();
	return status;
}

static int page_make(const struct options *o)
{
	char *made = NULL;
	const char *name = o->value[OPT_report_output];
	if (!page_is_built()) {
		cli_error("--html is not available: this program was built without npm or the "
			  "packages of reader/web");
		return STATUS_FAILED;
	}
	if (!o->argc || (unsigned)o->argc > PAGE_REPORTS_MAX) {
		cli_error("--html takes one FILE, or two to show side by side; see 'trace "
			  "help report'");
		return STATUS_FAILED;
	}
	if (o->value[OPT_report_comparison] && o->argc != PAGE_REPORTS_MAX) {
		cli_error("--comparison needs two FILEs");
		return STATUS_FAILED;
	}
	if (!name) {
		const char *file = o->argv[0], *slash = strrchr(file, '/'),
			   *dot = strrchr(slash ? slash : file, '.');
		int stem = (int)(dot && dot != file && dot[-1] != '/' ? (size_t)(dot - file)
								      : strlen(file));
		if (asprintf(&made, "%.*s.html", stem, file) < 0)
			return STATUS_FAILED;
		name = made;
	}
	char *comparison = NULL;
	size_t bytes = 0;
	int status = !cli_output_is_input(o, name) &&
			comparison_read(o->value[OPT_report_comparison], &comparison, &bytes)
		? page_to(o, name, comparison, bytes)
		: STATUS_FAILED;
	free(comparison);
	free(made);
	return status;
}

static int text_file(const struct options *o, const char *file, void *count)
{
	const struct stats_form form = form_of(o);
	if ((*(int *)count)++)
		putchar('\n');
	return report_text_print(file, &form);
}

int command_report(const struct options *o)
{
	int count = 0;
	select_callchains(o->value[OPT_report_callchains]);
	if (o->value[OPT_report_html] && o->value[OPT_report_text]) {
		cli_error("--html and --text cannot be used together");
		return STATUS_FAILED;
	}
	if (o->value[OPT_report_html])
		return page_make(o);
	if (o->value[OPT_report_comparison]) {
		cli_error("--comparison needs --html");
		return STATUS_FAILED;
	}
	if (o->value[OPT_report_critical_path]) {
		cli_error("--critical-path needs --html; see 'trace why' for a text");
		return STATUS_FAILED;
	}
	if (o->value[OPT_report_output]) {
		cli_error("--output needs --html; text is written to standard output");
		return STATUS_FAILED;
	}
	int status = option_files(o, text_file, &count);
	int finished = cli_finish(stdout, "standard output");
	return finished ? finished : status;
}
