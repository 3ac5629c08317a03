/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sections.c - `trace sections`: the section files of folders, their sets, and their metrics.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/base/options.h"
#include "reader/ncu/pages/section_files.h"
#include "reader/cli/base/table.h"
#include "reader/ncu/displayed_metrics.h"
#include "reader/ncu/section_metrics.h"

struct listing {
	const struct options *o;
	struct section_options choice;
	struct ncu_sections sections;
	struct table table;
	const struct ncu_section_file *file; /* the current file */
	bool is_filtered;                    /* --architecture is given */
	struct ncu_target target;
	/* metrics of the current section that are in the table already */
	const Ncu__ProfilerSectionMetric **printed;
	size_t printed_count;
};

/* ---- sections, sets ---- */

static void list_sections(struct listing *l)
{
	static const struct table_column columns[] = {{"Identifier", true, 0, false},
		{"Display Name", true, 70, false}, {"Enabled", true, 0, false},
		{"Filename", true, 60, true}};
	table_init(&l->table, columns, 4);
	for (size_t i = 0; i < l->sections.count; i++) {
		const struct ncu_section_file *f = &l->sections.files[i];
		table_cell(&l->table, "%s", f->section->identifier);
		table_cell(&l->table, "%s", f->section->display_name);
		table_cell(&l->table, "%s", f->is_chosen ? "yes" : "no");
		table_cell(&l->table, "%s", f->path);
	}
}

/* Return the name of the next set after `before` (NULL: the first). Sets are the names that
 * sections mention. */
static const char *set_after(const struct listing *l, const char *before)
{
	const char *least = NULL;
	for (size_t i = 0; i < l->sections.count; i++) {
		const Ncu__ProfilerSection *section = l->sections.files[i].section;
		for (size_t n = 0; n < section->n_sets; n++) {
			const char *name = section->sets[n]->identifier;
			if (name && (!before || strcmp(name, before) > 0) &&
				(!least || strcmp(name, least) < 0))
				least = name;
		}
	}
	return least;
}

static int set_print(struct listing *l, const char *set)
{
	char *text = NULL;
	size_t bytes, count = 0;
	bool all = true;
	FILE *memory = open_memstream(&text, &bytes);
	if (!memory)
		return -ENOMEM;
	for (size_t i = 0; i < l->sections.count; i++) {
		const struct ncu_section_file *f = &l->sections.files[i];
		if (!ncu_section_is_in_set(f->section, set))
			continue;
		fprintf(memory, "%s%s", count++ ? ", " : "", f->section->identifier);
		all &= f->is_chosen;
	}
	if (fclose(memory)) {
		free(text);
		return -ENOMEM;
	}
	table_cell(&l->table, "%s", set);
	table_cell(&l->table, "%s", text);
	table_cell(&l->table, "%s", all ? "yes" : "no");
	free(text);
	return 0;
}

static int list_sets(struct listing *l)
{
	static const struct table_column columns[] = {{"Identifier", true, 0, false},
		{"Sections", true, 100, false}, {"Enabled", true, 0, false}};
	int error = 0;
	table_init(&l->table, columns, 3);
	for (const char *set = NULL; !error && (set = set_after(l, set));)
		error = set_print(l, set);
	return error;
}

/* ---- metrics ---- */

static void capability_print(FILE *out, bool is_given, int number)
{
	if (is_given)
		fprintf(out, "%d.%d", number / 10, number % 10);
}

/* Print ranges of architectures: "-7.0, 8.0-9.0"; one end may be open. */
static void architectures_print(FILE *out, const Ncu__MetricOptionFilter *f)
{
	size_t count = 0;
	if (f->has_min_arch || f->has_max_arch) {
		capability_print(out, f->has_min_arch, (int)f->min_arch);
		fputc('-', out);
		capability_print(out, f->has_max_arch, (int)f->max_arch);
		count++;
	}
	for (size_t i = 0; i < f->n_items; i++) {
		const Ncu__MetricOptionFilterItem *item = f->items[i];
		fputs(count++ ? ", " : "", out);
		capability_print(out, item->has_min_arch, (int)item->min_arch);
		fputc('-', out);
		capability_print(out, item->has_max_arch, (int)item->max_arch);
	}
}

static void scopes_print(FILE *out, const Ncu__MetricOptionFilter *f)
{
	static const char *const names[] = {"", "launch", "range", "cmdlist"};
	const Ncu__CollectionFilter *c = f->collection_filter;
	for (size_t i = 0; c && i < c->n_collection_scopes; i++) {
		const unsigned scope = (unsigned)c->collection_scopes[i];
		fprintf(out, "%s%s", i ? ", " : "", scope < 4 ? names[scope] : "?");
	}
}

static void filter_cell(struct listing *l, const Ncu__MetricOptionFilter *f,
	void (*print)(FILE *out, const Ncu__MetricOptionFilter *f))
{
	char *text = NULL;
	size_t bytes;
	FILE *memory = f ? open_memstream(&text, &bytes) : NULL;
	if (memory) {
		print(memory, f);
		fclose(memory);
	}
	table_cell(&l->table, "%s", text ? text : "");
	free(text);
}

static const char *importance(const Ncu__MetricOptionFilter *f)
{
	const Ncu__CollectionFilter *c = f ? f->collection_filter : NULL;
	if (!c || !c->has_importance)
		return "";
	return c->importance == NCU__COLLECTION_IMPORTANCE__CollectionImportance_Required
		? "required"
		: "optional";
}

static void metric_row(struct listing *l, const char *name, const char *label,
	const Ncu__MetricOptionFilter *filter)
{
	table_cell(&l->table, "%s", l->file->section->identifier);
	table_cell(&l->table, "%s", name);
	table_cell(&l->table, "%s", label ? label : "");
	filter_cell(l, ncu_filter_of_architecture(filter, &l->target), architectures_print);
	filter_cell(l, ncu_filter_of_scope(filter, &l->target), scopes_print);
	table_cell(&l->table, "%s", importance(filter));
}

/* Return whether the metric was printed. A section often has a metric in its header and in its
 * body. */
static bool was_printed(const struct listing *l, const Ncu__ProfilerSectionMetric *m)
{
	for (size_t i = 0; i < l->printed_count; i++)
		if (!strcmp(l->printed[i]->name, m->name) &&
			l->printed[i]->n_options == m->n_options)
			return true;
	return false;
}

static int metric_name_print(
	void *user, const Ncu__ProfilerSectionMetric *m, const Ncu__MetricOptionFilter *item_filter)
{
	struct listing *l = user;
	const Ncu__ProfilerSectionMetricOption *option;
	if (was_printed(l, m) || !m->name || !*m->name)
		return 0;
	void *printed = reallocarray(l->printed, l->printed_count + 1, sizeof(*l->printed));
	if (!printed)
		return -ENOMEM;
	l->printed = printed;
	l->printed[l->printed_count++] = m;
	l->target.item_filter = item_filter;
	if (l->is_filtered) {
		const char *name = ncu_shown_name(m, &l->target, &option);
		if (name)
			metric_row(l, name, option && option->label ? option->label : m->label,
				option ? option->filter : m->filter);
		return 0;
	}
	metric_row(l, m->name, m->label, m->filter);
	for (size_t i = 0; i < m->n_options; i++) {
		option = m->options[i];
		metric_row(
			l, option->name, option->label ? option->label : m->label, option->filter);
	}
	return 0;
}

static int list_metrics(struct listing *l)
{
	static const struct table_column columns[] = {{"Section", true, 0, false},
		{"Metric", true, 0, false}, {"Label", true, 60, false},
		{"Architectures", true, 0, false}, {"Scopes", true, 0, false},
		{"Importance", true, 0, false}};
	int error = 0;
	table_init(&l->table, columns, 6);
	for (size_t i = 0; !error && i < l->sections.count; i++) {
		l->file = &l->sections.files[i];
		l->target.section_filter = l->file->section->filter;
		l->printed_count = 0;
		if (l->file->is_chosen)
			error = ncu_section_each_metric(l->file->section, metric_name_print, l);
	}
	free(l->printed);
	return error;
}

/* ---- the command ---- */

static void target_choose(struct listing *l)
{
	static const char *const scopes[] = {"launch", "range", "cmdlist"};
	const char *architecture = l->o->value[OPT_sections_architecture];
	const char *scope = l->o->value[OPT_sections_scope];
	l->is_filtered = architecture != NULL;
	l->target.scope = NCU__COLLECTION_SCOPE__CollectionScope_Launch;
	if (architecture)
		l->target.architecture = (uint32_t)lround(10 * strtod(architecture, NULL));
	for (int i = 0; scope && i < 3; i++)
		if (!strcmp(scope, scopes[i]))
			l->target.scope = (Ncu__CollectionScope)(i + 1);
}

static int listing_print(struct listing *l)
{
	const struct options *o = l->o;
	int error = 0;
	for (size_t i = 0; i < l->sections.count; i++)
		l->sections.files[i].is_chosen =
			section_is_chosen(&l->choice, l->sections.files[i].section);
	if (o->value[OPT_sections_list_sets])
		error = list_sets(l);
	else if (o->value[OPT_sections_list_metrics])
		error = list_metrics(l);
	else
		list_sections(l);
	if (!error)
		error = table_print(
			&l->table, table_format_named(o->value[OPT_sections_format]), stdout);
	table_release(&l->table);
	if (!error)
		return cli_finish(stdout, "standard output");
	cli_error("%s", strerror(-error));
	return STATUS_FAILED;
}

int command_sections(const struct options *o)
{
	struct listing l = {.o = o,
		.choice = {.folders = o->value[OPT_sections_section_folder],
			.folders_recursive = o->value[OPT_sections_section_folder_recursive],
			.names = o->value[OPT_sections_section],
			.sets = o->value[OPT_sections_set]}};
	if (o->argc || (!l.choice.folders && !l.choice.folders_recursive)) {
		cli_error(o->argc ? "unexpected argument '%s'; see 'trace help sections'"
				  : "no section files given; use --section-folder DIR or "
				    "--section-folder-recursive DIR",
			o->argc ? o->argv[0] : "");
		return STATUS_FAILED;
	}
	target_choose(&l);
	int status = section_files_read(&l.sections, &l.choice);
	if (status == STATUS_OK)
		status = section_choice_check(&l.choice, &l.sections);
	if (status == STATUS_OK)
		status = listing_print(&l);
	if (status == STATUS_OK && l.sections.errors)
		status = STATUS_DAMAGED;
	ncu_sections_release(&l.sections);
	return status;
}
