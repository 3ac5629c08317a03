/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing.c - `trace details --page source --print-source ptx` and `cuda`.
 *
 * Prints texts without metrics, each once: the PTX of modules, the source files of kernels.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/pool.h"
#include "reader/ncu/pages/details.h"
#include "reader/ncu/pages/source_text.h"
#include "reader/ncu/code/module.h"

struct listing {
	struct details *d;
	struct ncu_module module; /* of the previous result, or of this one */
	bool has_module;
	struct pool pool;
	void *printed; /* tree of names: modules, files and kernels that were printed or noted */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void nothing(void *name)
{
	(void)name;
}

/* Return 1 if the name is new, else 0, or -ENOMEM. */
static int is_new(struct listing *l, const char *kind, const char *name)
{
	char *whole = pool_room(&l->pool, strlen(kind) + strlen(name) + 1);
	if (!whole)
		return -ENOMEM;
	stpcpy(stpcpy(whole, kind), name);
	const void *const *found = tsearch(whole, &l->printed, by_name);
	return !found ? -ENOMEM : *found == whole;
}

#define NUMBER_COLUMNS 9 /* "File Name", "Line No" */
#define WIDTH_MAX 1000u  /* width of the text; longer lines overflow */

static void rule_print(size_t width, FILE *out)
{
	for (size_t i = 0; i < NUMBER_COLUMNS + 1 + width; i++)
		fputc(i == NUMBER_COLUMNS ? ' ' : '-', out);
	fputc('\n', out);
}

static void text_row(const struct listing *l, size_t width, const char *first, const char *text)
{
	if (l->d->csv) {
		csv_cell(l->d->out, true, first);
		csv_cell(l->d->out, false, text);
		fputc('\n', l->d->out);
	} else {
		fprintf(l->d->out, "%-*s %-*s\n", NUMBER_COLUMNS, first, (int)width, text);
	}
}

/* Print lines under the title `name`; NULL = no title. */
static void lines_print(
	const struct listing *l, const char *name, const char *const *lines, size_t count)
{
	char number[24];
	size_t width = strlen("Source");
	for (size_t i = 0; i <= count; i++) {
		const size_t bytes = i < count ? strlen(lines[i]) : name ? strlen(name) : 0;
		width = bytes > width ? bytes : width;
	}
	width = width < WIDTH_MAX ? width : WIDTH_MAX;
	if (!l->d->csv)
		rule_print(width, l->d->out);
	if (name) {
		text_row(l, width, "File Name", name);
		if (!l->d->csv)
			rule_print(width, l->d->out);
	}
	text_row(l, width, "Line No", "Source");
	if (!l->d->csv && !name)
		rule_print(width, l->d->out);
	for (size_t i = 0; i < count; i++) {
		snprintf(number, sizeof(number), "%zu", i + 1);
		text_row(l, width, number, lines[i]);
	}
}

static int module_use(struct listing *l, uint64_t reference)
{
	if (l->has_module && l->module.reference == reference)
		return 0;
	if (l->has_module)
		ncu_module_release(&l->module);
	l->has_module = true;
	return ncu_module_read(&l->module, &l->d->results, reference);
}

/* ---- PTX ---- */

static int ptx_print(struct listing *l, const Ncu__ProfileResult *r)
{
	const struct cubin *c = &l->module.cubin;
	char reference[24];
	if (!l->module.has_code || !c->ptx_count) {
		int fresh = is_new(l, "no PTX of ", ncu_kernel_name(r));
		if (fresh > 0)
			cli_note("'%s': no PTX in the report", ncu_kernel_name(r));
		return fresh < 0 ? fresh : 0;
	}
	snprintf(reference, sizeof(reference), "%llu", (unsigned long long)l->module.reference);
	int fresh = is_new(l, "PTX of ", reference);
	if (fresh > 0)
		lines_print(l, NULL, c->ptx, c->ptx_count);
	return fresh < 0 ? fresh : 0;
}

/* ---- source files ---- */

static int file_print(struct listing *l, const char *name)
{
	struct source_text text;
	int error = is_new(l, "file ", name);
	if (error <= 0)
		return error;
	error = source_text_make(
		&text, ncu_module_source(&l->module, name), l->d->source_files, name);
	if (error)
		cli_note("cannot read source file '%s': %s", name, strerror(-error));
	else if (!text.text)
		cli_note("'%s' is not in the report; use --resolve-source-file to name it", name);
	else
		lines_print(l, text.path ? text.path : name, text.lines, text.count);
	source_text_release(&text);
	return error == -ENOMEM ? error : 0;
}

static const struct cubin_function *function_of(
	const struct ncu_module *m, const Ncu__ProfileResult *r)
{
	const char *name = r->kernel_mangled_name;
	for (size_t i = 0; name && m->has_code && i < m->cubin.function_count; i++)
		if (!strcmp(m->cubin.functions[i].name, name))
			return &m->cubin.functions[i];
	return NULL;
}

/* Print the files that the lines of the kernel's own function refer to. */
static int files_print(struct listing *l, const Ncu__ProfileResult *r)
{
	const struct cubin *c = &l->module.cubin;
	const struct cubin_function *f = function_of(&l->module, r);
	bool any = false, *done = calloc(c->file_count + 1, sizeof(*done));
	int error = done ? 0 : -ENOMEM;
	for (size_t i = 0; f && !error && i < c->lines.count; i++) {
		const struct cubin_line *line = &c->lines.list[i];
		if (line->symbol != f->symbol || !line->line || line->file >= c->file_count ||
			done[line->file])
			continue;
		any = done[line->file] = true;
		error = file_print(l, c->files[line->file]);
	}
	free(done);
	if (!error && !any) {
		error = is_new(l, "no lines of ", ncu_kernel_name(r));
		if (error > 0)
			cli_note("'%s': no source lines; compile with -lineinfo",
				ncu_kernel_name(r));
		error = error < 0 ? error : 0;
	}
	return error;
}

static int print_result(struct details *d, size_t id, const Ncu__ProfileResult *r, void *user)
{
	struct listing *l = user;
	(void)id;
	int error = module_use(l, r->source ? r->source->reference : 0);
	if (error)
		return error;
	return d->source_view == SOURCE_PTX ? ptx_print(l, r) : files_print(l, r);
}

int details_listing(struct details *d)
{
	struct listing *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->d = d;
	int error = details_each(d, print_result, l);
	if (l->has_module)
		ncu_module_release(&l->module);
	tdestroy(l->printed, nothing);
	pool_release(&l->pool);
	free(l);
	return error;
}
