/* Events as rows of nsys's tables, by nsys_rows.def. */
#include <errno.h>
#include <string.h>

#include "common/spool.h"
#include "reader/export/sqlite_writing.h"

enum how {
	HOW_CONSTANT,
	HOW_TIME,
	HOW_END,
	HOW_NUMBER,
	HOW_NUMBER_OR_NULL,
	HOW_TEXT_ID,
	HOW_GLOBAL_TID,
	HOW_TID,
	HOW_END_TID,
	HOW_DOMAIN,
	HOW_NVTX_TEXT,
	HOW_NVTX_TEXT_ID,
	HOW_UINT64,
	HOW_INT64,
	HOW_DOUBLE,
	HOW_UINT32,
	HOW_INT32,
	HOW_FLOAT
};

static const struct {
	uint32_t kind;
	enum nsys_table table;
} kinds[] = {
#define ROWS(event, table) {KIND_##event, NSYS_##table},
#include "reader/export/nsys_rows.def"
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct place {
	uint32_t kind;
	const char *column;
	enum how how;
	uint32_t field;
	int64_t constant;
} places[] = {
#define PLACE(event, column, how, field) \
	{KIND_##event, #column, HOW_##how, FIELD_##event##_##field, 0},
#define CONSTANT(event, column, number) {KIND_##event, #column, HOW_CONSTANT, 0, number},
#include "reader/export/nsys_rows.def"
};
#define PLACES (sizeof(places) / sizeof(places[0]))

static const struct {
	uint32_t kind, field;
} derived[] = {
#define DERIVED(event, field) {KIND_##event, FIELD_##event##_##field},
#include "reader/export/nsys_rows.def"
};
#define DERIVEDS (sizeof(derived) / sizeof(derived[0]))

static bool is_placed(uint32_t kind, uint32_t field)
{
	for (size_t i = 0; i < PLACES; i++)
		if (places[i].kind == kind && places[i].how != HOW_CONSTANT &&
			places[i].field == field)
			return true;
	for (size_t i = 0; i < DERIVEDS; i++)
		if (derived[i].kind == kind && derived[i].field == field)
			return true;
	return false;
}

static int field_position(uint32_t kind, uint32_t field)
{
	const struct schema_event *e = schema_event(kind);
	for (uint32_t i = 0; e && i < e->field_count; i++)
		if (e->fields[i].number == field)
			return (int)i;
	return -1;
}

static int place_add(struct mapping *m, const struct place *p)
{
	int column = nsys_column(m->table, p->column),
	    field = p->how == HOW_CONSTANT ? 0 : field_position(p->kind, p->field);
	if (column < 0 || field < 0 || m->count == NSYS_COLUMNS)
		return -EINVAL;
	m->places[m->count].column = (uint8_t)column;
	m->places[m->count].how = (uint8_t)p->how;
	m->places[m->count].field = (uint8_t)field;
	m->places[m->count++].constant = p->constant;
	return 0;
}

static int table_add(struct mapping *m, uint32_t kind, enum nsys_table table)
{
	int error = 0;
	m->table = table;
	m->columns = nsys_columns(table);
	for (size_t i = 0; !error && i < PLACES; i++)
		if (places[i].kind == kind)
			error = place_add(m, &places[i]);
	return error;
}

int mapped_begin(struct mapping *ret_mappings)
{
	const struct schema_event *e;
	int error = 0;
	for (uint32_t kind = 0; kind < SCHEMA_KINDS; kind++)
		ret_mappings[kind] = (struct mapping){.table = NSYS_TABLES};
	for (size_t i = 0; !error && i < KINDS; i++)
		error = table_add(&ret_mappings[kinds[i].kind], kinds[i].kind, kinds[i].table);
	for (uint32_t n = 0; (e = schema_event_at(n)); n++) {
		struct mapping *m = &ret_mappings[e->number];
		for (uint32_t i = 0; i < e->field_count; i++)
			if (!is_placed(e->number, e->fields[i].number))
				m->facts[m->fact_count++] = (uint8_t)i;
	}
	return error;
}

static void put_number(struct page_value *v, int64_t number)
{
	v->kind = PAGE_INTEGER;
	v->integer = number;
}

static bool is_unfinished(const struct writing_batch *b, uint32_t row)
{
	return b->flags && b->flags[row] & RECORD_UNFINISHED;
}

/* Ids of threads other than that of the row. */
static int put_thread(struct writing *w, const struct writing_batch *b, uint32_t row, enum how how,
	int64_t tid, struct page_value *v)
{
	struct writing_thread *thread;
	if (how == HOW_END_TID) {
		if ((uint32_t)tid != b->batch->tid && !is_unfinished(b, row))
			put_number(v, b->global_tid);
		return 0;
	}
	put_number(v, (b->global_tid & ~INT64_C(0xffffff)) | (tid & 0xffffff));
	return writing_thread(w, v->integer, &thread);
}

/* Texts of NVTX: registered ones by id, others as they are; an empty one is none. */
static int put_nvtx_text(struct writing *w, const struct writing_batch *b, uint32_t row,
	enum how how, uint32_t string, struct page_value *v)
{
	uint32_t id = 0;
	bool named = b->flags && b->flags[row] & RECORD_TEXT_NAMED;
	int error = 0;
	if (named != (how == HOW_NVTX_TEXT_ID) ||
		!string_table_get(&w->contents.strings, string).bytes)
		return 0;
	if (named) {
		error = writing_string(w, string, &id);
		put_number(v, id);
		return error;
	}
	v->text = writing_utf8(w, string, &v->bytes);
	v->kind = PAGE_TEXT;
	return v->text ? 0 : -ENOMEM;
}

/* A payload is in the column of its type; that is told by the field before it. */
static void put_payload(const struct writing_batch *b, uint32_t field, uint32_t row, enum how how,
	struct page_value *v)
{
	static const enum payload_type types[] = {[HOW_UINT64] = PAYLOAD_UINT64,
		[HOW_INT64] = PAYLOAD_INT64,
		[HOW_DOUBLE] = PAYLOAD_DOUBLE,
		[HOW_UINT32] = PAYLOAD_UINT32,
		[HOW_INT32] = PAYLOAD_INT32,
		[HOW_FLOAT] = PAYLOAD_FLOAT};
	const int64_t bits = b->columns[field][row];
	const uint32_t low = (uint32_t)bits;
	float single;
	if (b->columns[field - 1][row] != (int64_t)types[how])
		return;
	put_number(v, how == HOW_INT32 ? (int32_t)low : how == HOW_UINT32 ? (int64_t)low : bits);
	if (how != HOW_DOUBLE && how != HOW_FLOAT)
		return;
	v->kind = PAGE_REAL;
	memcpy(&single, &low, sizeof(single));
	if (how == HOW_FLOAT)
		v->real = (double)single;
	else
		memcpy(&v->real, &bits, sizeof(bits));
	if (v->real != v->real)
		v->kind = PAGE_NULL; /* SQLite has no NaN */
}

static int value_put(struct writing *w, const struct writing_batch *b, uint32_t row,
	const struct mapping *m, uint32_t place, struct page_value *v)
{
	const enum how how = m->places[place].how;
	const uint32_t field = m->places[place].field;
	const int64_t value = b->columns[field][row];
	uint32_t id = 0;
	int error = 0;
	switch (how) {
	case HOW_CONSTANT:
		put_number(v, m->places[place].constant);
		return 0;
	case HOW_TIME:
		put_number(v, writing_time(w, (uint64_t)value));
		return 0;
	case HOW_END:
		if (!is_unfinished(b, row))
			put_number(
				v, writing_time(w, (uint64_t)b->columns[0][row] + (uint64_t)value));
		return 0;
	case HOW_NUMBER_OR_NULL:
		if (!value)
			return 0;
		/* fall through */
	case HOW_NUMBER:
		put_number(v, value);
		return 0;
	case HOW_TEXT_ID:
		error = writing_string(w, (uint32_t)value, &id);
		put_number(v, id);
		return error;
	case HOW_GLOBAL_TID:
		put_number(v, b->global_tid);
		return 0;
	case HOW_TID:
	case HOW_END_TID:
		return put_thread(w, b, row, how, value, v);
	case HOW_DOMAIN:
		error = nvtx_domain(w, b->global_tid & ~INT64_C(0xffffff), (uint32_t)value, &id);
		put_number(v, id);
		return error;
	case HOW_NVTX_TEXT:
	case HOW_NVTX_TEXT_ID:
		return put_nvtx_text(w, b, row, how, (uint32_t)value, v);
	default:
		put_payload(b, field, row, how, v);
		return 0;
	}
}

int mapped_row(struct writing *w, const struct writing_batch *b, uint32_t row)
{
	struct page_value values[NSYS_COLUMNS];
	const struct mapping *m = &w->mappings[b->event->number];
	for (uint32_t i = 0; i < m->columns; i++)
		values[i].kind = PAGE_NULL;
	for (uint32_t i = 0; i < m->count; i++) {
		int error = value_put(w, b, row, m, i, &values[m->places[i].column]);
		if (error)
			return error;
	}
	struct page_table *t = &w->tables[m->table];
	int error = t->columns ? page_table_values(t, 0, values) : 0;
	w->output_failed |= error != 0;
	return error;
}
