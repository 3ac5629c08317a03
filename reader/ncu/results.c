/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - index and reader of the results of a report. */
#include "reader/ncu/results.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/varint.h"
#include "reader/ncu/depth.h"
#include "reader/ncu/wire.h"
#include "reader/ncu/workload.h"

#define PROCESSES_MAX UINT16_MAX

void ncu_results_init(struct ncu_results *n, const struct report *report)
{
	*n = (struct ncu_results){.report = report};
}

void ncu_results_release(struct ncu_results *n)
{
	for (size_t i = 0; i < n->name_count; i++)
		free(n->names[i]);
	for (size_t i = 0; i < n->process_count; i++) {
		free(n->processes[i].host);
		free(n->processes[i].path);
	}
	free(n->names);
	free(n->entries);
	free(n->sources);
	free(n->processes);
	*n = (struct ncu_results){0};
}

static int name_add(struct ncu_results *n, const char *name)
{
	int error = array_room(&n->names, n->name_count, &n->name_capacity, sizeof(*n->names));
	char *copy = error ? NULL : strdup(name);
	if (!copy)
		return -ENOMEM;
	n->names[n->name_count++] = copy;
	return 0;
}

static int note_names(struct ncu_results *n, const Libtrace__StringTable *table)
{
	int error = 0;
	for (size_t i = 0; table && !error && i < table->n_strings; i++)
		error = name_add(n, table->strings[i]);
	return error;
}

int ncu_results_name(struct ncu_results *n, const char *name, uint32_t *ret_id)
{
	for (size_t i = 0; i < n->name_count; i++)
		if (!strcmp(n->names[i], name)) {
			*ret_id = (uint32_t)i;
			return 0;
		}
	*ret_id = (uint32_t)n->name_count;
	return name_add(n, name);
}

static bool is_same(const char *a, const char *b)
{
	return !strcmp(a, b ? b : "");
}

/* Find the index of the block's process, which is added at its first block. */
static int note_process(
	struct ncu_results *n, const Libtrace__ProcessInfo *info, uint16_t *ret_index)
{
	const uint32_t pid = info ? info->process_id : 0;
	const char *host = info ? info->hostname : "", *path = info ? info->process_name : "";
	for (size_t i = n->process_count; i-- > 0;)
		if (n->processes[i].pid == pid && is_same(n->processes[i].host, host) &&
			is_same(n->processes[i].path, path)) {
			*ret_index = (uint16_t)i;
			return 0;
		}
	if (n->process_count == PROCESSES_MAX)
		return -EBADMSG;
	struct ncu_process *all =
		reallocarray(n->processes, n->process_count + 1, sizeof(*n->processes));
	if (!all)
		return -ENOMEM;
	n->processes = all;
	struct ncu_process *p = &all[n->process_count];
	*p = (struct ncu_process){pid, strdup(host ? host : ""), strdup(path ? path : "")};
	*ret_index = (uint16_t)n->process_count++;
	return p->host && p->path ? 0 : -ENOMEM;
}

static int note_entry(struct ncu_results *n, const struct ncu_entry *e)
{
	int error;
	if (e->kind == NCU_SOURCE) {
		error = array_room(&n->sources, n->source_count, &n->source_capacity, sizeof(*e));
		if (!error)
			n->sources[n->source_count++] = *e;
		return error;
	}
	error = array_room(&n->entries, n->count, &n->capacity, sizeof(*e));
	if (!error)
		n->entries[n->count++] = *e;
	return error;
}

int ncu_results_note(
	struct ncu_results *n, const struct report_block *block, const char **ret_cause)
{
	const Libtrace__BlockHeader *h = block->header;
	const uint32_t counts[] = {h->num_sources, h->num_results, h->num_range_results,
		h->num_cmdlist_results, h->num_graph_results};
	uint64_t at = block->payload_offset;
	struct ncu_entry e = {0};
	*ret_cause = "too many processes";
	int error = note_names(n, h->string_table);
	if (!error)
		error = note_process(n, h->process, &e.process);
	for (uint16_t kind = NCU_SOURCE; !error && kind <= NCU_GRAPH; kind++)
		for (uint32_t i = 0; !error && i < counts[kind]; i++) {
			uint32_t bytes;
			*ret_cause = "entry reaches past the end of its block";
			if (block->end - at < 4)
				return -EBADMSG;
			error = source_read(&n->report->source, at, &bytes, 4);
			e.kind = kind;
			e.offset = at + 4;
			e.bytes = le32toh(bytes);
			if (!error && e.bytes > block->end - e.offset)
				return -EBADMSG;
			at = e.offset + e.bytes;
			if (!error)
				error = note_entry(n, &e);
		}
	return error;
}

static int entry_load(const struct ncu_results *n, const struct ncu_entry *e, uint8_t **ret_bytes)
{
	uint8_t *bytes = malloc(e->bytes + 1u);
	int error = bytes ? source_read(&n->report->source, e->offset, bytes, e->bytes) : -ENOMEM;
	*ret_bytes = bytes;
	if (error) {
		free(bytes);
		*ret_bytes = NULL;
	}
	return error;
}

int ncu_entry_load(const struct ncu_results *n, size_t i, uint8_t **ret_bytes)
{
	return entry_load(n, &n->entries[i], ret_bytes);
}

static int unpack(const uint8_t *bytes, size_t count, Ncu__ProfileResult **ret_result)
{
	*ret_result = message_depth_is_sane(&ncu__profile_result__descriptor, bytes, count)
		? ncu__profile_result__unpack(NULL, count, bytes)
		: NULL;
	return *ret_result ? 0 : -EBADMSG;
}

/* Load entry `i` as the bytes of a ProfileResult. */
static int result_load(
	const struct ncu_results *n, size_t i, uint8_t **ret_bytes, size_t *ret_count)
{
	const struct ncu_entry *e = &n->entries[i];
	int error = ncu_entry_load(n, i, ret_bytes);
	*ret_count = e->bytes;
	if (error || e->kind == NCU_RESULT)
		return error;
	uint8_t *own = *ret_bytes;
	*ret_bytes = NULL;
	error = ncu_workload_recast(
		(enum ncu_entry_kind)e->kind, own, e->bytes, ret_bytes, ret_count);
	free(own);
	return error;
}

int ncu_result_read(const struct ncu_results *n, size_t i, Ncu__ProfileResult **ret_result)
{
	uint8_t *bytes;
	size_t count;
	*ret_result = NULL;
	int error = result_load(n, i, &bytes, &count);
	if (error)
		return error;
	error = unpack(bytes, count, ret_result);
	free(bytes);
	return error;
}

/* Field numbers of ProfileResult. */
enum { RESULT_METRICS = 13, RESULT_SECTIONS = 17, RESULT_RULES = 19 };

#define TAG(field, type) ((field) << 3 | (type))

/* Return whether the NameId of this metric is wanted. Writers put the NameId first, so mostly no
 * other field is read. */
static bool is_wanted(
	const struct ncu_results *n, const uint8_t *metrics, const uint8_t *at, const uint8_t *end)
{
	struct wire_field f = {.number = 0};
	if (end - at > 2 && at[0] == TAG(1, WIRE_VARINT))
		f.number = varint_get(at + 1, end, &f.value) ? 1 : 0;
	else
		while (f.number != 1 && wire_next(&at, end, &f) > 0)
			;
	return f.number == 1 && f.value < n->name_count && metrics[f.value / 8] >> f.value % 8 & 1;
}

/* Skip metrics that are not wanted, which are most of a result. */
static const uint8_t *unwanted_skip(
	const struct ncu_results *n, const uint8_t *metrics, const uint8_t *at, const uint8_t *end)
{
	while (at < end && *at == TAG(RESULT_METRICS, WIRE_BYTES)) {
		uint64_t bytes;
		const uint8_t *inner = varint_get(at + 1, end, &bytes);
		if (!inner || bytes > (uint64_t)(end - inner) ||
			is_wanted(n, metrics, inner, inner + bytes))
			break;
		at = inner + bytes;
	}
	return at;
}

/* Move the wanted fields to the front. Returns the number of remaining bytes, or -EBADMSG. */
static int64_t keep_wanted(
	const struct ncu_results *n, const uint8_t *metrics, uint8_t *bytes, size_t count)
{
	const uint8_t *at = bytes;
	struct wire_field f;
	size_t kept = 0;
	int more;
	for (;;) {
		at = unwanted_skip(n, metrics, at, bytes + count);
		more = wire_next(&at, bytes + count, &f);
		if (more <= 0)
			break;
		if (f.type == WIRE_BYTES &&
			(f.number == RESULT_SECTIONS || f.number == RESULT_RULES))
			continue;
		memmove(bytes + kept, f.start, (size_t)(f.end - f.start));
		kept += (size_t)(f.end - f.start);
	}
	return more < 0 ? more : (int64_t)kept;
}

int ncu_result_read_some(const struct ncu_results *n, size_t i, const uint8_t *metrics,
	Ncu__ProfileResult **ret_result)
{
	uint8_t *bytes;
	size_t count;
	*ret_result = NULL;
	int error = result_load(n, i, &bytes, &count);
	if (error)
		return error;
	int64_t kept = keep_wanted(n, metrics, bytes, count);
	error = kept < 0 ? -EBADMSG : unpack(bytes, (size_t)kept, ret_result);
	free(bytes);
	return error;
}

int ncu_source_load(const struct ncu_results *n, size_t i, uint8_t **ret_bytes)
{
	return entry_load(n, &n->sources[i], ret_bytes);
}

int ncu_source_read(const struct ncu_results *n, size_t i, Ncu__SourceData **ret_source)
{
	uint8_t *bytes;
	int error = ncu_source_load(n, i, &bytes);
	if (error)
		return error;
	const size_t count = n->sources[i].bytes;
	*ret_source = message_depth_is_sane(&ncu__source_data__descriptor, bytes, count)
		? ncu__source_data__unpack(NULL, count, bytes)
		: NULL;
	free(bytes);
	return *ret_source ? 0 : -EBADMSG;
}

const char *ncu_kernel_name(const Ncu__ProfileResult *r)
{
	const char *name = r->kernel_demangled_name;
	if (!name || !*name)
		name = r->kernel_function_name;
	return name ? name : "";
}
