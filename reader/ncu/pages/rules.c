/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - the messages of rules about a result, as `trace details` prints them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/pages/details.h"

#define RULE_COLUMNS 110u /* width of a message and of the line between two, without the indent */
#define RULE_INDENT 10u

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

/* Return the text of a message for people. Links in it have the form @kind:place:text@; their text
 * is kept. */
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

/* Print a message. The blank at which a line was broken is a part of the next line, where it is
 * left out unless that line is broken within a word. */
static void print_wrapped(const char *kind, const char *text, FILE *out)
{
	size_t indent = 0;
	fprintf(out, "    %-*s", (int)RULE_INDENT - 4, kind);
	do {
		const char *end = text + strcspn(text, "\n");
		bool is_broken = false;
		do {
			const size_t bytes =
				details_line_take(text, (size_t)(end - text), RULE_COLUMNS, true);
			const bool in_word = text + bytes < end && text[bytes] != ' ';
			const size_t skip = is_broken && *text == ' ' && !in_word;
			fprintf(out, "%*s%.*s\n", (int)indent, "", (int)(bytes - skip),
				text + skip);
			text += bytes;
			indent = RULE_INDENT;
			is_broken = true;
		} while (text < end);
	} while (*text++ && *text);
}

static const char *speedup_kind(const Ncu__RuleResultSpeedup *s)
{
	return s->speedup_type == NCU__RULE_RESULT_SPEEDUP__RULE_RESULT_SPEEDUP_TYPE__Global
		? "global"
		: "local";
}

static void rule_csv(struct details_section *s, const Ncu__RuleResult *rule,
	const Ncu__RuleResultBodyItem *item, const char *text)
{
	struct details *d = s->d;
	const int metric_cells = d->part == PART_HEADER ? 3 : 4;
	details_csv_launch(d, s->id, s->result);
	csv_cell(d->out, false, rule->section_identifier);
	for (int i = 0; i < metric_cells; i++)
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

/* Print the metrics that a message is about. */
static void focus_text(const Ncu__RuleResultBodyItem *item, FILE *out)
{
	const char *mark = ">";
	for (size_t i = 0; i < item->n_focus_metrics; i++) {
		const Ncu__RuleResultFocusMetric *f = item->focus_metrics[i];
		fprintf(out, "    %-6sMetric: %s\n", mark, f->metric_name ? f->metric_name : "");
		fprintf(out, "%*sValue : %f\n", (int)RULE_INDENT, "", f->metric_value);
		if (f->info && *f->info)
			fprintf(out, "%*sInfo  : %s\n", (int)RULE_INDENT, "", f->info);
	}
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
	if (d->rule_details)
		focus_text(item, d->out);
}

/* Print the line between the messages of one rule. */
static void rule_line(FILE *out)
{
	fputs("    ----- ", out);
	for (unsigned i = 0; i < RULE_COLUMNS; i++)
		fputc('-', out);
	fputc('\n', out);
}

/* Print the messages of a rule. */
static int rule_print(struct details_section *s, const Ncu__RuleResult *rule)
{
	struct details *d = s->d;
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
			rule_csv(s, rule, item, text);
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

int details_rules(struct details_section *s)
{
	const Ncu__ProfileResult *r = s->result;
	int error = 0;
	for (size_t i = 0; !error && i < r->n_rule_results; i++) {
		const Ncu__RuleResult *rule = r->rule_results[i];
		const char *of = rule->section_identifier ? rule->section_identifier : "";
		if (strcmp(of, s->identifier) != 0)
			continue;
		if (rule->body)
			details_section_title(s, NULL);
		error = rule_print(s, rule);
	}
	return error;
}
