/* SPDX-License-Identifier: Apache-2.0 */
/* payloads.c - tables of extended NVTX payloads: storage, order and lookup. */
#define _GNU_SOURCE
#include "reader/nvtx/payloads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/base/order.h"

#define COLUMNS_MAX 8u
#define OWN_ROWS_MAX 65536u /* greater than the rows of any payload or layout */
#define PARENTS_MAX 64u     /* maximum number of ancestors of a forked process */

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
	if (p->cache)
		p->cache_free(p->cache);
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

/* ---- rows ---- */

/* Make room for `more` rows after the existing ones; returns NULL if memory is short or there are
 * too many. */
static void *rows_room(struct nvtx_rows *r, uint32_t more, size_t bytes)
{
	if (more > NVTX_DEFINITIONS_MAX - r->count ||
		array_reserve(&r->rows, &r->capacity, (uint64_t)r->count + more, bytes))
		return NULL;
	return (char *)r->rows + r->count * bytes;
}

/* Decode the columns of a batch: `fields` starts with the time and ends with 0. */
static bool columns_read(struct nvtx_payloads *p, const struct event_batch *b,
	const uint32_t *fields, const int64_t **ret_columns)
{
	if (!p->columns)
		p->columns = malloc(COLUMNS_MAX * (size_t)BATCH_ROWS_MAX * sizeof(*p->columns));
	for (uint32_t i = 0; p->columns && i < COLUMNS_MAX; i++) {
		int64_t *column = p->columns + i * (size_t)BATCH_ROWS_MAX;
		ret_columns[i] = column;
		if (!fields[i])
			return true;
		if (event_batch_column(b, fields[i], column))
			return false;
	}
	return p->columns != NULL;
}

static struct nvtx_key key_of(
	const struct nvtx_payloads *p, const struct event_batch *b, const int64_t **c, uint32_t row)
{
	return (struct nvtx_key){.process = b->process,
		.time_ns = (uint64_t)c[0][row],
		.domain = nvtx_domain_key(p->contents, (uint32_t)c[1][row]),
		.id = (uint64_t)c[2][row]};
}

#define ROOM(rows, type) rows_room(&p->rows, b->count, sizeof(struct type))

static int layouts_take(struct nvtx_payloads *p, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS_MAX + 1] = {FIELD_NVTX_SCHEMA_START,
		FIELD_NVTX_SCHEMA_DOMAIN, FIELD_NVTX_SCHEMA_SCHEMA, FIELD_NVTX_SCHEMA_NAME,
		FIELD_NVTX_SCHEMA_LAYOUT, FIELD_NVTX_SCHEMA_SIZE, FIELD_NVTX_SCHEMA_ALIGNMENT,
		FIELD_NVTX_SCHEMA_FLAGS};
	const int64_t *c[COLUMNS_MAX];
	struct nvtx_layout_row *rows = ROOM(layouts, nvtx_layout_row);
	if (!rows || !columns_read(p, b, fields, c))
		return rows ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		rows[i] = (struct nvtx_layout_row){.key = key_of(p, b, c, i),
			.name = (uint32_t)c[3][i],
			.layout = (uint32_t)c[4][i],
			.bytes = (uint64_t)c[5][i],
			.pack = (uint64_t)c[6][i],
			.flags = (uint64_t)c[7][i]};
	p->layouts.count += b->count;
	return 0;
}

static int entries_take(struct nvtx_payloads *p, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS_MAX + 1] = {FIELD_NVTX_SCHEMA_ENTRY_START,
		FIELD_NVTX_SCHEMA_ENTRY_DOMAIN, FIELD_NVTX_SCHEMA_ENTRY_SCHEMA,
		FIELD_NVTX_SCHEMA_ENTRY_INDEX, FIELD_NVTX_SCHEMA_ENTRY_NAME,
		FIELD_NVTX_SCHEMA_ENTRY_TYPE, FIELD_NVTX_SCHEMA_ENTRY_FLAGS,
		FIELD_NVTX_SCHEMA_ENTRY_DETAIL};
	const int64_t *c[COLUMNS_MAX];
	int64_t *offsets = NULL;
	struct nvtx_entry_row *rows = ROOM(entries, nvtx_entry_row);
	if (!rows || !columns_read(p, b, fields, c))
		return rows ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++) {
		rows[i] = (struct nvtx_entry_row){.key = key_of(p, b, c, i),
			.name = (uint32_t)c[4][i],
			.type = (uint64_t)c[5][i],
			.flags = (uint64_t)c[6][i],
			.detail = (uint64_t)c[7][i]};
		rows[i].key.index = (uint32_t)c[3][i];
	}
	offsets = p->columns; /* reuses a buffer, because there is one column more than buffers */
	if (event_batch_column(b, FIELD_NVTX_SCHEMA_ENTRY_OFFSET, offsets))
		return 0;
	for (uint32_t i = 0; i < b->count; i++)
		rows[i].offset = (uint64_t)offsets[i];
	p->entries.count += b->count;
	return 0;
}

static int values_take(struct nvtx_payloads *p, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS_MAX + 1] = {FIELD_NVTX_ENUM_START,
		FIELD_NVTX_ENUM_DOMAIN, FIELD_NVTX_ENUM_SCHEMA, FIELD_NVTX_ENUM_INDEX,
		FIELD_NVTX_ENUM_NAME, FIELD_NVTX_ENUM_VALUE, FIELD_NVTX_ENUM_IS_FLAG,
		FIELD_NVTX_ENUM_SIZE};
	const int64_t *c[COLUMNS_MAX];
	struct nvtx_value_row *rows = ROOM(values, nvtx_value_row);
	if (!rows || !columns_read(p, b, fields, c))
		return rows ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++) {
		rows[i] = (struct nvtx_value_row){.key = key_of(p, b, c, i),
			.name = (uint32_t)c[4][i],
			.value = c[5][i],
			.is_flag = c[6][i] != 0,
			.bytes = (uint64_t)c[7][i]};
		rows[i].key.index = (uint32_t)c[3][i];
	}
	p->values.count += b->count;
	return 0;
}

static int counters_take(struct nvtx_payloads *p, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS_MAX + 1] = {FIELD_NVTX_COUNTER_START,
		FIELD_NVTX_COUNTER_DOMAIN, FIELD_NVTX_COUNTER_COUNTER, FIELD_NVTX_COUNTER_SCHEMA};
	const int64_t *c[COLUMNS_MAX];
	struct nvtx_counter_row *rows = ROOM(counters, nvtx_counter_row);
	if (!rows || !columns_read(p, b, fields, c))
		return rows ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		rows[i] = (struct nvtx_counter_row){key_of(p, b, c, i), (uint64_t)c[3][i]};
	p->counters.count += b->count;
	return 0;
}

static int pieces_take(struct nvtx_payloads *p, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS_MAX + 1] = {FIELD_NVTX_PAYLOAD_START,
		FIELD_NVTX_PAYLOAD_PAYLOAD, FIELD_NVTX_PAYLOAD_INDEX, FIELD_NVTX_PAYLOAD_SCHEMA,
		FIELD_NVTX_PAYLOAD_ADDRESS, FIELD_NVTX_PAYLOAD_SIZE, FIELD_NVTX_PAYLOAD_OFFSET,
		FIELD_NVTX_PAYLOAD_DATA};
	const int64_t *c[COLUMNS_MAX];
	struct nvtx_piece *rows = ROOM(pieces, nvtx_piece);
	if (!rows || !columns_read(p, b, fields, c))
		return rows ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		rows[i] = (struct nvtx_piece){.key = {.process = b->process,
						      .id = (uint64_t)c[1][i],
						      .index = (uint32_t)c[2][i],
						      .time_ns = (uint64_t)c[0][i]},
			.schema = (uint64_t)c[3][i],
			.address = (uint64_t)c[4][i],
			.bytes = (uint64_t)c[5][i],
			.offset = (uint64_t)c[6][i],
			.data = (uint32_t)c[7][i]};
	p->pieces.count += b->count;
	return 0;
}

static int texts_take(struct nvtx_payloads *p, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS_MAX + 1] = {FIELD_NVTX_PAYLOAD_TEXT_START,
		FIELD_NVTX_PAYLOAD_TEXT_PAYLOAD, FIELD_NVTX_PAYLOAD_TEXT_ADDRESS,
		FIELD_NVTX_PAYLOAD_TEXT_TEXT};
	const int64_t *c[COLUMNS_MAX];
	struct nvtx_far_text *rows = ROOM(texts, nvtx_far_text);
	if (!rows || !columns_read(p, b, fields, c))
		return rows ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		rows[i] = (struct nvtx_far_text){.key = {.process = b->process,
							 .id = (uint64_t)c[1][i],
							 .time_ns = (uint64_t)c[0][i]},
			.address = (uint64_t)c[2][i],
			.text = (uint32_t)c[3][i]};
	p->texts.count += b->count;
	return 0;
}

static int deferred_take(struct nvtx_payloads *p, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS_MAX + 1] = {FIELD_NVTX_DEFERRED_START,
		FIELD_NVTX_DEFERRED_DOMAIN, FIELD_NVTX_DEFERRED_PAYLOAD,
		FIELD_NVTX_DEFERRED_IS_BATCH, FIELD_NVTX_DEFERRED_SCOPE,
		FIELD_NVTX_DEFERRED_FLEX_OFFSET};
	const int64_t *c[COLUMNS_MAX];
	struct nvtx_deferred_row *rows = ROOM(deferred, nvtx_deferred_row);
	if (!rows || !columns_read(p, b, fields, c))
		return rows ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		rows[i] = (struct nvtx_deferred_row){.key = {.process = b->process,
							     .id = (uint64_t)c[2][i],
							     .time_ns = (uint64_t)c[0][i]},
			.tid = b->tid,
			.domain = (uint32_t)c[1][i],
			.is_batch = c[3][i] != 0,
			.scope = (uint64_t)c[4][i],
			.flex_offset = (uint64_t)c[5][i]};
	p->deferred.count += b->count;
	return 0;
}

/* Store the semantics rows that name the clock of an entry. */
static int meanings_take(struct nvtx_payloads *p, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS_MAX + 1] = {FIELD_NVTX_SEMANTICS_START,
		FIELD_NVTX_SEMANTICS_DOMAIN, FIELD_NVTX_SEMANTICS_SCHEMA,
		FIELD_NVTX_SEMANTICS_INDEX, FIELD_NVTX_SEMANTICS_SEMANTIC,
		FIELD_NVTX_SEMANTICS_VALUE};
	const int64_t *c[COLUMNS_MAX];
	struct nvtx_meaning_row *rows = ROOM(meanings, nvtx_meaning_row);
	if (!rows || !columns_read(p, b, fields, c))
		return rows ? 0 : -ENOMEM;
	uint32_t count = 0;
	for (uint32_t i = 0; i < b->count; i++) {
		if (c[4][i] != NVTX_SEMANTIC_TIME || !c[2][i])
			continue;
		rows[count] = (struct nvtx_meaning_row){key_of(p, b, c, i), (uint64_t)c[5][i]};
		rows[count++].key.id = nvtx_entry_id((uint64_t)c[2][i], (uint64_t)c[3][i]);
	}
	p->meanings.count += count;
	return 0;
}

static int time_domains_take(struct nvtx_payloads *p, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS_MAX + 1] = {FIELD_NVTX_TIME_DOMAIN_START,
		FIELD_NVTX_TIME_DOMAIN_DOMAIN, FIELD_NVTX_TIME_DOMAIN_TIME_DOMAIN,
		FIELD_NVTX_TIME_DOMAIN_SCOPE, FIELD_NVTX_TIME_DOMAIN_CLOCK,
		FIELD_NVTX_TIME_DOMAIN_RESOLUTION, FIELD_NVTX_TIME_DOMAIN_ORIGIN};
	const int64_t *c[COLUMNS_MAX];
	struct nvtx_time_domain_row *rows = ROOM(time_domains, nvtx_time_domain_row);
	if (!rows || !columns_read(p, b, fields, c))
		return rows ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		rows[i] = (struct nvtx_time_domain_row){.key = key_of(p, b, c, i),
			.scope = (uint64_t)c[3][i],
			.clock = (uint64_t)c[4][i],
			.ticks_per_second = c[5][i],
			.origin = (uint64_t)c[6][i]};
	p->time_domains.count += b->count;
	return 0;
}

static int syncs_take(struct nvtx_payloads *p, const struct event_batch *b)
{
	static const uint32_t fields[COLUMNS_MAX + 1] = {FIELD_NVTX_TIME_SYNC_START,
		FIELD_NVTX_TIME_SYNC_DOMAIN, FIELD_NVTX_TIME_SYNC_SOURCE,
		FIELD_NVTX_TIME_SYNC_TARGET, FIELD_NVTX_TIME_SYNC_SOURCE_TIME,
		FIELD_NVTX_TIME_SYNC_TARGET_TIME, FIELD_NVTX_TIME_SYNC_SLOPE_TYPE,
		FIELD_NVTX_TIME_SYNC_SLOPE};
	const int64_t *c[COLUMNS_MAX];
	struct nvtx_sync_row *rows = ROOM(syncs, nvtx_sync_row);
	if (!rows || !columns_read(p, b, fields, c))
		return rows ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++) {
		rows[i] = (struct nvtx_sync_row){.key = key_of(p, b, c, i),
			.target = (uint64_t)c[3][i],
			.source_time = c[4][i],
			.target_time = c[5][i],
			.has_slope = c[6][i] != 0};
		memcpy(&rows[i].slope, &c[7][i], sizeof(rows[i].slope));
	}
	p->syncs.count += b->count;
	return 0;
}

int nvtx_payloads_take(struct nvtx_payloads *p, const struct event_batch *b)
{
	switch (b->kind) {
	case KIND_NVTX_SCHEMA:
		return layouts_take(p, b);
	case KIND_NVTX_SCHEMA_ENTRY:
		return entries_take(p, b);
	case KIND_NVTX_ENUM:
		return values_take(p, b);
	case KIND_NVTX_COUNTER:
		return counters_take(p, b);
	case KIND_NVTX_PAYLOAD:
		return pieces_take(p, b);
	case KIND_NVTX_PAYLOAD_TEXT:
		return texts_take(p, b);
	case KIND_NVTX_DEFERRED:
		return deferred_take(p, b);
	case KIND_NVTX_SEMANTICS:
		return meanings_take(p, b);
	case KIND_NVTX_TIME_DOMAIN:
		return time_domains_take(p, b);
	case KIND_NVTX_TIME_SYNC:
		return syncs_take(p, b);
	default:
		return 0;
	}
}

/* ---- order ---- */

/* Compare keys except for index and time. */
static int compare_owners(const struct nvtx_key *a, const struct nvtx_key *b)
{
	int order = compare_u64(a->process, b->process);
	if (!order)
		order = compare_u64(a->domain, b->domain);
	return order ? order : compare_u64(a->id, b->id);
}

/* Compare rows by their keys, which are the first member of all rows. */
static int compare_keys(const void *x, const void *y)
{
	const struct nvtx_key *a = x, *b = y;
	int order = compare_owners(a, b);
	if (!order)
		order = compare_u64(a->time_ns, b->time_ns);
	return order ? order : compare_u64(a->index, b->index);
}

/* Compare rows of one registration. */
static int compare_places(const void *x, const void *y)
{
	const struct nvtx_key *a = x, *b = y;
	int order = compare_u64(a->index, b->index);
	return order ? order : compare_u64(a->time_ns, b->time_ns);
}

static int compare_pieces(const void *x, const void *y)
{
	const struct nvtx_piece *a = x, *b = y;
	int order = compare_owners(&a->key, &b->key);
	if (!order)
		order = compare_u64(a->key.index, b->key.index);
	return order ? order : compare_u64(a->offset, b->offset);
}

static int compare_texts(const void *x, const void *y)
{
	const struct nvtx_far_text *a = x, *b = y;
	int order = compare_owners(&a->key, &b->key);
	return order ? order : compare_u64(a->address, b->address);
}

static void rows_sort(struct nvtx_rows *r, size_t bytes, int (*compare)(const void *, const void *))
{
	if (r->count)
		qsort(r->rows, r->count, bytes, compare);
}

/* Return the first row at or after an owner; *ret_count: number of rows of the owner. */
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

/* Return the first row of a key at or after its time. */
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

/* Set the rows of the registration that began at l->key.time_ns, before the next registration at
 * `next_ns`. Rows are sorted by index; of several rows with one index, the last is kept. */
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

/* Add a layout without entries for each enumeration. An index that does not increase begins a new
 * registration. */
static int enums_add(struct nvtx_payloads *p)
{
	const struct nvtx_value_row *values = p->values.rows;
	for (uint32_t i = 0; i < p->values.count; i++) {
		if (i && !compare_owners(&values[i].key, &values[i - 1].key) &&
			values[i].key.index > values[i - 1].key.index)
			continue;
		struct nvtx_layout_row *row = rows_room(&p->layouts, 1, sizeof(*row));
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
		p->values.count = 0; /* out of memory: print numbers instead of names */
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

/* ---- lookup ---- */

bool nvtx_seek_parent(const struct contents *c, struct nvtx_key *key)
{
	struct process_list *l = (struct process_list *)(uintptr_t)&c->processes;
	struct process *child = process_find(l, key->process);
	const struct process *parent = child ? process_forked_from(l, child) : NULL;
	if (!parent)
		return false;
	key->process = parent->id;
	if (child->facts->has_start_ns && child->facts->start_ns < key->time_ns)
		key->time_ns = child->facts->start_ns;
	return true;
}

/* Return the last row of a key at or before its time. `is_first`: return the first row of all
 * times. */
static void *row_at(
	const struct nvtx_rows *r, size_t bytes, const struct nvtx_key *key, bool is_first)
{
	struct nvtx_key after = *key;
	after.time_ns = is_first ? 0 : key->time_ns + (key->time_ns < UINT64_MAX);
	uint32_t at = rows_from(r, bytes, &after);
	if (!is_first && at-- == 0)
		return NULL;
	char *row = (char *)r->rows + at * bytes;
	return at < r->count && !compare_owners((const void *)row, key) ? row : NULL;
}

/* Look a key up in its process, then in the processes that it was forked from. */
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
