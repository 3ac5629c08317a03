/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choice.c - the choice of sections and metrics that `trace details` prints of a result.
 */
#define _GNU_SOURCE
#include "reader/ncu/pages/choice.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define METRICS_MAX 1024u /* most metrics of --metrics */

/* ---- definitions of section files ---- */

static void show_problem(void *user, const char *name, const struct expression_problem *p)
{
	const struct ncu_section_file *f = user;
	cli_error("%s: error: metric definition '%s': column %zu: %s", f->path, name, p->column,
		p->text);
}

static int files_choose(struct details_choice *c)
{
	int error = 0;
	for (size_t i = 0; !error && i < c->files.count; i++) {
		struct ncu_section_file *f = &c->files.files[i];
		f->is_chosen = section_is_chosen(&c->options, f->section);
		if (f->is_chosen)
			error = ncu_definitions_add_section(
				&c->definitions, f->section, show_problem, f);
	}
	if (error)
		cli_error(
			"cannot use the metric definitions of section files: %s", strerror(-error));
	return error ? STATUS_FAILED : STATUS_OK;
}

/* ---- --metrics ---- */

/* Define a metric NAME=EXPRESSION; `text` is cut to the name. */
static int metric_define(struct details_choice *c, char *text)
{
	struct expression_problem p;
	char *equals = strchr(text, '=');
	if (!equals || !strncmp(text, "regex:", 6))
		return STATUS_OK;
	*equals = 0;
	int error = ncu_definitions_add(&c->definitions, text, equals + 1, &p);
	if (error == -EINVAL && p.column)
		cli_error("--metrics %s=%s: column %zu: %s", text, equals + 1, p.column, p.text);
	else if (error)
		cli_error("--metrics: %s", error == -EINVAL ? p.text : strerror(-error));
	c->own_count += !error;
	return error ? STATUS_FAILED : STATUS_OK;
}

static int metric_add(struct details_choice *c, char *text)
{
	if (c->header.n_metrics == METRICS_MAX) {
		cli_error("--metrics: more than %u metrics", METRICS_MAX);
		return STATUS_FAILED;
	}
	Ncu__ProfilerSectionMetric *m = &c->metrics[c->header.n_metrics];
	ncu__profiler_section_metric__init(m);
	m->name = text;
	c->metric_list[c->header.n_metrics++] = m;
	return metric_define(c, text);
}

static int metrics_parse(struct details_choice *c, const char *metrics)
{
	static char identifier[] = "metrics", title[] = "Command line profiler metrics";
	int status = STATUS_OK;
	char *at = NULL;
	ncu__profiler_section__init(&c->section);
	ncu__profiler_section_header__init(&c->header);
	if (!metrics)
		return STATUS_OK;
	c->names = strdup(metrics);
	c->metrics = calloc(METRICS_MAX, sizeof(*c->metrics));
	c->metric_list = calloc(METRICS_MAX, sizeof(*c->metric_list));
	if (!c->names || !c->metrics || !c->metric_list) {
		cli_error("%s", strerror(ENOMEM));
		return STATUS_FAILED;
	}
	c->section.identifier = identifier;
	c->section.display_name = title;
	c->section.header = &c->header;
	c->header.metrics = c->metric_list;
	for (char *text = strtok_r(c->names, ",", &at); text && status == STATUS_OK;
		text = strtok_r(NULL, ",", &at))
		status = metric_add(c, text + strspn(text, " "));
	return status;
}

int details_choice_init(
	struct details_choice *c, const struct section_options *options, const char *metrics)
{
	*c = (struct details_choice){.options = *options};
	int status = section_files_read(&c->files, options);
	if (status == STATUS_OK && (options->folders || options->folders_recursive))
		status = section_choice_check(options, &c->files);
	if (status == STATUS_OK)
		status = files_choose(c);
	c->own_first = c->definitions.count;
	return status == STATUS_OK ? metrics_parse(c, metrics) : status;
}

void details_choice_release(struct details_choice *c)
{
	ncu_sections_release(&c->files);
	ncu_definitions_release(&c->definitions);
	free(c->metrics);
	free(c->metric_list);
	free(c->names);
	free(c->found);
}

/* ---- a result ---- */

/* Return whether sections are printed. --metrics without a choice of sections prints only its
 * metrics. */
static bool has_sections(const struct details_choice *c)
{
	const struct section_options *o = &c->options;
	return !c->header.n_metrics || o->folders || o->folders_recursive || o->names || o->sets;
}

static size_t sections_choose(
	struct details_choice *c, const Ncu__ProfileResult *r, Ncu__ProfilerSection **to)
{
	const bool are_files = c->options.folders || c->options.folders_recursive;
	size_t count = 0;
	for (size_t i = 0; are_files && i < c->files.count; i++)
		if (c->files.files[i].is_chosen)
			to[count++] = c->files.files[i].section;
	for (size_t i = 0; !are_files && has_sections(c) && i < r->n_sections; i++)
		if (section_is_chosen(&c->options, r->sections[i]))
			to[count++] = r->sections[i];
	if (c->header.n_metrics)
		to[count++] = &c->section;
	return count;
}

/* Note the words that match sections of the result. Words about section files were checked when
 * the files were read. */
static int words_note(struct details_choice *c, const Ncu__ProfileResult *r)
{
	const size_t count = section_words_count(&c->options);
	if (!count || c->options.folders || c->options.folders_recursive)
		return 0;
	if (!c->found)
		c->found = calloc(count, sizeof(*c->found));
	for (size_t i = 0; c->found && i < r->n_sections; i++)
		section_words_note(&c->options, r->sections[i], c->found);
	return c->found ? 0 : -ENOMEM;
}

int details_choice_apply(struct details_choice *c, const struct ncu_results *n,
	Ncu__ProfileResult *r, struct details_sections_before *before)
{
	*before = (struct details_sections_before){r->sections, r->n_sections};
	int error = words_note(c, r);
	if (!error)
		error = ncu_derive(&c->definitions, n, r);
	Ncu__ProfilerSection **chosen =
		error ? NULL : calloc(c->files.count + r->n_sections + 1, sizeof(*chosen));
	if (!chosen)
		return -ENOMEM;
	r->n_sections = sections_choose(c, r, chosen);
	r->sections = chosen;
	return 0;
}

void details_choice_undo(Ncu__ProfileResult *r, const struct details_sections_before *before)
{
	if (r->sections != before->sections)
		free(r->sections);
	r->sections = before->sections;
	r->n_sections = before->count;
}

static bool is_fitting(const char *expression, const char *name)
{
	regex_t regex;
	if (regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB))
		return false;
	bool fits = !regexec(&regex, name, 0, NULL, 0);
	regfree(&regex);
	return fits;
}

static bool is_wanted(const char *wanted, const char *name)
{
	return !strncmp(wanted, "regex:", 6) ? is_fitting(wanted + 6, name) : !strcmp(wanted, name);
}

bool details_choice_has(const struct details_choice *c, const char *name)
{
	for (size_t i = 0; i < c->header.n_metrics; i++)
		if (is_wanted(c->metrics[i].name, name))
			return true;
	return !c->header.n_metrics;
}

void details_choice_print_unknown(const struct details_choice *c, const struct ncu_results *results)
{
	if (c->found)
		section_words_print(&c->options, c->found);
	for (size_t i = 0; i < c->header.n_metrics; i++) {
		bool found = false;
		for (size_t n = 0; !found && n < results->name_count; n++)
			found = is_wanted(c->metrics[i].name, results->names[n]);
		if (!found)
			cli_error("--metrics: no metric named '%s'", c->metrics[i].name);
	}
}

void details_choice_print(const struct details_choice *c)
{
	for (size_t i = c->own_first; i < c->own_first + c->own_count; i++) {
		const struct ncu_definition *one = &c->definitions.list[i];
		if (!one->added && one->lacked)
			cli_note("'%s' was not added: no result has a number for '%s'", one->name,
				one->lacked);
		else if (!one->added)
			cli_note("'%s' was not added: all results have it, or there are none",
				one->name);
	}
}
