/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - `trace merge`: one report from those of several ranks or hosts; and several reports
 * that another command reads as one. */
#define _GNU_SOURCE
#include "reader/cli/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/cli/base/change.h"
#include "reader/cli/base/input.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/output.h"
#include "reader/cli/commands.h"
#include "reader/cli/database/input.h"
#include "reader/cli/metric_runs.h"
#include "reader/export/output.h"
#include "reader/merge/merge.h"
#include "reader/ncu/pages/dump_results.h"

struct merging {
	char **files;
	int count;
	struct merge m;
	const char *folder; /* of --separate */
	bool no_wait, overwrite;
};

/* Do a step with each report, which is open meanwhile. Returns an exit status. */
static int each_report(struct merging *g,
	int (*step)(struct merging *g, uint32_t i, struct cli_report *r, const char **ret_cause))
{
	for (int i = 0; i < g->count; i++) {
		struct cli_report r;
		const char *cause = NULL;
		if (cli_open(&r, g->files[i], g->no_wait))
			return STATUS_FAILED;
		const int error = step(g, (uint32_t)i, &r, &cause);
		if (error == -EBADMSG)
			cli_error("cannot merge '%s': %s", g->files[i],
				cause ? cause : "it is damaged");
		else if (error && error != -ECANCELED) /* which a step has explained */
			cli_error("cannot merge '%s': %s", g->files[i], strerror(-error));
		cli_close(&r);
		if (error)
			return STATUS_FAILED;
	}
	g->no_wait = true; /* the writers have finished, or are not waited for */
	return STATUS_OK;
}

static int peek(struct merging *g, uint32_t i, struct cli_report *r, const char **ret_cause)
{
	return merge_peek(&g->m, &r->report, g->files[i], ret_cause);
}

static int survey(struct merging *g, uint32_t i, struct cli_report *r, const char **ret_cause)
{
	(void)i;
	return merge_survey(&g->m, &r->report, ret_cause);
}

static int copy(struct merging *g, uint32_t i, struct cli_report *r, const char **ret_cause)
{
	return merge_copy(&g->m, i, &r->report, ret_cause);
}

static uint32_t groups_count(const struct hosts *h)
{
	uint32_t groups = 0;
	for (uint32_t i = 0; i < h->count; i++)
		groups += h->rows[i].group == i;
	return groups;
}

/* Return true if the reports are of one host, and no two of them overlap in time. */
static bool are_apart(const struct merge *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		for (uint32_t k = 0; k < i; k++) {
			const struct merge_input *a = &m->inputs[i], *b = &m->inputs[k];
			if (a->host != b->host ||
				(a->first_ns <= b->last_ns && b->first_ns <= a->last_ns))
				return false;
		}
	return m->count > 1;
}

/* Note what is known of the clocks, and whether something is missing. */
static void notes_print(const struct merge *m)
{
	const uint32_t groups = groups_count(&m->hosts);
	uint32_t incomplete = 0;
	for (uint32_t i = 0; i < m->count; i++)
		incomplete += !m->inputs[i].complete;
	if (groups > 1)
		cli_note(
			"the clocks of %" PRIu32 " hosts are in %" PRIu32
			" groups, between which there is no message of MPI: they are placed by the "
			"wall clock, whose error is not known",
			m->hosts.count, groups);
	if (incomplete)
		cli_note("%" PRIu32 " of %" PRIu32 " reports are not complete", incomplete,
			m->count);
	if (are_apart(m))
		cli_note("the %" PRIu32
			 " reports are read as one run, although each began after the one "
			 "before had ended; 'trace diff' compares runs",
			m->count);
}

/* Read all reports and align their clocks. Returns an exit status. */
static int prepare(struct merging *g)
{
	int status = each_report(g, peek);
	if (status == STATUS_OK)
		status = each_report(g, survey);
	const int error = status == STATUS_OK ? merge_align(&g->m) : 0;
	if (!error)
		return status;
	cli_error("cannot align the clocks: %s", strerror(-error));
	return STATUS_FAILED;
}

/* Write the merged report; `name` is for messages. Returns an exit status. */
static int write_to(struct merging *g, FILE *out, const char *name)
{
	int error = merge_begin(&g->m, out);
	const int status = error ? STATUS_OK : each_report(g, copy);
	if (!error && status == STATUS_OK)
		error = merge_end(&g->m);
	if (!error)
		return status;
	cli_write_failed(name, error, strerror(-error));
	return STATUS_FAILED;
}

static int merge_to(struct merging *g, const char *name)
{
	struct cli_output out;
	if (!cli_output_open(&out, name, g->overwrite))
		return STATUS_FAILED;
	const int status = cli_output_close(&out, name, g->overwrite, write_to(g, out.file, name));
	if (status == STATUS_OK)
		notes_print(&g->m);
	return status;
}

/* Return the path of a report in the folder of --separate, which the caller frees; NULL = no
 * memory. */
static char *separate_name(const struct merging *g, uint32_t i)
{
	char *name;
	return asprintf(&name, "%s/%s", g->folder, g->m.inputs[i].name) < 0 ? NULL : name;
}

/* Check that no two reports would get the same name, and that none replaces an input. */
static bool separate_names_are_free(struct merging *g, const struct options *o)
{
	struct map names = {0};
	struct pool texts = {0};
	bool are_free = true;
	for (uint32_t i = 0; are_free && i < g->m.count; i++) {
		const char *base = g->m.inputs[i].name,
			   *text = pool_text(&texts, base, strlen(base));
		const uint32_t other = text ? map_get(&names, (uintptr_t)text, 0) : 0;
		char *name = separate_name(g, i);
		if (other)
			cli_error("'%s' and '%s' have the same name, and would be one file in '%s'",
				g->files[other - 1], g->files[i], g->folder);
		else if (!name || !text || map_put(&names, (uintptr_t)text, 0, i + 1))
			cli_error("out of memory");
		else if (!cli_output_is_input(o, name)) {
			free(name);
			continue;
		}
		are_free = false;
		free(name);
	}
	map_release(&names);
	pool_release(&texts);
	return are_free;
}

/* Write a report by itself into the folder of --separate. */
static int separate(struct merging *g, uint32_t i, struct cli_report *r, const char **ret_cause)
{
	struct cli_output out;
	char *name = separate_name(g, i);
	int error = name ? output_folders_make(name) : -ENOMEM;
	if (error)
		cli_write_failed(name ? name : g->folder, error, strerror(-error));
	if (error || !cli_output_open(&out, name, g->overwrite)) {
		free(name);
		return -ECANCELED;
	}
	error = merge_begin_one(&g->m, i, out.file);
	if (!error)
		error = merge_copy(&g->m, i, &r->report, ret_cause);
	if (!error)
		error = merge_end(&g->m);
	if (cli_output_close(&out, name, g->overwrite, error ? STATUS_FAILED : STATUS_OK) && !error)
		error = -ECANCELED;
	free(name);
	return error;
}

/* Write each report by itself. Returns an exit status. */
static int separate_all(struct merging *g, const struct options *o)
{
	int status = separate_names_are_free(g, o) ? each_report(g, separate) : STATUS_FAILED;
	if (status == STATUS_OK)
		notes_print(&g->m);
	return status;
}

/* Write the first report with the hardware metrics of the others. Returns an exit status. */
static int metrics_to(const struct options *o, const char *name)
{
	const bool no_wait = o->value[OPT_merge_no_wait],
		   overwrite = option_is(o, OPT_merge_force_overwrite, "true");
	char *copy = NULL;
	if (o->argc < 2 || o->value[OPT_merge_separate]) {
		cli_error(o->argc < 2 ? "--metrics needs at least two FILEs"
				      : "--metrics and --separate cannot be used together");
		return STATUS_FAILED;
	}
	const int status = change_copy(o->argv[0], name, overwrite, no_wait, &copy);
	return status
		? status
		: change_copy_end(copy, name, overwrite,
			  metric_runs_join(copy, o->argv[0], o->argv + 1, o->argc - 1, no_wait));
}

int command_merge(const struct options *o)
{
	const char *name = o->value[OPT_merge_output];
	struct merging g = {.files = o->argv,
		.count = o->argc,
		.m = {.append.fd = -1, .is_separate = o->value[OPT_merge_separate]},
		.folder = name,
		.no_wait = o->value[OPT_merge_no_wait],
		.overwrite = option_is(o, OPT_merge_force_overwrite, "true")};
	if (!o->argc)
		cli_error("no FILE given; see 'trace help merge'");
	else if (!name)
		cli_error("no output file given; use --output FILE");
	if (!o->argc || !name || cli_output_is_input(o, name))
		return STATUS_FAILED;
	if (o->value[OPT_merge_metrics])
		return metrics_to(o, name);
	int status = prepare(&g);
	if (status == STATUS_OK)
		status = g.m.is_separate ? separate_all(&g, o) : merge_to(&g, name);
	merge_release(&g.m);
	return status;
}

/* ---- several reports that a command reads as one ---- */

/* Return the number of FILEs, the first arguments, that the command reads as one report if all are
 * reports of libtrace; 0 = it reads each by itself. */
static int files_of_one(const struct options *o)
{
	switch (o->command) {
	case CMD_info:
	case CMD_dump:
	case CMD_stats:
	case CMD_analyze:
	case CMD_memory:
		return o->argc;
	case CMD_why:
		return o->before < 0 ? o->argc : 0;
	case CMD_query:
		return o->argc - 1;
	case CMD_report: /* a page shows two side by side */
		return o->value[OPT_report_html] && o->argc == 2 ? 0 : o->argc;
	case CMD_export: /* parquet: a folder for each */
		return option_is(o, OPT_export_type, "parquet") ? 0 : o->argc;
	default:
		return 0;
	}
}

/* Return the value of an option of the command by its name; NULL = not given, or it has none. */
static const char *value_of(const struct options *o, const char *name)
{
	for (uint32_t i = 0; i < OPTIONS; i++)
		if (option_rows[i].command == o->command && !strcmp(option_rows[i].name, name))
			return o->value[i];
	return NULL;
}

/* Return whether a file can be read, but is not a report of libtrace. */
static bool is_foreign(const char *path)
{
	struct report r;
	const char *cause;
	if (sql_file_is_foreign(path))
		return true;
	if (report_open(&r, path, 0, &cause))
		return false; /* cli_open() explains it */
	const bool of_ncu = is_of_ncu(&r);
	report_close(&r);
	return of_ncu;
}

/* Say that files are not read as one report, because of one that is not of libtrace. */
static int foreign_note(const struct options *o, const char *path)
{
	const bool takes_one = o->command == CMD_dump || o->command == CMD_query ||
		(o->command == CMD_export && !option_is(o, OPT_export_type, "sqlite"));
	if (takes_one)
		cli_error("cannot merge '%s': it is not a report of libtrace; give one FILE", path);
	else
		cli_note("'%s' is not a report of libtrace: the files are not merged, and their "
			 "clocks are not aligned",
			path);
	return takes_one ? STATUS_FAILED : STATUS_OK;
}

/* Merge reports into a temporary file. Returns its descriptor, or -1 after a message. */
static int view_make(struct merging *g)
{
	static const char name[] = "the temporary report";
	int fd = input_temporary();
	FILE *out = fd < 0 ? NULL : fdopen(dup(fd), "w");
	int status = STATUS_FAILED;
	if (out) {
		status = write_to(g, out, name);
		if (fclose(out) && status == STATUS_OK) {
			cli_write_failed(name, -errno, strerror(errno));
			status = STATUS_FAILED;
		}
	} else if (fd >= 0) {
		cli_write_failed(name, -errno, strerror(errno));
	}
	if (status != STATUS_OK && fd >= 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Replace the first `count` arguments by the report that is merged from them. */
static int files_replace(struct options *o, int count)
{
	struct merging g = {.files = o->argv,
		.count = count,
		.m.append.fd = -1,
		.no_wait = value_of(o, "no-wait")};
	char *name = NULL;
	const int fd = prepare(&g) == STATUS_OK ? view_make(&g) : -1;
	if (fd >= 0)
		notes_print(&g.m);
	merge_release(&g.m);
	if (fd < 0)
		return STATUS_FAILED;
	if (asprintf(&name, "%s and %d more", o->argv[0], count - 1) < 0) {
		close(fd);
		return STATUS_FAILED;
	}
	cli_open_instead(name, fd);
	o->argc -= count - 1;
	o->argv += count - 1;
	o->argv[0] = name;
	return STATUS_OK;
}

int merge_inputs(struct options *o)
{
	const int count = files_of_one(o);
	if (count < 2)
		return STATUS_OK;
	for (int i = 0; i < count; i++)
		if (is_foreign(o->argv[i]))
			return foreign_note(o, o->argv[i]);
	const bool has_default_output = o->command == CMD_export ||
		(o->command == CMD_report && o->value[OPT_report_html]) ||
		(o->command == CMD_why && o->value[OPT_why_html]);
	if (has_default_output && !value_of(o, "output")) {
		cli_error("several reports, but no output file given; use --output FILE");
		return STATUS_FAILED;
	}
	return files_replace(o, count);
}
