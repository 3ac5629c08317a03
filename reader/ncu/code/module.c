/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - addresses and instructions of the functions of a module. */
#include "reader/ncu/code/module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/code/cubin_lines.h"

#define WIDE_SINCE_LEVEL 7u /* instructions take 16 bytes since sm_70, 8 before */

static int parts_read(struct ncu_module *m, const struct ncu_results *n)
{
	for (size_t i = 0; i < n->source_count && m->part_count < MODULE_PARTS_MAX; i++) {
		Ncu__SourceData *part;
		int error = ncu_source_read(n, i, &part);
		if (error == -EBADMSG)
			continue;
		if (error)
			return error;
		if (part->reference == m->reference)
			m->parts[m->part_count++] = part;
		else
			ncu__source_data__free_unpacked(part, NULL);
	}
	return 0;
}

/* Read the code of the first part that has code. Returns 0 or -ENOMEM. */
static int code_read(struct ncu_module *m)
{
	for (size_t i = 0; i < m->part_count; i++) {
		const Ncu__SourceData *part = m->parts[i];
		if (part->sass_level)
			m->instruction_bytes =
				(uint32_t)part->sass_level < WIDE_SINCE_LEVEL ? 8 : 16;
		if (m->has_code || !part->binary.len)
			continue;
		int error = cubin_read(&m->cubin, part->binary.data, part->binary.len);
		if (error == -ENOMEM)
			return error;
		m->has_code = !error;
		if (error)
			cubin_release(&m->cubin);
	}
	return 0;
}

/* Find the code of a function. Several functions of a module may have the same name; the index
 * of the symbol distinguishes them. */
static const struct cubin_function *code_of(
	const struct ncu_module *m, const Ncu__RelocationSymbolEntry *e)
{
	const struct cubin_function *named = NULL;
	for (size_t i = 0; i < m->cubin.function_count; i++) {
		const struct cubin_function *f = &m->cubin.functions[i];
		if (strcmp(f->name, e->symbol_name) != 0)
			continue;
		if (f->symbol == e->symbol_index)
			return f;
		named = named ? named : f;
	}
	return named;
}

static int by_address(const void *a, const void *b)
{
	const struct module_function *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static uint64_t within(uint64_t bytes, uint64_t most)
{
	return bytes < most ? bytes : most;
}

/* Add the functions whose symbols have addresses of the process, for reports that store the
 * addresses nowhere else. */
static void functions_of_symbols(struct ncu_module *m)
{
	for (size_t i = 0; i < m->cubin.function_count; i++) {
		const struct cubin_function *f = &m->cubin.functions[i];
		if (f->address)
			m->functions[m->function_count++] =
				(struct module_function){.name = f->name,
					.address = f->address,
					.bytes = within(f->bytes, m->cubin.bytes),
					.code = f};
	}
}

static int functions_place(struct ncu_module *m)
{
	size_t count = m->cubin.function_count;
	for (size_t i = 0; i < m->part_count; i++)
		if (m->parts[i]->relocation_data)
			count += m->parts[i]->relocation_data->n_functions;
	m->functions = calloc(count + 1, sizeof(*m->functions));
	if (!m->functions)
		return -ENOMEM;
	for (size_t i = 0; i < m->part_count; i++) {
		const Ncu__RelocationData *r = m->parts[i]->relocation_data;
		for (size_t k = 0; r && k < r->n_functions; k++) {
			const Ncu__RelocationSymbolEntry *e = r->functions[k];
			if (!e->symbol_name)
				continue;
			const struct cubin_function *code = m->has_code ? code_of(m, e) : NULL;
			m->functions[m->function_count++] =
				(struct module_function){.name = e->symbol_name,
					.address = e->address,
					.bytes = code ? within(code->bytes, m->cubin.bytes) : 0,
					.code = code};
		}
	}
	if (!m->function_count)
		functions_of_symbols(m);
	qsort(m->functions, m->function_count, sizeof(*m->functions), by_address);
	return 0;
}

int ncu_module_read(struct ncu_module *m, const struct ncu_results *n, uint64_t reference)
{
	*m = (struct ncu_module){.reference = reference, .instruction_bytes = 16};
	int error = parts_read(m, n);
	if (!error)
		error = code_read(m);
	return error ? error : functions_place(m);
}

void ncu_module_release(struct ncu_module *m)
{
	for (size_t i = 0; i < m->part_count; i++)
		ncu__source_data__free_unpacked(m->parts[i], NULL);
	cubin_release(&m->cubin);
	free(m->functions);
	*m = (struct ncu_module){0};
}

static bool is_same_path(const char *stored, const char *normal)
{
	char *path = strdup(stored);
	if (path)
		cubin_path_normalize(path);
	const bool same = path && !strcmp(path, normal);
	free(path);
	return same;
}

const char *ncu_module_source(const struct ncu_module *m, const char *name)
{
	for (size_t i = 0; i < m->part_count; i++) {
		const Ncu__SourceFiles *s = m->parts[i]->source_files;
		for (size_t k = 0; s && k < s->n_files; k++)
			if (s->files[k]->file_name && s->files[k]->content &&
				is_same_path(s->files[k]->file_name, name))
				return s->files[k]->content;
	}
	return NULL;
}
