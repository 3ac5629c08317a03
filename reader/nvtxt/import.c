/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - blocks of a report from the events of NVTXT files. */
#define _GNU_SOURCE
#include "reader/nvtxt/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/spool.h"

/* A process that events may belong to. */
struct owner {
	uint32_t pid, id;
	uint64_t start_ns, end_ns;
	uint64_t events;             /* number of events added */
	const struct process *known; /* NULL = known only from the imported files */
	const char *file;            /* first file that names such a process */
};

/* An event with its kind and process. */
struct import_row {
	const struct nvtxt_event *event;
	uint32_t kind, process;
};

struct nvtxt_importer {
	struct append *append;
	struct contents *contents;
	struct nvtxt_import *imports;
	size_t import_count;
	struct owner *owners; /* sorted by pid, then start */
	size_t owner_count;
	struct import_row *rows;
	size_t row_total;
	int64_t *values; /* values of a batch */
	uint32_t row_count;
};

static bool is_kept(const struct nvtxt_event *e)
{
	return e->kind != NVTXT_EVENT_NONE && e->kind != NVTXT_EVENT_POP;
}

static uint32_t kind_of(const struct nvtxt_event *e)
{
	return e->kind == NVTXT_EVENT_MARK     ? KIND_NVTX_MARK
		: e->kind == NVTXT_EVENT_PUSH  ? KIND_NVTX_RANGE
		: e->kind == NVTXT_EVENT_RANGE ? KIND_NVTX_START_END
					       : KIND_NVTX_NAME;
}

/* ---- processes of events ---- */

static int compare_owners(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Return the last owner with the pid that had started by `ns`, else the first owner with the pid,
 * else NULL. */
static struct owner *owner_of(
	const struct nvtxt_importer *z, uint32_t pid, int64_t ns, size_t count)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct owner *o = &z->owners[middle];
		if (o->pid < pid || (o->pid == pid && o->start_ns <= (uint64_t)ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low && z->owners[low - 1].pid == pid)
		return &z->owners[low - 1];
	return low < count && z->owners[low].pid == pid ? &z->owners[low] : NULL;
}

static size_t events_count(const struct nvtxt_importer *z)
{
	size_t count = 0;
	for (size_t i = 0; i < z->import_count; i++)
		count += z->imports[i].file->count;
	return count;
}

/* Add an owner for each pid that has none. Candidates are stored after the owners. */
static void owners_make(struct nvtxt_importer *z, size_t candidate_count, uint32_t next_id)
{
	struct owner *candidates = z->owners + z->owner_count;
	size_t count = z->owner_count;
	qsort(candidates, candidate_count, sizeof(*candidates), compare_owners);
	for (size_t i = 0; i < candidate_count; i++) {
		struct owner *last = count > z->owner_count ? &z->owners[count - 1] : NULL;
		if (last && last->pid == candidates[i].pid) {
			last->end_ns = candidates[i].end_ns > last->end_ns ? candidates[i].end_ns
									   : last->end_ns;
			continue;
		}
		z->owners[count] = candidates[i];
		z->owners[count++].id = next_id++;
	}
	z->owner_count = count;
	qsort(z->owners, count, sizeof(*z->owners), compare_owners);
}

static int owners_find(struct nvtxt_importer *z)
{
	const struct process_list *l = &z->contents->processes;
	uint32_t next_id = 1;
	size_t candidates = 0;
	z->owners = malloc((l->count + events_count(z) + 1) * sizeof(*z->owners));
	if (!z->owners)
		return -ENOMEM;
	for (size_t i = 0; i < l->count; i++) {
		const struct process *p = l->rows[i];
		next_id = p->id >= next_id ? p->id + 1 : next_id;
		if (!p->receipt)
			continue; /* `trace recover` may still write the receipt, and would count
				   * the events itself */
		z->owners[z->owner_count++] = (struct owner){
			p->facts->pid, p->id, p->facts->start_ns, p->facts->end_ns, 0, p, NULL};
	}
	qsort(z->owners, z->owner_count, sizeof(*z->owners), compare_owners);
	for (size_t i = 0; i < z->import_count; i++) {
		const struct nvtxt_file *f = z->imports[i].file;
		for (uint32_t n = 0; n < f->count; n++) {
			const struct nvtxt_event *e = &f->events[n];
			if (is_kept(e) && !owner_of(z, e->process, e->start, z->owner_count))
				z->owners[z->owner_count + candidates++] =
					(struct owner){e->process, 0, (uint64_t)e->start,
						(uint64_t)e->end, 0, NULL, z->imports[i].name};
		}
	}
	owners_make(z, candidates, next_id);
	return 0;
}

/* ---- entries before the events ---- */

static ProtobufCBinaryData bytes_of(const char *text)
{
	return (ProtobufCBinaryData){text ? strlen(text) : 0, (uint8_t *)(text ? text : "")};
}

static void receipt_append(struct nvtxt_importer *z, const struct owner *o)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Receipt receipt = LIBTRACE__RECEIPT__INIT;
	if (o->known)
		receipt = *o->known->receipt;
	receipt.has_process = receipt.has_produced = receipt.has_written = true;
	receipt.process = o->id;
	receipt.produced += o->events;
	receipt.written += o->events;
	entry.receipt = &receipt;
	append_entry(z->append, &entry);
}

static void owner_append(struct nvtxt_importer *z, const struct owner *o)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Process process = LIBTRACE__PROCESS__INIT;
	process.has_id = process.has_pid = process.has_start_ns = process.has_end_ns = true;
	process.has_imported_from = true;
	process.id = o->id;
	process.pid = o->pid;
	process.start_ns = o->start_ns;
	process.end_ns = o->end_ns;
	process.imported_from = bytes_of(o->file);
	entry.process = &process;
	append_entry(z->append, &entry);
}

static void import_append(struct nvtxt_importer *z, const struct nvtxt_import *import)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Imported imported = LIBTRACE__IMPORTED__INIT;
	imported.has_name = imported.has_bytes = imported.has_crc32c = imported.has_events = true;
	imported.has_display_name = import->file->display_name != NULL;
	imported.name = bytes_of(import->name);
	imported.display_name = bytes_of(import->file->display_name);
	imported.bytes = import->file->bytes;
	imported.crc32c = import->file->crc;
	imported.events = import->marks + import->ranges + import->names;
	if (!imported.events)
		return; /* the file may be imported again, with another clock */
	entry.imported = &imported;
	append_entry(z->append, &entry);
}

/* ---- events ---- */

static int rows_find(struct nvtxt_importer *z)
{
	z->rows = malloc((events_count(z) + 1) * sizeof(*z->rows));
	if (!z->rows)
		return -ENOMEM;
	for (size_t i = 0; i < z->import_count; i++) {
		struct nvtxt_import *import = &z->imports[i];
		for (uint32_t n = 0; n < import->file->count; n++) {
			const struct nvtxt_event *e = &import->file->events[n];
			if (!is_kept(e))
				continue;
			struct owner *o = owner_of(z, e->process, e->start, z->owner_count);
			o->events++;
			import->marks += e->kind == NVTXT_EVENT_MARK;
			import->names += e->kind == NVTXT_EVENT_NAME;
			import->ranges +=
				e->kind == NVTXT_EVENT_PUSH || e->kind == NVTXT_EVENT_RANGE;
			z->rows[z->row_total++] = (struct import_row){e, kind_of(e), o->id};
		}
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct import_row *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->event->thread != y->event->thread)
		return x->event->thread < y->event->thread ? -1 : 1;
	if (x->event->start != y->event->start)
		return x->event->start < y->event->start ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

#define SET(event_id, column, value) \
	row[schema_column_index(event, FIELD_##event_id##_##column)] = (int64_t)(value)
#define SET_COMMON(event_id)                                      \
	do {                                                      \
		SET(event_id, DOMAIN, domain);                    \
		SET(event_id, TEXT, text);                        \
		SET(event_id, CATEGORY, e->category);             \
		SET(event_id, COLOR, e->color);                   \
		SET(event_id, PAYLOAD_TYPE, e->payload_type);     \
		SET(event_id, PAYLOAD, e->payload);               \
		SET(event_id, FLAGS, e->flags | RECORD_IMPORTED); \
	} while (0)

static void row_fill(struct nvtxt_importer *z, const struct import_row *p, int64_t *row)
{
	const struct schema_event *event = schema_event(p->kind);
	const struct nvtxt_event *e = p->event;
	uint32_t domain = append_text(z->append, e->domain), text = append_text(z->append, e->text);
	memset(row, 0, event->field_count * sizeof(*row));
	row[0] = e->start;
	if (p->kind == KIND_NVTX_MARK) {
		SET_COMMON(NVTX_MARK);
	} else if (p->kind == KIND_NVTX_RANGE) {
		SET_COMMON(NVTX_RANGE);
		SET(NVTX_RANGE, DURATION, e->end - e->start);
		SET(NVTX_RANGE, LEVEL, e->level);
	} else if (p->kind == KIND_NVTX_START_END) {
		SET_COMMON(NVTX_START_END);
		SET(NVTX_START_END, DURATION, e->end - e->start);
		SET(NVTX_START_END, RANGE_ID, e->identifier);
		SET(NVTX_START_END, START_TID, e->start_thread);
	} else {
		SET(NVTX_NAME, WHAT, e->what);
		SET(NVTX_NAME, DOMAIN, domain);
		SET(NVTX_NAME, IDENTIFIER, e->identifier);
		SET(NVTX_NAME, TYPE, e->type);
		SET(NVTX_NAME, NAME, text);
	}
}

static bool is_same_batch(const struct import_row *a, const struct import_row *b)
{
	return a->kind == b->kind && a->process == b->process &&
		a->event->thread == b->event->thread;
}

/* Write rows in batches. A batch ends when the kind, process or thread changes, when it is full, or
 * when its texts fill a block. */
static void rows_append(struct nvtxt_importer *z)
{
	const struct import_row *first = z->rows;
	uint32_t count = 0;
	for (size_t i = 0; i < z->row_total; i++) {
		const struct import_row *p = &z->rows[i];
		uint32_t fields = schema_event(p->kind)->field_count;
		if (!count)
			first = p;
		row_fill(z, p, z->values + (size_t)count++ * fields);
		if (i + 1 < z->row_total && is_same_batch(p, p + 1) && count < APPEND_ROWS_MAX &&
			z->append->strings.bytes < APPEND_BLOCK_BYTES)
			continue;
		append_rows(z->append, first->kind, first->process, first->event->thread, count,
			z->values);
		count = 0;
	}
}

static int all_append(struct nvtxt_importer *z)
{
	append_texts_begin(z->append, z->contents->strings.last_id);
	qsort(z->rows, z->row_total, sizeof(*z->rows), compare_rows);
	z->values = malloc((size_t)APPEND_ROWS_MAX * SCHEMA_FIELDS * sizeof(*z->values));
	if (!z->values)
		return -ENOMEM;
	for (size_t i = 0; i < z->import_count; i++)
		import_append(z, &z->imports[i]);
	for (size_t i = 0; i < z->owner_count; i++) {
		const struct owner *o = &z->owners[i];
		if (!o->known)
			owner_append(z, o);
		if (o->events)
			receipt_append(z, o);
	}
	rows_append(z);
	free(z->values);
	return append_texts_end(z->append);
}

int nvtxt_import(struct append *a, struct contents *c, struct nvtxt_import *imports, size_t count)
{
	struct nvtxt_importer z = {
		.append = a, .contents = c, .imports = imports, .import_count = count};
	int error = owners_find(&z);
	if (!error)
		error = rows_find(&z);
	if (!error)
		error = all_append(&z);
	free(z.owners);
	free(z.rows);
	return error;
}

bool nvtxt_is_imported(const struct contents *c, const struct nvtxt_file *f)
{
	for (size_t i = 0; i < c->import_count; i++)
		if (c->imports[i]->bytes == f->bytes && c->imports[i]->crc32c == f->crc)
			return true;
	return false;
}
