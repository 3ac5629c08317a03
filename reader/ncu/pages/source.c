/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.c - `trace details --page source`: metrics by instruction and source line.
 *
 * Covers the functions that a kernel ran.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/pages/details.h"
#include "reader/ncu/pages/source_table.h"
#include "reader/ncu/pages/source_text.h"
#include "reader/ncu/code/nvdisasm.h"

#define TEXT_COLUMNS_MAX 16u /* columns of details_rows */
#define JOINED_BYTES 256u

struct source_page {
	struct details *d;
	struct ncu_module module; /* of the previous result, or of this one */
	bool has_module;
	struct nvdisasm code;
	struct source_columns columns;
	/* the current function */
	const Ncu__ProfileResult *result;
	const struct module_function *function;
	struct source_table table;
	struct details_rows rows;
	size_t shown; /* number of columns of metrics: text may not have room for all */
	bool first;   /* the next cell is the first of its row */
	int error;
};

/* ---- rows, as CSV or in a table ---- */

static void cell(struct source_page *p, const char *text)
{
	if (p->d->csv)
		csv_cell(p->d->out, p->first, text);
	else if (!p->error)
		p->error = details_rows_add(&p->rows, text);
	p->first = false;
}

static void row_end(struct source_page *p)
{
	if (p->d->csv)
		fputc('\n', p->d->out);
	p->first = true;
}

/* Write the names of the bits, or the number itself if a bit has no name. */
static void flags_text(const struct source_flag *flags, double number, char text[JOINED_BYTES])
{
	uint32_t left = number >= 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
	size_t used = 0;
	*text = 0;
	for (; flags->bit; flags++)
		if (left & flags->bit) {
			used += (size_t)snprintf(text + used, JOINED_BYTES - used, "%s%s",
				used ? "," : "", flags->name);
			left &= ~flags->bit;
		}
	if (left & ~1u) /* ncu prints nothing for the lowest bit either */
		snprintf(text + used, JOINED_BYTES - used, "%s%" PRIu32, used ? "," : "", left);
}

static void value_cell(
	struct source_page *p, const struct source_column *column, const struct source_cell *c)
{
	char text[JOINED_BYTES];
	if (column->is_text) {
		cell(p, c->text && *c->text ? c->text : "-");
	} else if (column->flags && !c->is_known) {
		cell(p, "-");
	} else if (column->flags) {
		flags_text(column->flags, c->number, text);
		cell(p, text);
	} else {
		ncu_number_text(c->number, text);
		cell(p, text);
	}
}

/* ---- instructions ---- */

/* Print the instruction of a row, with the address that a jump leads to in place of its label. */
static void code_cell(struct source_page *p, size_t row)
{
	const struct cubin_function *code = p->function->code;
	char *text = NULL;
	int error = code
		? nvdisasm_text(&p->code, code->section, code->offset + row * p->table.step,
			  p->table.address - code->offset, &text)
		: 0;
	cell(p, text ? text : "");
	free(text);
	if (!p->error)
		p->error = error;
}

static void instruction_row(struct source_page *p, size_t row, bool with_line)
{
	char address[32];
	snprintf(address, sizeof(address), "0x%" PRIx64, p->table.address + row * p->table.step);
	if (with_line) {
		cell(p, "");
		cell(p, "");
	}
	cell(p, address);
	code_cell(p, row);
	for (size_t i = 0; i < p->shown; i++)
		value_cell(p, &p->columns.list[i], source_table_at(&p->table, row, i));
	row_end(p);
}

/* ---- source lines ---- */

struct line_row {
	const struct cubin_line *line;
	size_t row;
};

static int by_line(const void *a, const void *b)
{
	const struct line_row *x = a, *y = b;
	if (x->line->file != y->line->file)
		return x->line->file < y->line->file ? -1 : 1;
	if (x->line->line != y->line->line)
		return x->line->line < y->line->line ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static void text_join(char joined[JOINED_BYTES], const char *text)
{
	const size_t used = strlen(joined);
	if (text && *text && !strstr(joined, text))
		snprintf(joined + used, JOINED_BYTES - used, "%s%s", used ? ", " : "", text);
}

/* Print the value of a line in a column: the sum or mean of its instructions, all their bits, or
 * each text. */
static void line_cell(
	struct source_page *p, const struct line_row *rows, size_t count, size_t column)
{
	const struct source_column *as = &p->columns.list[column];
	char joined[JOINED_BYTES] = "";
	struct source_cell all = {.text = joined};
	uint32_t bits = 0;
	for (size_t k = 0; k < count; k++) {
		const struct source_cell *c = source_table_at(&p->table, rows[k].row, column);
		all.number += c->number;
		all.is_known |= c->is_known;
		if (as->flags && c->number >= 0 && c->number <= UINT32_MAX)
			bits |= (uint32_t)c->number;
		text_join(joined, c->text);
	}
	if (as->flags)
		all.number = bits;
	else if (as->is_mean)
		all.number /= (double)count;
	value_cell(p, as, &all);
}

static void line_row(struct source_page *p, const struct line_row *rows, size_t count,
	const struct source_text *text)
{
	char number[32];
	snprintf(number, sizeof(number), "%" PRIu32, rows->line->line);
	cell(p, number);
	cell(p, source_text_line(text, rows->line->line));
	cell(p, "-");
	cell(p, "-");
	for (size_t i = 0; i < p->shown; i++)
		line_cell(p, rows, count, i);
	row_end(p);
}

/* Print a row between instructions that are not adjacent. */
static void gap_row(struct source_page *p)
{
	cell(p, "");
	cell(p, "");
	cell(p, "...");
	cell(p, "...");
	for (size_t i = 0; i < p->shown; i++)
		cell(p, "-");
	row_end(p);
}

/* Print a line and its instructions. */
static void line_print(struct source_page *p, const struct line_row *rows, size_t count,
	const struct source_text *text)
{
	line_row(p, rows, count, text);
	for (size_t i = 0; !p->error && i < count; i++) {
		if (i && rows[i].row != rows[i - 1].row + 1)
			gap_row(p);
		instruction_row(p, rows[i].row, true);
	}
}

/* ---- a function ---- */

static void heading_print(struct source_page *p, const char *title, const char *value)
{
	if (p->d->csv) {
		csv_cell(p->d->out, true, title);
		csv_cell(p->d->out, false, value);
		fputc('\n', p->d->out);
	} else {
		fprintf(p->d->out, "    %s: %s\n", title, value);
	}
}

static const char *function_name(const struct source_page *p)
{
	const char *mangled = p->result->kernel_mangled_name;
	return mangled && !strcmp(mangled, p->function->name) ? ncu_kernel_name(p->result)
							      : p->function->name;
}

/* Write the titles of the columns, which must live until details_rows prints them. */
static size_t titles_make(struct source_page *p, bool with_line, const char **titles)
{
	size_t count = 0;
	if (with_line) {
		titles[count++] = "Line No";
		titles[count++] = "Source";
	}
	titles[count++] = "Address";
	titles[count++] = "Source";
	p->shown = p->columns.count;
	if (!p->d->csv && p->shown > TEXT_COLUMNS_MAX - count)
		p->shown = TEXT_COLUMNS_MAX - count;
	for (size_t i = 0; i < p->shown; i++)
		titles[count++] = p->columns.list[i].label;
	return count;
}

static void rows_begin(struct source_page *p, const char **titles, bool with_line)
{
	const size_t count = titles_make(p, with_line, titles);
	p->first = true;
	p->rows = (struct details_rows){.titles = titles,
		.columns = count,
		.left = with_line ? 10 : 3,
		.lines = LINES_ROUND_ALL};
	for (size_t i = 0; p->d->csv && i < count; i++)
		csv_cell(p->d->out, i == 0, titles[i]);
	if (p->d->csv)
		fputc('\n', p->d->out);
}

static void rows_end(struct source_page *p)
{
	if (!p->error && !p->d->csv && p->rows.count) {
		details_rows_print(&p->rows, p->d->out, 4, 0, false);
		fputc('\n', p->d->out);
	}
	details_rows_release(&p->rows);
}

static void instructions_print(struct source_page *p)
{
	const char *titles[SOURCE_COLUMNS_MAX + 4];
	const char *kernel = ncu_kernel_name(p->result), *name = function_name(p);
	heading_print(p, "Kernel Name", kernel);
	if (strcmp(kernel, name) != 0)
		heading_print(p, "Function Name", name);
	rows_begin(p, titles, false);
	for (size_t i = 0; !p->error && i < p->table.rows; i++)
		instruction_row(p, i, false);
	rows_end(p);
}

/* Print the lines of one file. */
static void file_print(struct source_page *p, const struct line_row *rows, size_t count)
{
	const char *titles[SOURCE_COLUMNS_MAX + 4];
	const char *name = p->module.cubin.files[rows->line->file];
	struct source_text text;
	int error = source_text_make(
		&text, ncu_module_source(&p->module, name), p->d->source_files, name);
	if (error)
		cli_note("cannot read source file '%s': %s", name, strerror(-error));
	heading_print(p, "File Path", name);
	heading_print(p, "Function Name", function_name(p));
	rows_begin(p, titles, true);
	for (size_t i = 0, next; !p->error && i < count; i = next) {
		next = i + 1;
		while (next < count && rows[next].line->line == rows[i].line->line)
			next++;
		line_print(p, rows + i, next - i, &text);
	}
	rows_end(p);
	source_text_release(&text);
}

static void lines_print(struct source_page *p)
{
	const struct cubin_function *code = p->function->code;
	struct line_row *rows = calloc(p->table.rows + 1, sizeof(*rows));
	size_t count = 0;
	if (!rows) {
		p->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; code && i < p->table.rows; i++) {
		const struct cubin_line *line =
			cubin_line_at(&p->module.cubin, code, i * p->table.step);
		if (line)
			rows[count++] = (struct line_row){line, i};
	}
	if (!count)
		cli_note("'%s': no source lines; compile with -lineinfo", function_name(p));
	else
		qsort(rows, count, sizeof(*rows), by_line);
	for (size_t i = 0, next; !p->error && i < count; i = next) {
		next = i + 1;
		while (next < count && rows[next].line->file == rows[i].line->file)
			next++;
		file_print(p, rows + i, next - i);
	}
	free(rows);
}

static bool is_own_function(const struct source_page *p, const struct module_function *f)
{
	const char *mangled = p->result->kernel_mangled_name;
	return mangled && !strcmp(mangled, f->name);
}

/* Return whether ncu prints the function of a result without metrics by instruction: other kernels
 * and helper functions of the compiler are left out. */
static bool is_listed(const struct module_function *f)
{
	return f->code && !f->code->is_kernel && !f->code->is_local;
}

/* Print a function. Functions that the kernel did not run have no values and are skipped; the
 * kernel's own function is always printed. */
static void function_print(struct source_page *p, const struct module_function *f)
{
	p->function = f;
	p->error = source_table_fill(&p->table, &p->columns, f, p->module.instruction_bytes);
	if (!p->error && p->table.rows &&
		(p->table.is_used || is_own_function(p, f) ||
			(!p->columns.count && is_listed(f)))) {
		if (p->d->source_view == SOURCE_LINES)
			lines_print(p);
		else
			instructions_print(p);
	}
	source_table_release(&p->table);
}

/* ---- a result ---- */

static void module_release(struct source_page *p)
{
	if (p->has_module)
		ncu_module_release(&p->module);
	nvdisasm_release(&p->code);
	p->has_module = false;
}

static int module_use(struct source_page *p, uint64_t reference)
{
	static bool was_printed;
	if (p->has_module && p->module.reference == reference)
		return 0;
	module_release(p);
	p->has_module = true;
	int error = ncu_module_read(&p->module, &p->d->results, reference);
	if (error || !p->module.has_code)
		return error;
	error = nvdisasm_run(&p->code, &p->module.cubin);
	if (error && error != -ENOMEM && !was_printed) {
		cli_note(error == -ENOENT
				? "instructions have no text, since nvdisasm is not installed"
				: "instructions have no text, since nvdisasm failed");
		was_printed = true;
	}
	return error == -ENOMEM ? error : 0;
}

/* Return the kernel as one function, from the first address that has a value, for reports that do
 * not store the addresses of functions. */
static struct module_function whole_kernel(const struct source_page *p)
{
	const Ncu__ProfileMetricResult *m = p->columns.list[0].metrics[0];
	struct module_function f = {.name = p->result->kernel_mangled_name, .address = UINT64_MAX};
	for (size_t i = 0; i < m->n_metric_value_list; i++) {
		const Ncu__ProfileMetricValue *id = m->metric_value_list[i]->correlation_id;
		if (id && id->uint64_value < f.address)
			f.address = id->uint64_value;
	}
	f.name = f.name ? f.name : "";
	return f;
}

static int by_symbol(const void *a, const void *b)
{
	const struct module_function *const *x = a, *const *y = b;
	const uint32_t first = (*x)->code ? (*x)->code->symbol : 0;
	const uint32_t second = (*y)->code ? (*y)->code->symbol : 0;
	return first < second ? -1 : first > second;
}

/* Print the functions of the module in order of address, or, if there are no metrics, in order of
 * symbol, as ncu does. */
static void functions_print(struct source_page *p)
{
	const size_t count = p->module.function_count;
	const struct module_function **order = calloc(count + 1, sizeof(const void *));
	p->error = order ? 0 : -ENOMEM;
	for (size_t i = 0; order && i < count; i++)
		order[i] = &p->module.functions[i];
	if (order && !p->columns.count)
		qsort(order, count, sizeof(const void *), by_symbol);
	for (size_t i = 0; !p->error && i < count; i++)
		function_print(p, order[i]);
	free(order);
}

static int print_result(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	struct source_page *p = user;
	p->result = r;
	p->error = source_columns_make(&p->columns, &d->results, r);
	if (!p->error && !d->csv)
		details_text_launch(d, id, r);
	if (!p->error)
		p->error = module_use(p, r->source ? r->source->reference : 0);
	if (!p->error && p->columns.count && !p->module.function_count) {
		const struct module_function whole = whole_kernel(p);
		function_print(p, &whole);
	}
	if (!p->error && !p->columns.count && !p->module.function_count)
		cli_note("result %zu has neither metrics by instruction nor instructions", id);
	if (!p->error)
		functions_print(p);
	source_columns_release(&p->columns);
	return p->error;
}

int details_source(struct details *d)
{
	struct source_page *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->d = d;
	int error = details_each(d, print_result, p);
	module_release(p);
	free(p);
	return error;
}
