/* SPDX-License-Identifier: Apache-2.0 */
/* modules.c - modules of a process by address and time. */
#include "reader/symbols/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/file/schema.h"

/* Maximum number of distinct start addresses examined below an address. Few files overlap at
 * different times. */
#define BEGINS_MAX 4096u

void module_map_release(struct module_map *m)
{
	free(m->modules);
	free(m->ends);
	*m = (struct module_map){0};
}

static int add_load(
	struct module_map *m, uint32_t row, const struct event_batch *b, const int64_t *v)
{
	struct module *module = &m->modules[m->count];
	*module = (struct module){
		.from_ns = (uint64_t)v[row],
		.begin = (uint64_t)v[b->count + row],
		.end = (uint64_t)v[2 * b->count + row],
		.bias = (uint64_t)v[3 * b->count + row],
		.path = (uint32_t)v[4 * b->count + row],
		.build_id = (uint32_t)v[5 * b->count + row],
	};
	bool holds = module->begin < module->end;
	m->count += holds;
	return holds ? 0 : -EBADMSG;
}

static int rows_take(struct module_map *m, const struct event_batch *b, int64_t *values)
{
	static const uint32_t fields[] = {FIELD_MODULE_LOAD_START, FIELD_MODULE_LOAD_BEGIN,
		FIELD_MODULE_LOAD_END, FIELD_MODULE_LOAD_BIAS, FIELD_MODULE_LOAD_PATH,
		FIELD_MODULE_LOAD_BUILD_ID};
	bool load = b->kind == KIND_MODULE_LOAD;
	int error;
	_Static_assert((int)FIELD_MODULE_LOAD_BEGIN == (int)FIELD_MODULE_UNLOAD_BEGIN, "fields");
	error = event_batch_columns(b, fields, load ? 6 : 2, values);
	if (error)
		return error;
	for (uint32_t i = 0; i < b->count; i++)
		if (!load)
			m->ends[m->end_count++] = (struct module_end){
				(uint64_t)values[b->count + i], (uint64_t)values[i]};
		else if (add_load(m, i, b, values))
			error = -EBADMSG;
	return error;
}

int module_map_add(
	struct module_map *m, const struct event_batch *b, uint32_t *room, const char **ret_cause)
{
	*ret_cause = "too many modules of a process";
	if (b->count > *room)
		return -EBADMSG;
	*room -= b->count;
	bool load = b->kind == KIND_MODULE_LOAD;
	if (load ? array_reserve(&m->modules, &m->capacity, (uint64_t)m->count + b->count,
			   sizeof(*m->modules))
		 : array_reserve(&m->ends, &m->end_capacity, (uint64_t)m->end_count + b->count,
			   sizeof(*m->ends)))
		return -ENOMEM;
	m->sorted = false;
	int64_t *values = malloc(((size_t)b->count * 6 + 1) * sizeof(*values));
	int error = values ? rows_take(m, b, values) : -ENOMEM;
	*ret_cause = "malformed rows of modules";
	free(values);
	return error;
}

static int compare_modules(const void *a, const void *b)
{
	const struct module *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static int compare_ends(const void *a, const void *b)
{
	const struct module_end *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Set the end of each module's life: the first unload after its load, or the next load at the same
 * address. */
static void ends_set(struct module_map *m)
{
	uint32_t e = 0;
	for (uint32_t i = 0; i < m->count; i++) {
		struct module *module = &m->modules[i];
		const struct module *next = i + 1 < m->count ? module + 1 : NULL;
		while (e < m->end_count &&
			(m->ends[e].begin < module->begin ||
				(m->ends[e].begin == module->begin &&
					m->ends[e].ns < module->from_ns)))
			e++;
		module->until_ns = e < m->end_count && m->ends[e].begin == module->begin
			? m->ends[e].ns
			: UINT64_MAX;
		if (next && next->begin == module->begin && next->from_ns < module->until_ns)
			module->until_ns = next->from_ns;
	}
}

/* Join consecutive loads of the same file at the same address, which is one module to the
 * reader. */
static void same_join(struct module_map *m)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < m->count; i++) {
		struct module *last = kept ? &m->modules[kept - 1] : NULL, *module = &m->modules[i];
		if (last && last->begin == module->begin && last->end == module->end &&
			last->bias == module->bias && last->path == module->path &&
			last->build_id == module->build_id)
			last->until_ns = module->until_ns;
		else
			m->modules[kept++] = *module;
	}
	m->count = kept;
}

static void map_sort(struct module_map *m)
{
	if (m->sorted)
		return;
	if (m->count)
		qsort(m->modules, m->count, sizeof(*m->modules), compare_modules);
	if (m->end_count)
		qsort(m->ends, m->end_count, sizeof(*m->ends), compare_ends);
	ends_set(m);
	same_join(m);
	uint64_t reach = 0;
	m->reused = false;
	for (uint32_t i = 0; i < m->count; i++) {
		m->reused |= m->modules[i].begin < reach;
		reach = m->modules[i].end > reach ? m->modules[i].end : reach;
		m->modules[i].reach = reach;
	}
	m->sorted = true;
}

bool module_map_is_reused(struct module_map *m)
{
	map_sort(m);
	return m->reused;
}

/* Return the number of modules that sort at or before (begin, ns). */
static uint32_t modules_until(const struct module_map *m, uint64_t begin, uint64_t ns)
{
	uint32_t low = 0, high = m->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct module *at = &m->modules[middle];
		if (at->begin < begin || (at->begin == begin && at->from_ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Return the best match for `address` and `ns` among `best` and modules [first, end), which share a
 * start address: the latest module loaded by `ns`, else the first loaded after `ns`. */
static const struct module *better(const struct module_map *m, uint32_t first, uint32_t end,
	uint64_t address, uint64_t ns, const struct module *best)
{
	uint32_t at = modules_until(m, m->modules[first].begin, ns);
	const struct module *now = at > first ? &m->modules[at - 1] : NULL,
			    *later = at < end ? &m->modules[at] : NULL;
	bool best_holds = best && best->from_ns <= ns;
	if (now && address < now->end && ns < now->until_ns &&
		(!best_holds || now->from_ns > best->from_ns))
		return now;
	if (!best_holds && later && address < later->end &&
		(!best || later->from_ns < best->from_ns))
		return later;
	return best;
}

const struct module *module_map_find(struct module_map *m, uint64_t address, uint64_t ns)
{
	map_sort(m);
	const struct module *best = NULL;
	uint32_t end = modules_until(m, address, UINT64_MAX);
	for (uint32_t i = 0; i < BEGINS_MAX && end && m->modules[end - 1].reach > address; i++) {
		uint64_t begin = m->modules[end - 1].begin;
		uint32_t first = begin ? modules_until(m, begin - 1, UINT64_MAX) : 0;
		best = better(m, first, end, address, ns, best);
		end = first;
	}
	return best;
}

const struct module *module_map_each(
	struct module_map *m, uint64_t address, const struct module *after)
{
	map_sort(m);
	uint32_t at =
		after ? (uint32_t)(after - m->modules) : modules_until(m, address, UINT64_MAX);
	for (uint32_t i = 0; i < BEGINS_MAX && at && m->modules[at - 1].reach > address; i++)
		if (m->modules[--at].end > address)
			return &m->modules[at];
	return NULL;
}
