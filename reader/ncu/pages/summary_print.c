/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary_print.c - printer of the groups of `trace details --print-summary`, as text and as CSV.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/pages/summary.h"

#define AVERAGE_COLUMNS 30u /* width on a terminal; instances share the column */

/* ---- a row ---- */

static void instances_print(
	const struct summary *s, const struct summary_row *row, double scale, FILE *out)
{
	fputs(" [", out);
	for (const struct summary_instance *i = row->first; i; i = i->next) {
		const double mean = i->sum / (double)i->count / scale;
		if (s->d->instances == INSTANCES_DETAILS)
			fprintf(out, "%s: %.2f; ", i->key, mean);
		else
			fprintf(out, "%.2f,", mean);
	}
	fputc(']', out);
}

#define NUMBER_BYTES 336u /* the greatest number, with six decimals */
#define TEXTS 5           /* texts of a row: label, unit, least, greatest, mean */

struct texts {
	const char *of[TEXTS];
	char unit[NCU_UNIT_BYTES], numbers[2][NUMBER_BYTES];
	char *average; /* owned */
};

static void attribute_texts(const struct summary_row *row, struct texts *ret)
{
	*ret = (struct texts){.of = {row->label, "", "", "", row->attribute}};
}

/* Format the three numbers of a row, in the unit that suits their mean. Returns 0 or -ENOMEM. */
static int row_texts(const struct summary *s, const struct summary_row *row, struct texts *ret)
{
	const char *const format = s->is_raw ? "%f" : "%.2f";
	const double mean = row->sum / (double)row->count;
	double scale = 1;
	size_t bytes;
	if (row->attribute) {
		attribute_texts(row, ret);
		return 0;
	}
	*ret = (struct texts){0};
	if (s->is_raw)
		ncu_unit(row->name, ret->unit);
	else
		details_section_unit(row->name, ret->unit);
	if (*ret->unit && !s->d->base_units)
		scale = ncu_unit_scale(ret->unit, mean);
	else if (!*ret->unit)
		snprintf(ret->unit, sizeof(ret->unit), "%s", row->unit);
	snprintf(ret->numbers[0], NUMBER_BYTES, format, row->least / scale);
	snprintf(ret->numbers[1], NUMBER_BYTES, format, row->most / scale);
	FILE *out = open_memstream(&ret->average, &bytes);
	if (!out)
		return -ENOMEM;
	fprintf(out, format, mean / scale);
	if (row->first)
		instances_print(s, row, scale, out);
	if (fclose(out)) {
		free(ret->average);
		ret->average = NULL;
		return -ENOMEM;
	}
	const char *texts[TEXTS] = {
		row->label, ret->unit, ret->numbers[0], ret->numbers[1], ret->average};
	memcpy(ret->of, texts, sizeof(texts));
	return 0;
}

/* ---- CSV ---- */

static void launches_csv(const struct summary *s, const struct summary_group *g)
{
	FILE *out = s->d->out;
	const struct ncu_process *p = &s->d->results.processes[g->process];
	const char *kernel[] = {g->kernel, g->block, g->grid};
	char number[24];
	snprintf(number, sizeof(number), "%" PRIu32, p->pid);
	csv_cell(out, true, s->by_state ? g->state.domain : number);
	csv_cell(out, false, s->by_state ? g->state.cell : details_base_name(p->path));
	if (!s->by_state)
		csv_cell(out, false, p->host);
	for (size_t i = 0; !s->by_device && i < 3; i++)
		csv_cell(out, false, kernel[i]);
	csv_format(out, "%" PRIu64, g->device);
	csv_cell(out, false, g->cc);
	for (size_t i = 0; s->by_device && i < 3; i++)
		csv_cell(out, false, kernel[i]);
	if (g->is_device)
		csv_cell(out, false, "");
	else
		csv_format(out, "%" PRIu64, g->launches);
}

static int row_csv(
	const struct summary *s, const struct summary_group *g, const struct summary_row *row)
{
	struct texts texts;
	int error = row_texts(s, row, &texts);
	if (error)
		return error;
	launches_csv(s, g);
	if (!s->is_raw)
		csv_cell(s->d->out, false, row->section);
	for (size_t i = 0; i < TEXTS; i++)
		csv_cell(s->d->out, false, texts.of[i]);
	fputc('\n', s->d->out);
	free(texts.average);
	return 0;
}

static void csv_heading(const struct summary *s)
{
	static const char *const kernel[] = {"Process ID", "Process Name", "Host Name",
		"Kernel Name", "Block Size", "Grid Size", "Device", "CC", "Invocations",
		"Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"};
	static const uint8_t device_first[] = {0, 1, 2, 6, 7, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14};
	const size_t section = 9;
	FILE *out = s->d->out;
	if (s->by_state) {
		csv_cell(out, true, "Domain");
		csv_cell(out, false, "Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg");
	}
	for (size_t i = s->by_state ? 3 : 0; i < sizeof(kernel) / sizeof(*kernel); i++)
		if (i != section || !s->is_raw)
			csv_cell(out, i == 0, kernel[s->by_device ? device_first[i] : i]);
	fputc('\n', out);
}

/* ---- text ---- */

static const char *const titles[] = {"Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"};

static bool same_table(const struct summary_row *x, const struct summary_row *y)
{
	return x->section == y->section && x->place == y->place;
}

/* Print the title above the table of a section. */
static void table_title(const struct summary *s, const struct summary_row *row,
	const struct summary_row *before, int indent)
{
	FILE *out = s->d->out;
	const bool same = before && before->section == row->section;
	if (!same)
		fprintf(out, "%*sSection: %s\n", indent, "", row->section);
	if (!row->place)
		return;
	if (!same || !before->place || before->body != row->body)
		fprintf(out, "%*s%s\n", *row->body ? indent : 0, "", row->body);
	if (*row->table)
		fprintf(out, "%*sTable Name : %s\n", indent, "", row->table);
	if (*row->description)
		fprintf(out, "%*sTable Description : %s\n", indent, "", row->description);
}

/* Print the first rows, up to the end of their table. Returns their number. */
static size_t table_print(const struct summary *s, const struct summary_row *rows, size_t count,
	int indent, int *ret_error)
{
	struct details_rows table = {
		.titles = titles, .columns = TEXTS, .left = 1, .lines = LINES_ROUND_ALL};
	size_t n = 0;
	int error = 0;
	if (s->is_raw) {
		table.left = (1u << TEXTS) - 1;
		table.lines = LINE_BELOW_TITLES;
	}
	for (; !error && n < count && same_table(&rows[0], &rows[n]); n++) {
		struct texts texts;
		error = row_texts(s, &rows[n], &texts);
		for (size_t i = 0; !error && i < TEXTS; i++)
			error = details_rows_add(&table, texts.of[i]);
		free(texts.average);
	}
	if (!error)
		details_rows_print(
			&table, s->d->out, indent, s->is_raw ? 0 : AVERAGE_COLUMNS, true);
	fputc('\n', s->d->out);
	details_rows_release(&table);
	*ret_error = error;
	return n;
}

static int sections_print(const struct summary *s, const struct summary_group *g, int indent)
{
	const struct summary_row *before = NULL;
	int error = 0;
	for (size_t i = 0; !error && i < g->count;) {
		const struct summary_row *row = &g->rows[i];
		table_title(s, row, before, indent);
		before = row;
		i += *row->name ? table_print(s, row, g->count - i, indent, &error) : 1;
	}
	return error;
}

/* Print the attributes of the device. */
static int device_print(const struct summary *s, const struct summary_group *g)
{
	static const char *const value_titles[] = {"Metric Name", "Metric Unit", "Metric Value"};
	struct details_rows table = {.titles = value_titles, .columns = 3, .left = 7};
	int error = 0;
	for (size_t i = 0; !error && i < g->count; i++) {
		const char *texts[] = {g->rows[i].label, "", g->rows[i].attribute};
		for (size_t k = 0; !error && k < 3; k++)
			error = details_rows_add(&table, texts[k]);
	}
	if (!error)
		details_rows_print(&table, s->d->out, 2, 0, true);
	fputc('\n', s->d->out);
	details_rows_release(&table);
	return error;
}

/* Print the titles of a group, without those that equal the titles of the previous group. */
static void group_title(
	const struct summary *s, const struct summary_group *g, const struct summary_group *before)
{
	FILE *out = s->d->out;
	const struct ncu_process *p = &s->d->results.processes[g->process];
	const bool same = before && before->process == g->process;
	const bool same_state =
		s->by_state && before && !nvtx_state_order(&before->state, &g->state);
	const bool same_domain =
		s->by_state && before && !strcmp(before->state.domain, g->state.domain);
	if (s->by_state && (s->is_raw ? !same_state : !same_domain))
		fprintf(out, "\n== NVTX State ==\n%s\n", g->state.domain);
	if (s->by_state && !same_state)
		fputs(g->state.lines, out);
	else if (!s->by_state && !same)
		fprintf(out, "[%" PRIu32 "] %s@%s\n", p->pid, details_base_name(p->path), p->host);
	if (s->by_device && (!same || before->device != g->device || strcmp(before->cc, g->cc)))
		fprintf(out, "  Device %" PRIu64 ", CC %s\n", g->device, g->cc);
	if (g->is_device)
		return;
	fprintf(out, "%*s%s %sx%s, ", s->by_device && !s->is_raw ? 4 : 2, "", g->kernel, g->grid,
		g->block);
	if (!s->by_device)
		fprintf(out, "Device %" PRIu64 ", CC %s, ", g->device, g->cc);
	fprintf(out, "Invocations %" PRIu64 "\n", g->launches);
}

static int group_text(
	const struct summary *s, const struct summary_group *g, const struct summary_group *before)
{
	int error = 0;
	group_title(s, g, before);
	if (g->is_device)
		return device_print(s, g);
	if (!s->is_raw)
		return sections_print(s, g, s->by_device ? 6 : 4);
	if (g->count)
		table_print(s, g->rows, g->count, s->by_state ? 0 : 2, &error);
	return error;
}

int summary_print(struct summary *s)
{
	int error = 0;
	if (s->d->csv)
		csv_heading(s);
	for (size_t i = 0; !error && i < s->count; i++) {
		struct summary_group *g = s->groups[i];
		summary_rows_sort(g);
		for (size_t k = 0; s->d->csv && !error && k < g->count; k++)
			error = *g->rows[k].name ? row_csv(s, g, &g->rows[k]) : 0;
		if (!s->d->csv)
			error = group_text(s, g, i ? s->groups[i - 1] : NULL);
	}
	if (!error && !s->d->csv && s->count)
		fputs("  Average: the arithmetic mean over the launches, of values that were "
		      "evaluated for each of them.\n\n",
			s->d->out);
	return error;
}
