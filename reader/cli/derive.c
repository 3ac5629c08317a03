/* SPDX-License-Identifier: Apache-2.0 */
/*
 * derive.c - `trace derive`: a copy of a report with derived metrics and the sections that show
 * them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/base/output.h"
#include "reader/ncu/pages/choice.h"
#include "reader/cli/base/input.h"
#include "reader/cli/base/input_state.h"
#include "reader/ncu/rewrite.h"

struct deriving {
	struct cli_report r;
	struct details_choice choice;
	struct ncu_results results;
	uint64_t metrics, sections, extended; /* numbers added; number of changed results */
};

static int note_block(void *user, const struct report_block *block)
{
	struct deriving *d = user;
	const char *cause;
	int error = ncu_results_note(&d->results, block, &cause);
	if (error == -EBADMSG)
		cli_problem(&d->r, block->offset, cause);
	return error == -EBADMSG ? 0 : error;
}

static void note_problem(void *user, uint64_t offset, const char *cause)
{
	struct deriving *d = user;
	cli_problem(&d->r, offset, cause);
}

static bool has_section(const Ncu__ProfileResult *r, const char *identifier)
{
	for (size_t i = 0; i < r->n_sections; i++)
		if (r->sections[i]->identifier && !strcmp(r->sections[i]->identifier, identifier))
			return true;
	return false;
}

/* Copy a section; the result owns the copy. */
static Ncu__ProfilerSection *section_copy(const Ncu__ProfilerSection *section)
{
	const size_t bytes = ncu__profiler_section__get_packed_size(section);
	uint8_t *packed = malloc(bytes + 1);
	if (packed)
		ncu__profiler_section__pack(section, packed);
	Ncu__ProfilerSection *copy =
		packed ? ncu__profiler_section__unpack(NULL, bytes, packed) : NULL;
	free(packed);
	return copy;
}

static int section_add(Ncu__ProfileResult *r, const Ncu__ProfilerSection *section)
{
	void *all = reallocarray(r->sections, r->n_sections + 1, sizeof(*r->sections));
	if (!all)
		return -ENOMEM;
	r->sections = all;
	r->sections[r->n_sections] = section_copy(section);
	if (!r->sections[r->n_sections])
		return -ENOMEM;
	r->n_sections++;
	return 0;
}

/* Add the chosen metrics and sections to a result. A callback of ncu_rewrite(). */
static int result_extend(void *user, size_t i, Ncu__ProfileResult *r)
{
	struct deriving *d = user;
	const size_t metrics = r->n_metric_results, sections = r->n_sections;
	int error = ncu_derive(&d->choice.definitions, &d->results, r);
	(void)i;
	for (size_t n = 0; !error && n < d->choice.files.count; n++) {
		const struct ncu_section_file *f = &d->choice.files.files[n];
		if (f->is_chosen && !has_section(r, f->section->identifier))
			error = section_add(r, f->section);
	}
	d->metrics += r->n_metric_results - metrics;
	d->sections += r->n_sections - sections;
	if (error || (r->n_metric_results == metrics && r->n_sections == sections))
		return error ? error : NCU_KEEP;
	d->extended++;
	return NCU_CHANGED;
}

/* Read the report and write the copy. Returns an exit status. */
static int report_derive(struct deriving *d, FILE *out, const char *name)
{
	const struct contents_visitor visitor = {d, note_block, NULL, note_problem};
	const char *cause = "";
	struct contents contents;
	contents_init(&contents);
	int error = contents_read(&contents, &d->r.report, &visitor);
	contents_release(&contents);
	if (!error && d->r.problems)
		return STATUS_FAILED; /* already reported; a damaged report is not changed */
	const size_t known = d->results.name_count;
	if (!error && !d->results.count) {
		cli_error("'%s': there are no results of kernels to derive from", d->r.path);
		return STATUS_FAILED;
	}
	if (!error)
		error = ncu_definitions_name(&d->choice.definitions, &d->results);
	const struct ncu_rewrite rewrite = {.results = &d->results,
		.judge = result_extend,
		.user = d,
		.names = (const char *const *)d->results.names + known,
		.name_count = d->results.name_count - known};
	if (!error)
		error = ncu_rewrite(&rewrite, out, &cause);
	if (error == -EBADMSG)
		cli_error("'%s' is damaged: %s", d->r.path, cause);
	else if (error)
		cli_write_failed(name, error, strerror(-error));
	return error ? STATUS_FAILED : STATUS_OK;
}

static int derive_to(struct deriving *d, const char *name, bool overwrite)
{
	struct cli_output out;
	if (!cli_output_open(&out, name, overwrite))
		return STATUS_FAILED;
	int status = report_derive(d, out.file, name);
	status = cli_output_close(&out, name, overwrite, status);
	if (status != STATUS_OK)
		return status;
	details_choice_print(&d->choice);
	cli_note("added %llu metrics and %llu sections to %llu results",
		(unsigned long long)d->metrics, (unsigned long long)d->sections,
		(unsigned long long)d->extended);
	return d->choice.files.errors ? STATUS_DAMAGED : STATUS_OK;
}

int command_derive(const struct options *o)
{
	struct deriving d = {0};
	const struct section_options options = {.folders = o->value[OPT_derive_section_folder],
		.folders_recursive = o->value[OPT_derive_section_folder_recursive],
		.names = o->value[OPT_derive_section],
		.sets = o->value[OPT_derive_set]};
	const char *file = option_file(o), *name = o->value[OPT_derive_output];
	if (file && !name)
		cli_error("no output file given; use --output FILE");
	if (!file || !name)
		return STATUS_FAILED;
	int status = details_choice_init(&d.choice, &options, o->value[OPT_derive_metrics]);
	if (status == STATUS_OK)
		status = cli_open(&d.r, file, o->value[OPT_derive_no_wait]);
	if (status == STATUS_OK) {
		ncu_results_init(&d.results, &d.r.report);
		status = derive_to(&d, name, option_is(o, OPT_derive_force_overwrite, "true"));
		ncu_results_release(&d.results);
		cli_close(&d.r);
	}
	details_choice_release(&d.choice);
	return status;
}
