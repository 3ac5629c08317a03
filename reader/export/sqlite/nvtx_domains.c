/* SPDX-License-Identifier: Apache-2.0 */
/* nvtx_domains.c - numbers of NVTX domains, rows of names, and payloads. */
#define _GNU_SOURCE
#include "reader/export/sqlite/nvtx_domains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/utf8.h"
#include "reader/export/sqlite/export_state.h"
#include "reader/nvtx/decode.h"

/* ENUM_NSYS_EVENT_TYPE */
enum { NSYS_CATEGORY = 33, NSYS_THREAD = 39, NSYS_DOMAIN_CREATE = 75, NSYS_DOMAIN_DESTROY = 76 };

void nvtx_domains_report_begin(struct sqlite_export *x)
{
	nvtx_payloads_init(&x->nvtx.payloads, &x->contents);
}

void nvtx_domains_report_end(struct nvtx_domains *n)
{
	nvtx_payloads_release(&n->payloads);
	map_release(&n->ids);
	n->count = 0;
}

void nvtx_domains_release(struct nvtx_domains *n)
{
	free(n->created);
	free(n->json);
}

static int created_note(struct sqlite_export *x, const struct event_batch *batch)
{
	struct decoded_batch b;
	if (batch->kind != KIND_NVTX_NAME)
		return 0;
	int error = batch_decode(x, batch, &b);
	if (error)
		return error == -EBADMSG ? 0 : error;
	const int64_t *what = decoded_column(&b, FIELD_NVTX_NAME_WHAT),
		      *name = decoded_column(&b, FIELD_NVTX_NAME_NAME);
	for (uint32_t i = 0; i < batch->count; i++) {
		if (what[i] != NAMED_DOMAIN)
			continue;
		if (array_room(&x->nvtx.created, x->nvtx.count, &x->nvtx.capacity,
			    sizeof(*x->nvtx.created)))
			return -ENOMEM;
		x->nvtx.created[x->nvtx.count++] = (struct created_domain){
			(uint64_t)b.columns[0][i], batch->process, (uint32_t)name[i]};
	}
	return 0;
}

int nvtx_domains_collect(struct sqlite_export *x, const struct event_batch *batch)
{
	int error = created_note(x, batch);
	return error ? error : nvtx_payloads_take(&x->nvtx.payloads, batch);
}

static int compare_times(const void *a, const void *b)
{
	const struct created_domain *x = a, *y = b;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

int nvtx_domains_number(struct sqlite_export *x)
{
	int error = 0;
	nvtx_payloads_ready(&x->nvtx.payloads);
	if (x->nvtx.count)
		qsort(x->nvtx.created, x->nvtx.count, sizeof(*x->nvtx.created), compare_times);
	for (uint32_t i = 0; !error && i < x->nvtx.count; i++) {
		uint32_t id;
		const struct created_domain *d = &x->nvtx.created[i];
		const struct process *p = process_find(&x->contents.processes, d->process);
		error = nvtx_domain_id(x, global_id(&x->threads, p, 0), d->name, &id);
	}
	x->nvtx.count = 0;
	return error;
}

int nvtx_payload_json(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row,
	int64_t payload, struct cell *v)
{
	size_t bytes = 0;
	const uint32_t kind = b->event->number;
	const uint32_t domain = kind == KIND_NVTX_MARK ? (uint32_t)FIELD_NVTX_MARK_DOMAIN
		: kind == KIND_NVTX_RANGE              ? (uint32_t)FIELD_NVTX_RANGE_DOMAIN
						       : (uint32_t)FIELD_NVTX_START_END_DOMAIN;
	const struct nvtx_payload_ref reference = {.use = NVTX_USE_EVENT,
		.process = b->batch->process,
		.domain = (uint32_t)decoded_column(b, domain)[row],
		.payload = (uint64_t)payload};
	free(x->nvtx.json);
	x->nvtx.json = NULL;
	FILE *out = open_memstream(&x->nvtx.json, &bytes);
	if (!out)
		return -ENOMEM;
	nvtx_payload_print(out, &x->nvtx.payloads, &reference);
	if (fclose(out) || !x->nvtx.json)
		return -ENOMEM;
	*v = (struct cell){CELL_TEXT, (uint32_t)(bytes < UINT32_MAX ? bytes : UINT32_MAX),
		{.text = x->nvtx.json}};
	return 0;
}

/* A row of NVTX_EVENTS for a row of NVTX_NAME. */
struct name_row {
	int64_t start, type, category, global_tid, domain;
	const char *text;
	uint32_t text_bytes;
};

static int name_put(struct sqlite_export *x, const struct name_row *n)
{
	struct cell values[NSYS_COLUMNS] = {{.kind = CELL_NULL}};
	const struct {
		const char *column;
		int64_t number;
	} numbers[] = {{"start", n->start}, {"eventType", n->type}, {"globalTid", n->global_tid},
		{"domainId", n->domain}, {"category", n->category}};
	const uint32_t count = n->type == NSYS_CATEGORY ? 5 : 4;
	for (uint32_t i = 0; i < count; i++)
		values[nsys_column(NSYS_NVTX_EVENTS, numbers[i].column)] =
			(struct cell){.kind = CELL_INTEGER, .integer = numbers[i].number};
	if (n->text)
		values[nsys_column(NSYS_NVTX_EVENTS, "text")] =
			(struct cell){.kind = CELL_TEXT, .text = n->text, .bytes = n->text_bytes};
	int error = bulk_table_row(&x->nsys.tables[NSYS_NVTX_EVENTS], values);
	return error;
}

/* Add the row of a domain whose creation is not in the report: a domain that a forked child
 * inherited, or a domain of an imported file. */
static int domain_put(struct sqlite_export *x, int64_t global_pid, uint32_t name, uint32_t id)
{
	struct string_ref ref = string_table_get(&x->contents.strings, name);
	size_t bytes = utf8_clean_bytes(ref.text, ref.bytes);
	char *text = malloc(bytes + 1); /* the current row may already use text_of_string() */
	if (!text)
		return -ENOMEM;
	utf8_clean(ref.text, ref.bytes, text);
	int error = name_put(x,
		&(struct name_row){.type = NSYS_DOMAIN_CREATE,
			.global_tid = global_pid,
			.domain = id,
			.text = text,
			.text_bytes = (uint32_t)bytes});
	free(text);
	return error;
}

int nvtx_domain_id(struct sqlite_export *x, int64_t global_pid, uint32_t name, uint32_t *ret_id)
{
	uint32_t text = 0;
	*ret_id = 0;
	if (!string_table_get(&x->contents.strings, name).bytes)
		return 0;
	int error = text_id_of_string(&x->texts, name, &text);
	if (error)
		return error;
	*ret_id = map_get(&x->nvtx.ids, (uint64_t)global_pid, text);
	if (*ret_id)
		return 0;
	*ret_id = map_get(&x->nvtx.ids, (uint64_t)global_pid, UINT64_MAX) + 1;
	error = map_put(&x->nvtx.ids, (uint64_t)global_pid, text, *ret_id);
	if (!error)
		error = map_put(&x->nvtx.ids, (uint64_t)global_pid, UINT64_MAX, *ret_id);
	return error || x->nvtx.count ? error : domain_put(x, global_pid, name, *ret_id);
}

static int name_row(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row)
{
	const int64_t what = decoded_column(b, FIELD_NVTX_NAME_WHAT)[row],
		      identifier = decoded_column(b, FIELD_NVTX_NAME_IDENTIFIER)[row],
		      domain = decoded_column(b, FIELD_NVTX_NAME_DOMAIN)[row],
		      name = decoded_column(b, FIELD_NVTX_NAME_NAME)[row],
		      pid = b->global_tid & ~INT64_C(0xffffff);
	const bool of_domain = what == NAMED_DOMAIN || what == NAMED_DOMAIN_END;
	struct name_row n = {.start = export_time(x, (uint64_t)b->columns[0][row]),
		.global_tid = b->global_tid,
		.category = identifier};
	uint32_t id = 0;
	int error = 0;
	if (what == NAMED_THREAD) {
		n.type = NSYS_THREAD;
		n.global_tid = pid | (identifier & 0xffffff);
		error = thread_name_note(&x->threads, &x->texts, n.global_tid, (uint32_t)name,
			(uint64_t)b->columns[0][row], true);
	} else if (what == NAMED_CATEGORY) {
		n.type = NSYS_CATEGORY;
	} else if (of_domain) {
		n.type = what == NAMED_DOMAIN ? NSYS_DOMAIN_CREATE : NSYS_DOMAIN_DESTROY;
	} else {
		return 0;
	}
	if (!error)
		error = nvtx_domain_id(x, pid, (uint32_t)(of_domain && name ? name : domain), &id);
	if (error)
		return error;
	n.domain = id;
	if (what != NAMED_DOMAIN_END) {
		n.text = text_of_string(&x->texts, (uint32_t)name, &n.text_bytes);
		if (!n.text)
			return -ENOMEM;
	}
	return name_put(x, &n);
}

int nvtx_name_rows(struct sqlite_export *x, const struct decoded_batch *b)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++)
		error = name_row(x, b, i);
	return error;
}
