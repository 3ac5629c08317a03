#define _GNU_SOURCE
#include "reader/nvtx_payloads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/nvtx_decoding.h"

#define OWN_ROWS_MAX 65536u /* more than a payload or a layout can have */
#define PARENTS_MAX 64u     /* forked from forked from ... */

void nvtx_payloads_init(struct nvtx_payloads *p, const struct contents *c)
{
	*p = (struct nvtx_payloads){.contents = c};
}

void nvtx_payloads_release(struct nvtx_payloads *p)
{
	struct nvtx_rows *all[] = {&p->layouts, &p->entries, &p->values, &p->counters, &p->pieces,
		&p->texts, &p->deferred, &p->meanings, &p->time_domains, &p->syncs};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]->rows);
	free(p->columns);
	decode_close(p->kept);
	*p = (struct nvtx_payloads){0};
}

uint64_t nvtx_domain_key(const struct contents *c, uint32_t name)
{
	struct string_ref text = string_table_get(&c->strings, name);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (uint32_t i = 0; i < text.bytes; i++)
		hash = (hash ^ (uint8_t)text.text[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

/* ---- order ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Whose it is, without the place in it. */
static int compare_owners(const struct nvtx_key *a, const struct nvtx_key *b)
{
	int order = compare_numbers(a->process, b->process);
	if (!order)
		order = compare_numbers(a->domain, b->domain);
	return order ? order : compare_numbers(a->id, b->id);
}

/* Keys stand first in all rows. */
static int compare_keys(const void *x, const void *y)
{
	const struct nvtx_key *a = x, *b = y;
	int order = compare_owners(a, b);
	if (!order)
		order = compare_numbers(a->time_ns, b->time_ns);
	return order ? order : compare_numbers(a->index, b->index);
}

/* Of one registration. */
static int compare_places(const void *x, const void *y)
{
	const struct nvtx_key *a = x, *b = y;
	int order = compare_numbers(a->index, b->index);
	return order ? order : compare_numbers(a->time_ns, b->time_ns);
}

static int compare_pieces(const void *x, const void *y)
{
	const struct nvtx_piece *a = x, *b = y;
	int order = compare_owners(&a->key, &b->key);
	if (!order)
		order = compare_numbers(a->key.index, b->key.index);
	return order ? order : compare_numbers(a->offset, b->offset);
}

static int compare_texts(const void *x, const void *y)
{
	const struct nvtx_far_text *a = x, *b = y;
	int order = compare_owners(&a->key, &b->key);
	return order ? order : compare_numbers(a->address, b->address);
}

static void rows_sort(struct nvtx_rows *r, size_t bytes, int (*compare)(const void *, const void *))
{
	if (r->count)
		qsort(r->rows, r->count, bytes, compare);
}

/* First row that is not before the owner: *ret_count those that are its. */
static uint32_t rows_find(
	const struct nvtx_rows *r, size_t bytes, const struct nvtx_key *owner, uint32_t *ret_count)
{
	const char *rows = r->rows;
	uint32_t low = 0, high = r->count, end;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (compare_owners((const void *)(rows + middle * bytes), owner) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < r->count && end - low < OWN_ROWS_MAX; end++)
		if (compare_owners((const void *)(rows + end * bytes), owner))
			break;
	*ret_count = end - low;
	return low;
}

/* First row of its key that is not before its time. */
static uint32_t rows_from(const struct nvtx_rows *r, size_t bytes, const struct nvtx_key *key)
{
	const char *rows = r->rows;
	uint32_t low = 0, high = r->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct nvtx_key *found = (const void *)(rows + middle * bytes);
		int order = compare_owners(found, key);
		if (order < 0 || (!order && found->time_ns < key->time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The rows of the registration that began at key->time_ns; the next one began at `next_ns`. They
 * come in the order of their places, of several with one place the last. */
static void registration_find(
	struct nvtx_rows *r, size_t bytes, struct nvtx_layout_row *l, uint64_t next_ns)
{
	struct nvtx_key end_key = l->key;
	end_key.time_ns = next_ns;
	uint32_t first = rows_from(r, bytes, &l->key), end = rows_from(r, bytes, &end_key),
		 kept = 0;
	uint32_t count = end - first < OWN_ROWS_MAX ? end - first : OWN_ROWS_MAX;
	l->first = first;
	l->count = 0;
	if (!count)
		return;
	char *rows = (char *)r->rows + first * bytes;
	qsort(rows, count, bytes, compare_places);
	for (uint32_t i = 0; i < count; i++) {
		const struct nvtx_key *key = (const void *)(rows + i * bytes),
				      *next = (const void *)(rows + (i + 1) * bytes);
		if (i + 1 < count && key->index == next->index)
			continue;
		memmove(rows + kept++ * bytes, rows + i * bytes, bytes);
	}
	l->count = kept;
}

/* An enumeration is a layout without entries. Each registration of one begins with a lower place
 * than the last value before it had. */
static int enums_add(struct nvtx_payloads *p)
{
	const struct nvtx_value_row *values = p->values.rows;
	for (uint32_t i = 0; i < p->values.count; i++) {
		if (i && !compare_owners(&values[i].key, &values[i - 1].key) &&
			values[i].key.index > values[i - 1].key.index)
			continue;
		struct nvtx_layout_row *row = nvtx_rows_room(&p->layouts, 1, sizeof(*row));
		if (!row)
			return -ENOMEM;
		*row = (struct nvtx_layout_row){
			.key = values[i].key, .is_enum = true, .bytes = values[i].bytes};
		row->key.index = 0;
		p->layouts.count++;
	}
	return 0;
}

void nvtx_payloads_ready(struct nvtx_payloads *p)
{
	struct nvtx_layout_row *rows;
	rows_sort(&p->values, sizeof(struct nvtx_value_row), compare_keys);
	if (enums_add(p))
		p->values.count = 0; /* no memory: their numbers will do */
	rows_sort(&p->layouts, sizeof(struct nvtx_layout_row), compare_keys);
	rows_sort(&p->entries, sizeof(struct nvtx_entry_row), compare_keys);
	rows_sort(&p->counters, sizeof(struct nvtx_counter_row), compare_keys);
	rows_sort(&p->pieces, sizeof(struct nvtx_piece), compare_pieces);
	rows_sort(&p->texts, sizeof(struct nvtx_far_text), compare_texts);
	rows_sort(&p->deferred, sizeof(struct nvtx_deferred_row), compare_keys);
	rows_sort(&p->meanings, sizeof(struct nvtx_meaning_row), compare_keys);
	rows_sort(&p->time_domains, sizeof(struct nvtx_time_domain_row), compare_keys);
	rows_sort(&p->syncs, sizeof(struct nvtx_sync_row), compare_keys);
	rows = p->layouts.rows;
	for (uint32_t i = 0; i < p->layouts.count; i++) {
		bool has_next =
			i + 1 < p->layouts.count && !compare_owners(&rows[i].key, &rows[i + 1].key);
		uint64_t next_ns = has_next ? rows[i + 1].key.time_ns : UINT64_MAX;
		p->has_repeats |= has_next;
		if (rows[i].is_enum)
			registration_find(
				&p->values, sizeof(struct nvtx_value_row), &rows[i], next_ns);
		else
			registration_find(
				&p->entries, sizeof(struct nvtx_entry_row), &rows[i], next_ns);
	}
}

/* ---- looking up ---- */

/* The last one with its parent's pid that had begun. */
static struct process *parent_find(const struct process_list *l, const struct process *child)
{
	struct process *found = NULL;
	for (size_t i = 0; child->facts->forked && i < l->count; i++) {
		struct process *p = l->rows[i];
		if (p->facts->pid == child->facts->parent_pid &&
			p->facts->start_ns <= child->facts->start_ns && p != child &&
			(!found || p->facts->start_ns >= found->facts->start_ns))
			found = p;
	}
	return found;
}

bool nvtx_seek_parent(const struct contents *c, struct nvtx_key *key)
{
	struct process_list *l = (struct process_list *)(uintptr_t)&c->processes;
	struct process *child = process_find(l, key->process);
	if (child && !child->has_looked_for_parent) {
		child->forked_from = parent_find(l, child);
		child->has_looked_for_parent = true;
	}
	if (!child || !child->forked_from)
		return false;
	key->process = child->forked_from->id;
	if (child->facts->has_start_ns && child->facts->start_ns < key->time_ns)
		key->time_ns = child->facts->start_ns;
	return true;
}

/* The last row of a key that is not after its time; `is_first`: the first of all times. */
static void *row_at(
	const struct nvtx_rows *r, size_t bytes, const struct nvtx_key *key, bool is_first)
{
	struct nvtx_key behind = *key;
	behind.time_ns = is_first ? 0 : key->time_ns + (key->time_ns < UINT64_MAX);
	uint32_t at = rows_from(r, bytes, &behind);
	if (!is_first && at-- == 0)
		return NULL;
	char *row = (char *)r->rows + at * bytes;
	return at < r->count && !compare_owners((const void *)row, key) ? row : NULL;
}

/* In the process or those before it. */
static void *row_find(const struct nvtx_payloads *p, const struct nvtx_rows *r, size_t bytes,
	struct nvtx_key wanted)
{
	for (int is_first = 0; is_first < 2; is_first++) {
		struct nvtx_key key = wanted;
		for (uint32_t i = 0; i < PARENTS_MAX && key.process && r->count; i++) {
			void *row = row_at(r, bytes, &key, is_first);
			if (row)
				return row;
			if (!nvtx_seek_parent(p->contents, &key))
				break;
		}
	}
	return NULL;
}

void nvtx_payloads_seek(struct nvtx_payloads *p, uint32_t process)
{
	if (p->has_repeats || !p->epoch || p->epoch_process != process)
		p->epoch++;
	p->epoch_process = process;
}

struct nvtx_layout_row *nvtx_layout_find(struct nvtx_payloads *p, struct nvtx_key wanted)
{
	struct nvtx_layout_row *row =
		row_find(p, &p->layouts, sizeof(struct nvtx_layout_row), wanted);
	if (row && row->epoch != p->epoch) {
		row->state = 0;
		row->epoch = p->epoch;
	}
	return row;
}

uint64_t nvtx_counter_schema(struct nvtx_payloads *p, struct nvtx_key wanted)
{
	const struct nvtx_counter_row *row =
		row_find(p, &p->counters, sizeof(struct nvtx_counter_row), wanted);
	return row ? row->schema : 0;
}

uint64_t nvtx_entry_clock(struct nvtx_payloads *p, struct nvtx_key wanted)
{
	wanted.id = nvtx_entry_id(wanted.id, wanted.index);
	const struct nvtx_meaning_row *row =
		row_find(p, &p->meanings, sizeof(struct nvtx_meaning_row), wanted);
	return row ? row->clock : 0;
}

const struct nvtx_piece *nvtx_pieces_find(
	const struct nvtx_payloads *p, uint32_t process, uint64_t payload, uint32_t *ret_count)
{
	const struct nvtx_key key = {.process = process, .id = payload};
	uint32_t at = rows_find(&p->pieces, sizeof(struct nvtx_piece), &key, ret_count);
	return *ret_count ? (const struct nvtx_piece *)p->pieces.rows + at : NULL;
}

const struct nvtx_deferred_row *nvtx_deferred_find(
	const struct nvtx_payloads *p, uint32_t process, uint64_t payload)
{
	const struct nvtx_key key = {.process = process, .id = payload};
	uint32_t count,
		at = rows_find(&p->deferred, sizeof(struct nvtx_deferred_row), &key, &count);
	return count ? (const struct nvtx_deferred_row *)p->deferred.rows + at : NULL;
}

uint32_t nvtx_far_text(
	const struct nvtx_payloads *p, uint32_t process, uint64_t payload, uint64_t address)
{
	const struct nvtx_far_text wanted = {
		.key = {.process = process, .id = payload}, .address = address};
	const struct nvtx_far_text *found = p->texts.count
		? bsearch(&wanted, p->texts.rows, p->texts.count, sizeof(wanted), compare_texts)
		: NULL;
	return found ? found->text : 0;
}
