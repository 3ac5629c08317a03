/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - search for the code of kernels among the modules of a report. */
#include "reader/export/ncu/code.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/schema/fnv.h"
#include "reader/file/schema.h"

#define NO_MODULE UINT32_MAX

static uint64_t place_of(uint32_t process, uint32_t context)
{
	return (uint64_t)process << 32 | context;
}

/* ---- modules ---- */

static int rows_take(struct ncu_code *c, const struct event_batch *b, const int64_t *values)
{
	const int64_t *contexts = values, *hashes = values + b->count,
		      *unloads = values + 2 * (size_t)b->count;
	int error = array_reserve(
		&c->modules, &c->capacity, (uint64_t)c->count + b->count, sizeof(*c->modules));
	for (uint32_t row = 0; !error && row < b->count; row++)
		if (hashes[row] && !unloads[row])
			c->modules[c->count++] = (struct ncu_code_module){
				b->process, (uint32_t)contexts[row], (uint64_t)hashes[row] | 1};
	return error;
}

int ncu_code_collect(struct ncu_code *c, const struct event_batch *b)
{
	static const uint32_t fields[] = {FIELD_CUDA_MODULE_CONTEXT_ID,
		FIELD_CUDA_MODULE_CUBIN_HASH, FIELD_CUDA_MODULE_IS_UNLOAD};
	if (b->kind != KIND_CUDA_MODULE || !b->count)
		return 0;
	int64_t *values;
	int error = event_batch_columns_new(b, fields, 3, &values);
	if (!error)
		error = rows_take(c, b, values);
	else if (error == -EBADMSG)
		error = 0; /* a damaged batch is ignored; contents_read() reports it */
	free(values);
	return error;
}

/* ---- functions ---- */

static int functions_add(struct ncu_code *c, const Ncu__SourceData *source)
{
	const Ncu__RelocationData *r = source->relocation_data;
	int error = 0;
	for (size_t i = 0; !error && r && i < r->n_functions; i++)
		if (r->functions[i]->symbol_name)
			error = map_put(&c->functions, source->reference,
				fnv_text(r->functions[i]->symbol_name), 1);
	return error;
}

static int source_take(struct ncu_code *c, const Ncu__SourceData *source, uint32_t number)
{
	int error = map_get(&c->entries, source->reference, 0)
		? 0
		: array_room(
			  &c->sources, c->source_count, &c->source_capacity, sizeof(*c->sources));
	if (!error && !map_get(&c->entries, source->reference, 0)) {
		c->sources[c->source_count++] = number;
		error = map_put(&c->entries, source->reference, 0, 1);
	}
	return error ? error : functions_add(c, source);
}

int ncu_code_index(struct ncu_code *c, const struct ncu_results *results)
{
	int error = 0;
	c->results = results;
	for (size_t i = 0; !error && i < results->source_count && i < NO_MODULE; i++) {
		Ncu__SourceData *source;
		error = ncu_source_read(results, i, &source);
		if (error == -EBADMSG)
			error = 0;
		else if (!error) {
			error = source_take(c, source, (uint32_t)i);
			ncu__source_data__free_unpacked(source, NULL);
		}
	}
	return error;
}

uint64_t ncu_code_reference(
	struct ncu_code *c, uint32_t process, uint32_t context, uint64_t name, const char *mangled)
{
	uint64_t place = place_of(process, context), hash = fnv_text(mangled);
	uint32_t known = map_get(&c->known, place, name), i = c->count;
	if (!c->functions.count)
		return 0;
	if (known)
		return known == NO_MODULE ? 0 : c->modules[known - 1].reference;
	while (i > 0 &&
		(c->modules[i - 1].process != process || c->modules[i - 1].context != context ||
			!map_get(&c->functions, c->modules[i - 1].reference, hash)))
		i--;
	(void)map_put(&c->known, place, name, i ? i : NO_MODULE); /* on failure, the next lookup
								   * searches again */
	return i ? c->modules[i - 1].reference : 0;
}

void ncu_code_release(struct ncu_code *c)
{
	free(c->modules);
	free(c->sources);
	map_release(&c->entries);
	map_release(&c->functions);
	map_release(&c->known);
	*c = (struct ncu_code){.results = NULL};
}
