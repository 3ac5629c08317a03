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

/* A metric as the page prints it. */
struct shown_metric {
	const char *name, *label;
	char unit[NCU_UNIT_BYTES];
	char value[VALUE_BYTES];
	bool is_missing;
};

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

static void metric_show(const struct ncu_shown *shown, struct shown_metric *s)
{
	const Ncu__ProfileMetricValue *v = shown->metric ? shown->metric->metric_value : NULL;
	*s = (struct shown_metric){.name = shown->name, .label = shown->label, .is_missing = !v};
	if (v)
		shown_fill(s, shown->name, v);
	if (v && shown->as->unit && *shown->as->unit && !*s->unit)
		snprintf(s->unit, sizeof(s->unit), "%s", shown->as->unit);
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
	return strcmp(((const struct ncu_shown *)a)->name, ((const struct ncu_shown *)b)->name);
}

/* The header's metrics that this result shows, by name. The caller frees. */
static int header_metrics(const struct details *d, const Ncu__ProfileResult *r,
	const Ncu__ProfilerSection *s, struct ncu_shown_list *list)
{
	const struct ncu_target target = ncu_target_of(&d->results, r);
	int error = s->header
		? ncu_shown_add(list, &target, s->header->metrics, s->header->n_metrics)
		: 0;
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
	struct ncu_shown_list list = {0};
	int error = header_metrics(d, r, s, &list);
	for (size_t i = 0; !error && i < list.count; i++) {
		struct shown_metric m;
		metric_show(&list.metrics[i], &m);
		if (d->csv)
			metric_csv(d, id, r, name, &m);
		else
			error = metric_row(&rows, &m);
	}
	if (!error && !d->csv && (list.count || has_rules(r, identifier)))
		fprintf(d->out, "    Section: %s\n", name);
	if (!error && rows.count) {
		details_rows_print(&rows, d->out, 4, 0, false);
		fputc('\n', d->out);
	}
	details_rows_release(&rows);
	ncu_shown_release(&list);
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
