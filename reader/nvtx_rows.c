/* nvtx_rows.c - what nvtx_payloads.h takes of each kind of rows. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/nvtx_payloads.h"

#define COLUMNS_MAX 8u

void *nvtx_rows_room(struct nvtx_rows *r, uint32_t more, size_t bytes)
{
	if (more > NVTX_DEFINITIONS_MAX - r->count ||
		array_reserve(&r->rows, &r->capacity, (uint64_t)r->count + more, bytes))
		return NULL;
	return (char *)r->rows + r->count * bytes;
}

/* The columns of a batch: `fields` ends with 0; field 1, the time, comes first by itself. */
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

#define ROOM(rows, type) nvtx_rows_room(&p->rows, b->count, sizeof(struct type))

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
	offsets = p->columns; /* one column more than there is room for */
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

/* Those that tell the clock of an entry. */
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
