/* NVTX: numbers of domains, and the rows that tell names. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/utf8.h"
#include "reader/export/sqlite_writing.h"
#include "reader/nvtx/decode.h"

/* ENUM_NSYS_EVENT_TYPE */
enum { NSYS_CATEGORY = 33, NSYS_THREAD = 39, NSYS_DOMAIN_CREATE = 75, NSYS_DOMAIN_DESTROY = 76 };

int nvtx_domains_collect(struct writing *w, const struct event_batch *batch)
{
	struct writing_batch b;
	if (batch->kind != KIND_NVTX_NAME)
		return 0;
	int error = writing_decode(w, batch, &b);
	if (error)
		return error == -EBADMSG ? 0 : error;
	const int64_t *what = writing_column(&b, FIELD_NVTX_NAME_WHAT),
		      *name = writing_column(&b, FIELD_NVTX_NAME_NAME);
	for (uint32_t i = 0; i < batch->count; i++) {
		if (what[i] != NAMED_DOMAIN)
			continue;
		if (array_room(&w->domain_list, w->domain_count, &w->domain_capacity,
			    sizeof(*w->domain_list)))
			return -ENOMEM;
		w->domain_list[w->domain_count++] = (struct writing_domain){
			(uint64_t)b.columns[0][i], batch->process, (uint32_t)name[i]};
	}
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	const struct writing_domain *x = a, *y = b;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

int nvtx_domains_number(struct writing *w)
{
	int error = 0;
	if (w->domain_count)
		qsort(w->domain_list, w->domain_count, sizeof(*w->domain_list), compare_times);
	for (uint32_t i = 0; !error && i < w->domain_count; i++) {
		uint32_t id;
		const struct writing_domain *d = &w->domain_list[i];
		const struct process *p = process_find(&w->contents.processes, d->process);
		error = nvtx_domain(w, writing_global(w, p, 0), d->name, &id);
	}
	w->domain_count = 0;
	return error;
}

int nvtx_json(struct writing *w, const struct writing_batch *b, uint32_t row, int64_t payload,
	struct page_value *v)
{
	size_t bytes = 0;
	const uint32_t kind = b->event->number;
	const uint32_t domain = kind == KIND_NVTX_MARK ? (uint32_t)FIELD_NVTX_MARK_DOMAIN
		: kind == KIND_NVTX_RANGE              ? (uint32_t)FIELD_NVTX_RANGE_DOMAIN
						       : (uint32_t)FIELD_NVTX_START_END_DOMAIN;
	const struct nvtx_payload_ref reference = {.use = NVTX_USE_EVENT,
		.process = b->batch->process,
		.domain = (uint32_t)writing_column(b, domain)[row],
		.payload = (uint64_t)payload};
	free(w->json);
	w->json = NULL;
	FILE *out = open_memstream(&w->json, &bytes);
	if (!out)
		return -ENOMEM;
	nvtx_payload_print(out, &w->payloads, &reference);
	if (fclose(out) || !w->json)
		return -ENOMEM;
	*v = (struct page_value){
		PAGE_TEXT, (uint32_t)(bytes < UINT32_MAX ? bytes : UINT32_MAX), {.text = w->json}};
	return 0;
}

/* What a row of NVTX_NAME is in NVTX_EVENTS. */
struct name_row {
	int64_t start, type, category, global_tid, domain;
	const char *text;
	uint32_t text_bytes;
};

static int name_put(struct writing *w, const struct name_row *n)
{
	struct page_value values[NSYS_COLUMNS] = {{.kind = PAGE_NULL}};
	const struct {
		const char *column;
		int64_t number;
	} numbers[] = {{"start", n->start}, {"eventType", n->type}, {"globalTid", n->global_tid},
		{"domainId", n->domain}, {"category", n->category}};
	const uint32_t count = n->type == NSYS_CATEGORY ? 5 : 4;
	for (uint32_t i = 0; i < count; i++)
		values[nsys_column(NSYS_NVTX_EVENTS, numbers[i].column)] =
			(struct page_value){.kind = PAGE_INTEGER, .integer = numbers[i].number};
	if (n->text)
		values[nsys_column(NSYS_NVTX_EVENTS, "text")] = (struct page_value){
			.kind = PAGE_TEXT, .text = n->text, .bytes = n->text_bytes};
	int error = page_table_values(&w->tables[NSYS_NVTX_EVENTS], 0, values);
	w->output_failed |= error != 0;
	return error;
}

/* The row of a domain whose making the report does not tell: of a forked child, which has it from
 * its parent, or of an imported file. */
static int domain_put(struct writing *w, int64_t global_pid, uint32_t name, uint32_t id)
{
	struct string_ref ref = string_table_get(&w->contents.strings, name);
	size_t bytes = utf8_clean_bytes(ref.text, ref.bytes);
	char *text = malloc(bytes + 1); /* the row at hand may be using that of writing_utf8() */
	if (!text)
		return -ENOMEM;
	utf8_clean(ref.text, ref.bytes, text);
	int error = name_put(w,
		&(struct name_row){.type = NSYS_DOMAIN_CREATE,
			.global_tid = global_pid,
			.domain = id,
			.text = text,
			.text_bytes = (uint32_t)bytes});
	free(text);
	return error;
}

int nvtx_domain(struct writing *w, int64_t global_pid, uint32_t name, uint32_t *ret_id)
{
	uint32_t text = 0;
	*ret_id = 0;
	if (!string_table_get(&w->contents.strings, name).bytes)
		return 0;
	int error = writing_string(w, name, &text);
	if (error)
		return error;
	*ret_id = map_get(&w->domains, (uint64_t)global_pid, text);
	if (*ret_id)
		return 0;
	*ret_id = map_get(&w->domains, (uint64_t)global_pid, UINT64_MAX) + 1;
	error = map_put(&w->domains, (uint64_t)global_pid, text, *ret_id);
	if (!error)
		error = map_put(&w->domains, (uint64_t)global_pid, UINT64_MAX, *ret_id);
	return error || w->domain_count ? error : domain_put(w, global_pid, name, *ret_id);
}

static int name_row(struct writing *w, const struct writing_batch *b, uint32_t row)
{
	const int64_t what = writing_column(b, FIELD_NVTX_NAME_WHAT)[row],
		      identifier = writing_column(b, FIELD_NVTX_NAME_IDENTIFIER)[row],
		      domain = writing_column(b, FIELD_NVTX_NAME_DOMAIN)[row],
		      name = writing_column(b, FIELD_NVTX_NAME_NAME)[row],
		      pid = b->global_tid & ~INT64_C(0xffffff);
	const bool of_domain = what == NAMED_DOMAIN || what == NAMED_DOMAIN_END;
	struct name_row n = {.start = writing_time(w, (uint64_t)b->columns[0][row]),
		.global_tid = b->global_tid,
		.category = identifier};
	uint32_t id = 0;
	int error = 0;
	if (what == NAMED_THREAD) {
		n.type = NSYS_THREAD;
		n.global_tid = pid | (identifier & 0xffffff);
		error = writing_thread_name(
			w, n.global_tid, (uint32_t)name, (uint64_t)b->columns[0][row], true);
	} else if (what == NAMED_CATEGORY) {
		n.type = NSYS_CATEGORY;
	} else if (of_domain) {
		n.type = what == NAMED_DOMAIN ? NSYS_DOMAIN_CREATE : NSYS_DOMAIN_DESTROY;
	} else {
		return 0;
	}
	if (!error)
		error = nvtx_domain(w, pid, (uint32_t)(of_domain && name ? name : domain), &id);
	if (error)
		return error;
	n.domain = id;
	if (what != NAMED_DOMAIN_END) {
		n.text = writing_utf8(w, (uint32_t)name, &n.text_bytes);
		if (!n.text)
			return -ENOMEM;
	}
	return name_put(w, &n);
}

int nvtx_names(struct writing *w, const struct writing_batch *b)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < b->batch->count; i++)
		error = name_row(w, b, i);
	return error;
}
