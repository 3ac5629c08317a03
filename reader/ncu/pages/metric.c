/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric.c - a metric on the pages of `trace details`: its label, unit, number and instances.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/pages/details.h"

/* ---- values ---- */

/* Print a number; many_digits: as on the raw page as CSV. */
static void number_print(const struct details *d, double number, bool many_digits, FILE *out)
{
	char text[NCU_NUMBER_BYTES];
	if (isfinite(number) && (many_digits || d->floating))
		fprintf(out, many_digits ? "%f" : "%.2f", number);
	else
		fprintf(out, "%s", (ncu_number_text(number, text), text));
}

static void value_print(const struct details *d, const Ncu__ProfileMetricValue *v, double scale,
	bool many_digits, FILE *out)
{
	double number;
	if (v->string_value)
		fputs(v->string_value, out);
	else if (v->has_uint64_value && scale == 1 && !d->floating && !many_digits)
		fprintf(out, "%" PRIu64, v->uint64_value);
	else if (ncu_value_number(v, &number))
		number_print(d, number / scale, many_digits, out);
}

/* An instance is keyed by a text, a time (printed with the time since the first one), an address
 * of code (except for derived metrics and counts of samples), or a plain number. */
void details_key_print(
	const struct details *d, const Ncu__ProfileMetricResult *m, size_t i, FILE *out)
{
	const char *name = m->name_id < d->results.name_count ? d->results.names[m->name_id] : "";
	const bool is_derived =
		!strncmp(name, "derived_", 8) || !strcmp(name, "smsp__pcsamp_sample_count");
	const Ncu__ProfileMetricValue *key = m->metric_value_list[i]->correlation_id;
	const Ncu__ProfileMetricValue *first = m->metric_value_list[0]->correlation_id;
	double number = 0;
	if (!key)
		return;
	if (key->string_value)
		fputs(key->string_value, out);
	else if (!key->has_uint64_value)
		fprintf(out, "%.0f", ncu_value_number(key, &number) ? number : 0);
	else if (m->category == NCU__PROFILE_METRIC_CATEGORY__MetricCategorySampler && first)
		fprintf(out, "%" PRIu64 " (+%" PRIu64 ")", key->uint64_value,
			key->uint64_value - first->uint64_value);
	else
		fprintf(out,
			key->uint64_value > UINT32_MAX && !is_derived ? "0x%" PRIx64 : "%" PRIu64,
			key->uint64_value);
}

static void instances_print(const struct details *d, const Ncu__ProfileMetricResult *m,
	double scale, bool keys, FILE *out)
{
	for (size_t i = 0; i < m->n_metric_value_list; i++) {
		fputs(i ? "; " : "(", out);
		if (keys) {
			details_key_print(d, m, i, out);
			fputs(": ", out);
		}
		if (m->metric_value_list[i]->element_value)
			value_print(d, m->metric_value_list[i]->element_value, scale, false, out);
	}
	fputc(')', out);
}

double details_scale(
	const struct details *d, const Ncu__ProfileMetricResult *m, char unit[NCU_UNIT_BYTES])
{
	double number;
	const Ncu__ProfileMetricValue *v = m ? m->metric_value : NULL;
	if (d->base_units || !*unit || !v || !ncu_value_number(v, &number))
		return 1;
	return ncu_unit_scale(unit, number);
}

/* Return whether a text page marks a value: it is a number, and not finite. ncu does not mark
 * ratios of bytes that it measures by instrumenting the program. */
static bool is_doubtful(const struct details *d, const Ncu__ProfileMetricResult *m)
{
	const char *name = m->name_id < d->results.name_count ? d->results.names[m->name_id] : "";
	double number;
	return !d->csv && !m->metric_value->string_value &&
		ncu_value_number(m->metric_value, &number) && !isfinite(number) &&
		strncmp(name, "smsp__sass_average_data_bytes_", 30) != 0;
}

char *details_value_text(const struct details *d, const Ncu__ProfileMetricResult *m, double scale,
	bool many_digits, enum details_instances instances)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	if (m && m->metric_value) {
		if (is_doubtful(d, m))
			fputs("(!) ", out);
		value_print(d, m->metric_value, scale, many_digits, out);
	} else if (m && !m->n_metric_value_list)
		fputs("no data", out);
	if (m && m->n_metric_value_list && instances != INSTANCES_NONE &&
		!(many_digits && m->metric_value)) {
		if (ftell(out) > 0)
			fputc(' ', out);
		instances_print(d, m, scale, instances == INSTANCES_DETAILS, out);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- labels ---- */

/* Print the usual name of the unit of a metric "unit__counter...". */
static void unit_name_print(const char *name, FILE *out)
{
	static const struct {
		const char *unit, *name;
	} rows[] = {{"l1tex", "L1"}, {"lts", "L2"}, {"fbpa", "DRAM"}};
	const char *end = strstr(name, "__");
	const size_t bytes = end ? (size_t)(end - name) : 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strlen(rows[i].unit) == bytes && !strncmp(rows[i].unit, name, bytes)) {
			fputs(rows[i].name, out);
			return;
		}
	for (size_t i = 0; i < bytes; i++)
		fputc(toupper((unsigned char)name[i]), out);
}

/* Print "pipe_fp64_cycles_active" as "Pipe Fp64 Cycles Active". */
static void counter_name_print(const char *name, FILE *out)
{
	const char *start = strstr(name, "__");
	bool begins = true;
	for (start = start ? start + 2 : name; *start && *start != '.'; start++) {
		const unsigned char c = (unsigned char)*start;
		fputc(c == '_' ? ' ' : begins ? toupper(c) : c, out);
		begins = c == '_';
	}
}

static void label_expand(const char *label, const char *name, FILE *out)
{
	static const char unit[] = "{UNIT}", counter[] = "{COMPOUND_NAME}";
	while (*label)
		if (!strncmp(label, unit, sizeof(unit) - 1)) {
			unit_name_print(name, out);
			label += sizeof(unit) - 1;
		} else if (!strncmp(label, counter, sizeof(counter) - 1)) {
			counter_name_print(name, out);
			label += sizeof(counter) - 1;
		} else {
			fputc(*label++, out);
		}
}

/* Print a label. Members of a group share the group's label, so their name follows it. */
static void label_print(const struct details *d, const struct ncu_shown *s, FILE *out)
{
	const bool is_group = s->as->name && !strncmp(s->as->name, "group:", 6);
	if (d->names == NAMES_NAME || s->label == s->name) {
		fputs(s->name, out);
		return;
	}
	label_expand(s->label, s->name, out);
	if (d->names == NAMES_BOTH || is_group)
		fprintf(out, " (%s)", s->name);
}

char *details_label(const struct details *d, const struct ncu_shown *shown)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	label_print(d, shown, out);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* ---- metrics ---- */

/* Write the unit of a metric; sums of thread instructions have a different unit on the raw page. */
void details_section_unit(const char *name, char ret_unit[NCU_UNIT_BYTES])
{
	if (!fnmatch("derived__*_inst_executed*_x2", name, 0))
		snprintf(ret_unit, NCU_UNIT_BYTES, "inst");
	else
		ncu_unit(name, ret_unit);
}

int details_metric_fill(const struct details *d, const struct ncu_shown *shown,
	enum details_instances instances, struct details_metric *m)
{
	const Ncu__ProfileMetricValue *v = shown->metric ? shown->metric->metric_value : NULL;
	const bool has = shown->metric != NULL;
	*m = (struct details_metric){.is_missing = !has, .label = details_label(d, shown)};
	if (has && !(v && v->string_value))
		details_section_unit(shown->name, m->unit);
	const double scale = details_scale(d, shown->metric, m->unit);
	if (v && shown->as->unit && *shown->as->unit && !*m->unit)
		snprintf(m->unit, sizeof(m->unit), "%s", shown->as->unit);
	m->value = has ? details_value_text(d, shown->metric, scale, false, instances)
		       : strdup(d->csv ? "n/a" : "(!) n/a");
	if (m->label && m->value)
		return 0;
	details_metric_release(m);
	return -ENOMEM;
}

void details_metric_release(struct details_metric *m)
{
	free(m->label);
	free(m->value);
	m->label = m->value = NULL;
}
