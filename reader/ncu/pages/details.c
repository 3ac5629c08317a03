/* SPDX-License-Identifier: Apache-2.0 */
/*
 * details.c - `trace details`: the results of a report of Nsight Compute, page by page.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "reader/ncu/pages/details.h"
#include "reader/ncu/pages/dump_results.h"
#include "reader/cli/base/input.h"

static int note_block(void *user, const struct report_block *block)
{
	struct details *d = user;
	const char *cause;
	int error = ncu_results_note(&d->results, block, &cause);
	if (error == -EBADMSG) {
		cli_problem(&d->r, block->offset, cause);
		error = 0;
	}
	return error;
}

static void details_problem(void *user, uint64_t offset, const char *cause)
{
	struct details *d = user;
	cli_problem(&d->r, offset, cause);
}

static bool any_kernels(const struct details *d)
{
	for (size_t i = 0; i < d->results.count; i++)
		if (details_is_kernel(d, i))
			return true;
	return false;
}

static int page_print(struct details *d, const char *page)
{
	if (page && !strcmp(page, "session"))
		return details_session(d);
	if (!d->results.count)
		cli_note("'%s' has no kernel results", d->r.path);
	d->has_kernels = !d->results.count || any_kernels(d);
	if (page && !strcmp(page, "source"))
		return d->source_view == SOURCE_PTX || d->source_view == SOURCE_CUDA
			? details_listing(d)
			: details_source(d);
	const bool is_raw = page && !strcmp(page, "raw");
	if (d->summary)
		return details_summary(d, is_raw);
	return is_raw ? details_raw(d) : details_sections(d);
}

/* Return the index of an option's value among its choices; `otherwise` if the option was not given.
 */
static unsigned choice(const struct options *o, enum option_id id, unsigned otherwise)
{
	const char *words = option_rows[id].choices, *value = o->value[id];
	unsigned number = 0;
	for (const char *at = words; value; number++) {
		size_t bytes = strcspn(at, " ");
		if (bytes == strlen(value) && !strncmp(at, value, bytes))
			return number;
		at += bytes + (at[bytes] == ' ');
	}
	return otherwise;
}

/* Convert the options to settings of the pages. Choices of options have the order of the
 * enumerations. */
static struct details form_of(const struct options *o)
{
	return (struct details){.csv = o->value[OPT_details_csv],
		.base_units = choice(o, OPT_details_print_units, 0) == 1,
		.floating = o->value[OPT_details_print_fp],
		.rule_details = o->value[OPT_details_print_rule_details],
		.rename = choice(o, OPT_details_print_nvtx_rename, 0) == 1,
		.part = choice(o, OPT_details_print_details, PART_HEADER),
		.names = choice(o, OPT_details_print_metric_name, NAMES_LABEL),
		.instances = choice(o, OPT_details_print_metric_instances, INSTANCES_NONE),
		.summary = choice(o, OPT_details_print_summary, SUMMARY_NONE),
		.kernel_base = choice(o, OPT_details_print_kernel_base, BASE_DEMANGLED),
		.source_view = choice(o, OPT_details_print_source, SOURCE_SASS),
		.source_files = o->value[OPT_details_resolve_source_file],
		.out = stdout};
}

/* Read the choice of sections and metrics. Returns an exit status. */
static int choice_init(struct details *d, const struct options *o)
{
	const struct section_options options = {.folders = o->value[OPT_details_section_folder],
		.folders_recursive = o->value[OPT_details_section_folder_recursive],
		.names = o->value[OPT_details_section],
		.sets = o->value[OPT_details_set]};
	return details_choice_init(&d->choice, &options, o->value[OPT_details_metrics]);
}

static int report_print(struct details *d, const char *page)
{
	const struct contents_visitor visitor = {d, note_block, NULL, details_problem};
	contents_init(&d->contents);
	ncu_results_init(&d->results, &d->r.report);
	int error = contents_read(&d->contents, &d->r.report, &visitor);
	if (!error)
		error = ncu_definitions_name(&d->choice.definitions, &d->results);
	if (!error)
		error = page_print(d, page);
	if (!error) {
		details_choice_print(&d->choice);
		details_choice_print_unknown(&d->choice, &d->results);
	}
	if (!error && d->filter.is_asked && !d->filter.any)
		cli_note("'%s': no kernel matches the options", d->r.path);
	if (!error && is_of_ncu(&d->r.report))
		results_print_torn(&d->r, &d->contents);
	else if (!error)
		cli_note_cut_off(&d->r, &d->contents);
	ncu_results_release(&d->results);
	contents_release(&d->contents);
	return error;
}

int command_details(const struct options *o)
{
	struct details d = form_of(o);
	const char *file = option_file(o);
	int status = !file || details_filter_set(&d.filter, o) ? STATUS_FAILED : choice_init(&d, o);
	if (status == STATUS_OK)
		status = cli_open(&d.r, file, o->value[OPT_details_no_wait]);
	if (status == STATUS_OK) {
		int error = report_print(&d, o->value[OPT_details_page]);
		status = error && error != -EPIPE ? cli_failed(&d.r, error)
						  : cli_finish(stdout, "standard output");
		if (!status && (d.r.problems || d.choice.files.errors))
			status = STATUS_DAMAGED;
		cli_close(&d.r);
	}
	details_choice_release(&d.choice);
	details_filter_release(&d.filter);
	return status;
}
