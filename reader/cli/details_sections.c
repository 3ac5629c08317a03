/*
 * details_sections.c - `trace details --page details`: the sections a result was collected with,
 * their header metrics, and what rules said.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/details.h"

#define VALUE_BYTES 1024u
#define RULE_COLUMNS 108u /* of a terminal, for the text of a message */
#define RULE_INDENT 10u

/* ---- metrics ---- */

struct shown_metric {
	const char *name, *label;
	char unit[NCU_UNIT_BYTES];
	char value[VALUE_BYTES];
	bool is_missing;
};

static bool is_in(uint32_t arch, bool has_least, int least, bool has_most, int most)
{
	return (!has_least || arch >= (uint32_t)least) && (!has_most || arch <= (uint32_t)most);
}

/* Does the filter let this architecture (10 * major + minor) through? */
static bool filter_matches(const Ncu__MetricOptionFilter *f, uint32_t arch)
{
	if (!f)
		return true;
	if (!is_in(arch, f->has_min_arch, (int)f->min_arch, f->has_max_arch, (int)f->max_arch))
		return false;
	for (size_t i = 0; i < f->n_items; i++)
		if (is_in(arch, f->items[i]->has_min_arch, (int)f->items[i]->min_arch,
			    f->items[i]->has_max_arch, (int)f->items[i]->max_arch))
			return true;
	return !f->n_items;
}

static double number_of(const struct details *d, const Ncu__ProfileResult *r, const char *name)
{
	double number = 0;
	const Ncu__ProfileMetricResult *m = ncu_metric_find(&d->results, r, name);
	const Ncu__ProfileMetricValue *v = m ? m->metric_value : NULL;
	return v && ncu_value_number(v, &number) ? number : 0;
}

static uint32_t architecture(const struct details *d, const Ncu__ProfileResult *r)
{
	return (uint32_t)(10 * number_of(d, r, "device__attribute_compute_capability_major") +
		number_of(d, r, "device__attribute_compute_capability_minor"));
}

static void shown_fill(struct shown_metric *s, const char *name, const Ncu__ProfileMetricValue *v)
{
	double number = 0, scale = 1;
	char text[NCU_NUMBER_BYTES];
	ncu_unit(name, s->unit);
	if (v->string_value) {
		*s->unit = 0;
		snprintf(s->value, sizeof(s->value), "%s", v->string_value);
		return;
	}
	ncu_value_number(v, &number);
	if (*s->unit)
		scale = ncu_unit_scale(s->unit, number);
	if (v->has_uint64_value && scale == 1) {
		snprintf(s->value, sizeof(s->value), "%" PRIu64, v->uint64_value);
	} else {
		ncu_number_text(number / scale, text);
		snprintf(s->value, sizeof(s->value), "%s", text);
	}
}

/* The metric as this result shows it; false: not for this architecture. */
static bool metric_show(const struct details *d, const Ncu__ProfileResult *r, uint32_t arch,
	const Ncu__ProfilerSectionMetric *m, struct shown_metric *s)
{
	const Ncu__ProfilerSectionMetricOption *option = NULL;
	for (size_t i = 0; !option && i < m->n_options; i++)
		if (filter_matches(m->options[i]->filter, arch))
			option = m->options[i];
	if (!option && !filter_matches(m->filter, arch))
		return false;
	const char *name = option && option->name ? option->name : m->name;
	if (!name || !*name)
		return false;
	s->name = name;
	s->label = option && option->label && *option->label ? option->label : m->label;
	if (!s->label || !*s->label)
		s->label = name;
	const Ncu__ProfileMetricResult *found = ncu_metric_find(&d->results, r, name);
	const Ncu__ProfileMetricValue *v = found ? found->metric_value : NULL;
	s->is_missing = !v;
	*s->unit = *s->value = 0;
	if (v)
		shown_fill(s, name, v);
	if (v && m->unit && *m->unit && !*s->unit)
		snprintf(s->unit, sizeof(s->unit), "%s", m->unit);
	return true;
}

/* ---- rules ---- */

static const char *rule_kind(int type)
{
	switch (type) {
	case NCU__RULE_RESULT_MESSAGE__RULE_RESULT_MESSAGE_TYPE__Warning:
		return "WRN";
	case NCU__RULE_RESULT_MESSAGE__RULE_RESULT_MESSAGE_TYPE__Error:
		return "ERR";
	case NCU__RULE_RESULT_MESSAGE__RULE_RESULT_MESSAGE_TYPE__Optimization:
		return "OPT";
	default:
		return "INF";
	}
}

/* Links in a message are @kind:place:text@; people read the text. */
static char *message_text(const char *message)
{
	char *text = malloc(strlen(message) + 1), *to = text;
	while (text && *message) {
		const char *end = *message == '@' ? strchr(message + 1, '@') : NULL;
		const char *last = NULL;
		for (const char *c = message; end && c < end; c++)
			if (*c == ':')
				last = c;
		const bool is_link = last &&
			(!strncmp(message, "@section:", 9) || !strncmp(message, "@sass:", 6) ||
				!strncmp(message, "@source:", 8));
		if (is_link) {
			to = mempcpy(to, last + 1, (size_t)(end - last - 1));
			message = end + 1;
		} else if (last && !strncmp(message, "@url:", 5)) {
			const char *colon = strchr(message + 5, ':');
			to = mempcpy(to, message + 5, (size_t)(colon - message - 5));
			to = mempcpy(to, " (", 2);
			to = mempcpy(to, colon + 1, (size_t)(end - colon - 1));
			to = mempcpy(to, ")", 1);
			message = end + 1;
		} else {
			*to++ = *message++;
		}
	}
	if (text)
		*to = 0;
	return text;
}

static void print_wrapped(const char *kind, const char *text, FILE *out)
{
	size_t used = 0;
	fprintf(out, "    %-*s", (int)RULE_INDENT - 4, kind);
	while (*text) {
		size_t word = strcspn(text, " \n");
		if (used && used + 1 + word > RULE_COLUMNS) {
			fprintf(out, "\n%*s", (int)RULE_INDENT, "");
			used = 0;
		}
		used += (size_t)fprintf(out, "%s%.*s", used ? " " : "", (int)word, text);
		text += word;
		text += *text != 0;
	}
	fputc('\n', out);
}

static const char *speedup_kind(const Ncu__RuleResultSpeedup *s)
{
	return s->speedup_type == NCU__RULE_RESULT_SPEEDUP__RULE_RESULT_SPEEDUP_TYPE__Global
		? "global"
		: "local";
}

static void rule_csv(struct details *d, size_t id, const Ncu__ProfileResult *r,
	const Ncu__RuleResult *rule, const Ncu__RuleResultBodyItem *item, const char *text)
{
	details_csv_launch(d, id, r);
	csv_cell(d->out, false, rule->section_identifier);
	for (int i = 0; i < 3; i++)
		csv_cell(d->out, false, "");
	csv_cell(d->out, false, rule->identifier);
	csv_cell(d->out, false, rule_kind((int)item->message->type));
	csv_cell(d->out, false, text);
	if (d->has_speedups) {
		csv_cell(d->out, false, item->speedup ? speedup_kind(item->speedup) : "");
		if (item->speedup)
			csv_format(d->out, "%.4g", item->speedup->value);
		else
			csv_cell(d->out, false, "");
	}
	fputc('\n', d->out);
}

static void rule_text(struct details *d, const Ncu__RuleResultBodyItem *item, const char *text)
{
	const Ncu__RuleResultSpeedup *s = item->speedup;
	const char *kind = rule_kind((int)item->message->type);
	if (s) {
		const bool is_local = s->speedup_type !=
			NCU__RULE_RESULT_SPEEDUP__RULE_RESULT_SPEEDUP_TYPE__Global;
		fprintf(d->out, "    %-6sEst. %sSpeedup: %.4g%%\n", kind, is_local ? "Local " : "",
			s->value);
		kind = "";
	}
	print_wrapped(kind, text, d->out);
}

/* Between the messages of one rule. */
static void rule_line(FILE *out)
{
	fputs("    ----- ", out);
	for (unsigned i = 0; i < RULE_COLUMNS + 2; i++)
		fputc('-', out);
	fputc('\n', out);
}

/* The messages of a rule. */
static int rule_print(
	struct details *d, size_t id, const Ncu__ProfileResult *r, const Ncu__RuleResult *rule)
{
	size_t printed = 0;
	for (size_t i = 0; rule->body && i < rule->body->n_items; i++) {
		const Ncu__RuleResultBodyItem *item = rule->body->items[i];
		char *text = item->message && item->message->message
			? message_text(item->message->message)
			: NULL;
		if (item->message && item->message->message && !text)
			return -ENOMEM;
		if (!text)
			continue;
		if (d->csv) {
			rule_csv(d, id, r, rule, item, text);
		} else {
			if (printed)
				rule_line(d->out);
			rule_text(d, item, text);
		}
		free(text);
		printed++;
	}
	if (printed && !d->csv)
		fputc('\n', d->out);
	return 0;
}

static int rules_print(
	struct details *d, size_t id, const Ncu__ProfileResult *r, const char *section)
{
	int error = 0;
	for (size_t i = 0; !error && i < r->n_rule_results; i++) {
		const Ncu__RuleResult *rule = r->rule_results[i];
		const char *of = rule->section_identifier ? rule->section_identifier : "";
		if (!strcmp(of, section))
			error = rule_print(d, id, r, rule);
	}
	return error;
}

/* ---- sections ---- */

static void metric_csv(struct details *d, size_t id, const Ncu__ProfileResult *r,
	const char *section, const struct shown_metric *s)
{
	details_csv_launch(d, id, r);
	csv_cell(d->out, false, section);
	csv_cell(d->out, false, s->label);
	csv_cell(d->out, false, s->unit);
	csv_cell(d->out, false, s->is_missing ? "n/a" : s->value);
	fputs(d->has_rules ? ",\n" : "\n", d->out);
}

static int metric_row(struct details_rows *rows, const struct shown_metric *s)
{
	int error = details_rows_add(rows, s->label);
	if (!error)
		error = details_rows_add(rows, s->unit);
	return error ? error : details_rows_add(rows, s->is_missing ? "(!) n/a" : s->value);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(
		((const struct shown_metric *)a)->name, ((const struct shown_metric *)b)->name);
}

struct shown_list {
	struct shown_metric *metrics;
	size_t count, capacity;
};

static int list_add(struct shown_list *list, const struct details *d, const Ncu__ProfileResult *r,
	uint32_t arch, const Ncu__ProfilerSectionMetric *m)
{
	if (list->count == list->capacity) {
		size_t more = list->capacity ? 2 * list->capacity : 32;
		void *all = reallocarray(list->metrics, more, sizeof(*list->metrics));
		if (!all)
			return -ENOMEM;
		list->metrics = all;
		list->capacity = more;
	}
	list->count += metric_show(d, r, arch, m, &list->metrics[list->count]);
	return 0;
}

/* Adds a metric by the name that the report's table has for it, so that it lasts. */
static int list_add_named(struct shown_list *list, const struct details *d,
	const Ncu__ProfileResult *r, uint32_t arch, const char *name, size_t bytes)
{
	for (size_t i = 0; i < d->results.name_count; i++) {
		Ncu__ProfilerSectionMetric m = NCU__PROFILER_SECTION_METRIC__INIT;
		m.name = d->results.names[i];
		if (!strncmp(m.name, name, bytes) && !m.name[bytes])
			return list_add(list, d, r, arch, &m);
	}
	return 0;
}

/* A name "regex:..." stands for the metrics that it fitted, which the result lists. */
static int list_add_fitting(struct shown_list *list, const struct details *d,
	const Ncu__ProfileResult *r, uint32_t arch, const char *name)
{
	const Ncu__ProfileMetricResult *m = ncu_metric_find(&d->results, r, name);
	const char *at = m && m->metric_value ? m->metric_value->string_value : NULL;
	int error = 0;
	while (!error && at && *at) {
		size_t bytes = strcspn(at, ",");
		error = list_add_named(list, d, r, arch, at, bytes);
		at += bytes + (at[bytes] == ',');
	}
	return error;
}

/* The header's metrics that this result shows, by name. The caller frees. */
static int header_metrics(const struct details *d, const Ncu__ProfileResult *r,
	const Ncu__ProfilerSection *s, struct shown_list *list)
{
	const uint32_t arch = architecture(d, r);
	int error = 0;
	for (size_t i = 0; !error && s->header && i < s->header->n_metrics; i++) {
		const Ncu__ProfilerSectionMetric *m = s->header->metrics[i];
		if (m->name && !strncmp(m->name, "regex:", 6))
			error = list_add_fitting(list, d, r, arch, m->name);
		else
			error = list_add(list, d, r, arch, m);
	}
	if (list->count)
		qsort(list->metrics, list->count, sizeof(*list->metrics), by_name);
	return error;
}

static bool has_rules(const Ncu__ProfileResult *r, const char *section)
{
	for (size_t i = 0; i < r->n_rule_results; i++) {
		const Ncu__RuleResult *rule = r->rule_results[i];
		if (rule->body && rule->section_identifier &&
			!strcmp(rule->section_identifier, section))
			return true;
	}
	return false;
}

static int section_print(
	struct details *d, size_t id, const Ncu__ProfileResult *r, const Ncu__ProfilerSection *s)
{
	static const char *const titles[] = {"Metric Name", "Metric Unit", "Metric Value"};
	struct details_rows rows = {
		.titles = titles, .columns = 3, .left = 1, .lines = LINES_ROUND_ALL};
	const char *name = s->display_name ? s->display_name : "";
	const char *identifier = s->identifier ? s->identifier : "";
	struct shown_list list = {0};
	int error = header_metrics(d, r, s, &list);
	for (size_t i = 0; !error && i < list.count; i++) {
		if (d->csv)
			metric_csv(d, id, r, name, &list.metrics[i]);
		else
			error = metric_row(&rows, &list.metrics[i]);
	}
	if (!error && !d->csv && (list.count || has_rules(r, identifier)))
		fprintf(d->out, "    Section: %s\n", name);
	if (!error && rows.count) {
		details_rows_print(&rows, d->out, 4, 0, false);
		fputc('\n', d->out);
	}
	details_rows_release(&rows);
	free(list.metrics);
	return error ? error : rules_print(d, id, r, identifier);
}

static int by_order(const void *a, const void *b)
{
	const Ncu__ProfilerSection *left = *(Ncu__ProfilerSection *const *)a,
				   *right = *(Ncu__ProfilerSection *const *)b;
	if (left->order != right->order)
		return left->order < right->order ? -1 : 1;
	return strcmp(left->display_name ? left->display_name : "",
		right->display_name ? right->display_name : "");
}

static int print_result(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	int error = 0;
	(void)user;
	if (!d->csv)
		details_text_launch(d, id, r);
	if (r->n_sections)
		qsort(r->sections, r->n_sections, sizeof(*r->sections), by_order);
	for (size_t i = 0; !error && i < r->n_sections; i++)
		error = section_print(d, id, r, r->sections[i]);
	return error;
}

static int survey(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	(void)id;
	(void)user;
	d->has_nvtx |= details_has_ranges(r);
	d->has_rules |= r->n_rule_results > 0;
	d->has_speedups |= r->n_rule_results > 0;
	return 0;
}

static void print_csv_heading(struct details *d)
{
	static const char *const metric[] = {
		"Section Name", "Metric Name", "Metric Unit", "Metric Value"};
	static const char *const rule[] = {"Rule Name", "Rule Type", "Rule Description",
		"Estimated Speedup Type", "Estimated Speedup"};
	details_csv_heading(d);
	for (size_t i = 0; i < sizeof(metric) / sizeof(*metric); i++)
		csv_cell(d->out, false, metric[i]);
	for (size_t i = 0; d->has_rules && i < sizeof(rule) / sizeof(*rule); i++)
		csv_cell(d->out, false, rule[i]);
	fputc('\n', d->out);
}

int details_sections(struct details *d)
{
	int error = d->csv ? details_each(d, survey, NULL) : 0;
	if (!error && d->csv)
		print_csv_heading(d);
	return error ? error : details_each(d, print_result, NULL);
}
