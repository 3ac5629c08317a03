/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_command.c - `trace rules`: runs rules on a report and stores their findings.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/cli/base/input.h"
#include "reader/cli/base/input_state.h"
#include "reader/cli/base/options.h"
#include "reader/cli/rules.h"
#include "reader/export/output.h"
#include "reader/export/pack.h"
#include "reader/ncu/rewrite.h"

#define LIMIT_S "10"

/* A report that receives findings. */
struct target {
	struct cli_report r;
	struct contents contents;
	struct ncu_results results;
	struct findings findings;
};

static int note_block(void *user, const struct report_block *block)
{
	struct target *t = user;
	const char *cause;
	int error = ncu_results_note(&t->results, block, &cause);
	if (error == -EBADMSG) {
		cli_problem(&t->r, block->offset, cause);
		error = 0;
	}
	return error;
}

static void note_problem(void *user, uint64_t offset, const char *cause)
{
	struct target *t = user;
	cli_problem(&t->r, offset, cause);
}

static int target_open(struct target *t, const char *path)
{
	const struct contents_visitor visitor = {t, note_block, NULL, note_problem};
	int status = cli_open(&t->r, path, false);
	if (status)
		return status;
	contents_init(&t->contents);
	ncu_results_init(&t->results, &t->r.report);
	findings_init(&t->findings, &t->results);
	int error = contents_read(&t->contents, &t->r.report, &visitor);
	if (error)
		return cli_failed(&t->r, error);
	if (t->r.report.unfinished) {
		cli_error("cannot change '%s': it is still being written", path);
		return STATUS_FAILED;
	}
	if (!t->results.count)
		cli_note("'%s' has no kernel results", path);
	return STATUS_OK;
}

static void target_close(struct target *t)
{
	findings_release(&t->findings);
	ncu_results_release(&t->results);
	contents_release(&t->contents);
	cli_close(&t->r);
}

static int write_failed(const char *path, int error)
{
	cli_error("cannot write '%s': %s", path, strerror(-error));
	return STATUS_FAILED;
}

static bool is_packed_name(const char *path)
{
	static const char suffix[] = ".ncu-repz";
	const size_t bytes = strlen(path);
	return bytes >= sizeof(suffix) && !strcmp(path + bytes - strlen(suffix), suffix);
}

/* Write the report again, compressed if its name requires it. */
static int write_anew(const struct ncu_rewrite *how, FILE *out, bool packed, const char **ret_cause)
{
	FILE *stream = packed ? pack_open(out) : out;
	if (!stream)
		return -errno;
	int error = ncu_rewrite(how, stream, ret_cause);
	if (packed && fclose(stream) && !error)
		error = -errno;
	return error;
}

/* Write the report with its findings; it gets the name `path` when it is complete. */
static int target_write(struct target *t, const char *path, bool overwrite)
{
	const struct ncu_rewrite how = {&t->results, findings_judge, &t->findings,
		(const char *const *)t->findings.names, t->findings.name_count};
	const char *cause;
	char *temporary;
	int fd = output_begin(path, overwrite, &temporary);
	if (fd < 0)
		return write_failed(path, fd);
	FILE *out = fdopen(fd, "w");
	findings_sort(&t->findings);
	int error = out ? write_anew(&how, out, is_packed_name(path), &cause) : -ENOMEM;
	if (error == -EBADMSG)
		cli_error("cannot change '%s': it is damaged: %s", t->r.path, cause);
	if (out ? fclose(out) : close(fd))
		error = error ? error : -errno;
	if (!error)
		error = output_end(temporary, path, overwrite);
	if (error)
		unlink(temporary);
	free(temporary);
	if (error && error != -EBADMSG)
		write_failed(path, error);
	return error ? STATUS_FAILED : STATUS_OK;
}

static int apply(const struct options *o, const struct rules_job *job)
{
	struct target t = {0};
	const char *output = o->value[OPT_rules_output];
	struct rules_run run = {&t.findings, 0};
	int status = target_open(&t, job->report);
	if (!status)
		status = rules_run(&run, job);
	if (!status)
		status = target_write(&t, output ? output : job->report,
			!output || o->value[OPT_rules_force_overwrite]);
	if (!status)
		cli_note("stored %" PRIu64 " findings for %zu of %zu results in '%s'",
			t.findings.rule_results, t.findings.results_changed, t.results.count,
			output ? output : job->report);
	target_close(&t);
	return status ? status : run.problems || t.r.problems ? STATUS_DAMAGED : STATUS_OK;
}

static int list(const struct rules_job *job)
{
	struct rules_run run = {0};
	int status = rules_run(&run, job);
	if (!status)
		status = cli_finish(stdout, "standard output");
	return status ? status : run.problems ? STATUS_DAMAGED : STATUS_OK;
}

int command_rules(const struct options *o)
{
	const char *limit = o->value[OPT_rules_time_limit], *python = o->value[OPT_rules_python];
	struct rules_job job = {.python = python ? python : "python3",
		.folders = o->value[OPT_rules_rule_folder],
		.rules = o->value[OPT_rules_rule],
		.limit_s = limit ? limit : LIMIT_S};
	const bool is_apply = o->argc == 2 && !strcmp(o->argv[0], "apply");
	if (!is_apply && (o->argc != 1 || strcmp(o->argv[0], "list") != 0)) {
		cli_error("expected 'apply REPORT' or 'list'; see 'trace help rules'");
		return STATUS_FAILED;
	}
	if (!job.folders) {
		cli_error("no folder with rules given; use --rule-folder DIR");
		return STATUS_FAILED;
	}
	job.is_list = !is_apply;
	job.report = is_apply ? o->argv[1] : NULL;
	return is_apply ? apply(o, &job) : list(&job);
}
