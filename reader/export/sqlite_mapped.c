/* Events as rows of nsys's tables, by nsys_rows.def. */
#include <errno.h>
#include <string.h>

#include "common/spool.h"
#include "reader/export/sqlite_writing.h"

/* What a row of nsys_rows.def says. */
static const struct step {
	enum { STEP_ROWS, STEP_PLACE, STEP_DERIVED, STEP_WHOLE } type;
	uint32_t kind;
	enum nsys_table table;
	const char *column;
	enum how how;
	uint32_t field, when_field; /* when_field 0: always */
	uint64_t when;
	int64_t constant;
	const char *text;
} steps[] = {
#define ROWS(event, table) {STEP_ROWS, KIND_##event, NSYS_##table, 0, 0, 0, 0, 0, 0, 0},
#define ROWS_IF(event, table, field, values) \
	{STEP_ROWS, KIND_##event, NSYS_##table, 0, 0, 0, FIELD_##event##_##field, values, 0, 0},
#define PLACE(event, column, how, field) \
	{STEP_PLACE, KIND_##event, 0, #column, HOW_##how, FIELD_##event##_##field, 0, 0, 0, 0},
#define PLACE_IF(event, column, how, field, if_field, values)                      \
	{STEP_PLACE, KIND_##event, 0, #column, HOW_##how, FIELD_##event##_##field, \
		FIELD_##event##_##if_field, values, 0, 0},
#define CONSTANT(event, column, number) \
	{STEP_PLACE, KIND_##event, 0, #column, HOW_CONSTANT, 0, 0, 0, number, 0},
#define TEXT(event, column, text) \
	{STEP_PLACE, KIND_##event, 0, #column, HOW_TEXT, 0, 0, 0, 0, text},
#define DERIVED(event, field) \
	{STEP_DERIVED, KIND_##event, 0, 0, 0, FIELD_##event##_##field, 0, 0, 0, 0},
#define WHOLE(event) {STEP_WHOLE, KIND_##event, 0, 0, 0, 0, 0, 0, 0, 0},
#include "reader/export/nsys_rows.def"
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* Columns that tell whose the row is, or what kind of row, need no field. */
static bool needs_field(enum how how)
{
	return (how < HOW_GLOBAL_TID || how > HOW_VID) && how != HOW_GRAPH_NODE_NAME;
}

static bool is_placed(uint32_t kind, uint32_t field)
{
	for (size_t i = 0; i < STEPS; i++)
		if (steps[i].kind == kind && steps[i].field == field &&
			(steps[i].type == STEP_DERIVED || needs_field(steps[i].how)))
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

static struct value_set values_of(const struct step *s)
{
	int field = field_position(s->kind, s->when_field);
	return (struct value_set){(uint8_t)(field > 0 ? field : 0), !s->when_field, s->when};
}

static int place_add(struct mapping *m, const struct step *s)
{
	int column = nsys_column(m->table, s->column),
	    field = s->field ? field_position(s->kind, s->field) : 0;
	if (column < 0 || field < 0 || m->count == NSYS_COLUMNS)
		return -EINVAL;
	m->ended |= s->how == HOW_END_KNOWN;
	m->places[m->count++] = (struct mapping_place){.column = (uint8_t)column,
		.how = (uint8_t)s->how,
		.field = (uint8_t)field,
		.when = values_of(s),
		.constant = s->constant,
		.text = s->text};
	return 0;
}

static int step_take(
	struct writing *w, const struct step *s, struct mapping **last, uint32_t *count)
{
	struct kind_rows *k = &w->kinds[s->kind];
	if (s->type == STEP_WHOLE)
		k->whole = true;
	if (s->type == STEP_PLACE)
		return place_add(*last, s);
	if (s->type != STEP_ROWS)
		return 0;
	if (*count == MAPPINGS_MAX)
		return -EINVAL;
	if (!k->count++)
		k->first = (uint8_t)*count;
	*last = &w->mappings[(*count)++];
	**last = (struct mapping){
		.table = s->table, .when = values_of(s), .columns = nsys_columns(s->table)};
	return 0;
}

/* May a row of the kind find no table? */
static bool is_conditional(const struct writing *w, const struct kind_rows *k)
{
	bool always = !k->count;
	for (uint32_t i = k->first; i < k->first + (uint32_t)k->count; i++)
		always |= w->mappings[i].when.any && !w->mappings[i].ended;
	return !always;
}

int mapped_begin(struct writing *w)
{
	const struct schema_event *e;
	struct mapping *last = NULL;
	uint32_t count = 0;
	int error = 0;
	for (size_t i = 0; !error && i < STEPS; i++)
		error = step_take(w, &steps[i], &last, &count);
	for (uint32_t n = 0; (e = schema_event_at(n)); n++) {
		struct kind_rows *k = &w->kinds[e->number];
		for (uint32_t i = 0; i < e->field_count; i++)
			if (!is_placed(e->number, e->fields[i].number))
				k->facts[k->fact_count++] = (uint8_t)i;
		k->conditional = e->number == KIND_OSRT_CALL || is_conditional(w, k);
	}
	return error;
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

static int put_text(struct writing *w, uint32_t string, struct page_value *v)
{
	v->text = writing_utf8(w, string, &v->bytes);
	v->kind = PAGE_TEXT;
	return v->text ? 0 : -ENOMEM;
}

static int put_text_id(struct writing *w, uint32_t string, struct page_value *v)
{
	uint32_t id = 0;
	int error = writing_string(w, string, &id);
	put_number(v, id);
	return error;
}

/* Texts of NVTX: registered ones by id, others as they are; an empty one is none. */
static int put_nvtx_text(struct writing *w, const struct writing_batch *b, uint32_t row,
	enum how how, uint32_t string, struct page_value *v)
{
	const bool named = b->flags && b->flags[row] & RECORD_TEXT_NAMED;
	if (named != (how == HOW_NVTX_TEXT_ID) ||
		!string_table_get(&w->contents.strings, string).bytes)
		return 0;
	return named ? put_text_id(w, string, v) : put_text(w, string, v);
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

/* What the row is of. */
static void put_whose(const struct writing_batch *b, enum how how, struct page_value *v)
{
	const int64_t id = b->global_tid;
	put_number(v,
		how == HOW_GLOBAL_TID           ? id
			: how == HOW_GLOBAL_PID ? id & ~INT64_C(0xffffff)
			: how == HOW_PID        ? id >> 24 & 0xffffff
			: how == HOW_HW_ID      ? id >> 56 & 0xff
			: how == HOW_VM_ID      ? id >> 48 & 0xff
						: id & WRITING_VID);
}

/* Numbers that are written otherwise. */
static void put_changed(enum how how, int64_t number, struct page_value *v)
{
	uint64_t value = (uint64_t)number; /* any number of a hostile file can be counted on from */
	if ((how == HOW_NUMBER_OR_NULL || how == HOW_LESS_ONE_OR_NULL) && !value)
		return;
	switch (how) {
	case HOW_ADD_ONE:
		value++;
		break;
	case HOW_LESS_ONE:
	case HOW_LESS_ONE_OR_NULL:
		value--;
		break;
	case HOW_TIMES_1000:
		value *= 1000u;
		break;
	case HOW_BITS_32:
		value &= 0xffffffff;
		break;
	default:
		break;
	}
	put_number(v, (int64_t)value);
}

static int place_value(struct writing *w, const struct writing_batch *b, uint32_t row,
	const struct mapping_place *p, struct page_value *v)
{
	const enum how how = p->how;
	const int64_t value = b->columns[p->field][row];
	uint32_t id = 0;
	int error = 0;
	switch (how) {
	case HOW_CONSTANT:
		put_number(v, p->constant);
		return 0;
	case HOW_TEXT:
		*v = (struct page_value){PAGE_TEXT, (uint32_t)strlen(p->text), {.text = p->text}};
		return 0;
	case HOW_TIME:
		put_number(v, writing_time(w, (uint64_t)value));
		return 0;
	case HOW_END:
	case HOW_END_KNOWN:
		if (!is_unfinished(b, row))
			put_number(
				v, writing_time(w, (uint64_t)b->columns[0][row] + (uint64_t)value));
		return 0;
	case HOW_TEXT_ID:
		return put_text_id(w, (uint32_t)value, v);
	case HOW_TEXT_INLINE:
		return value ? put_text(w, (uint32_t)value, v) : 0;
	case HOW_TID:
	case HOW_END_TID:
		return put_thread(w, b, row, how, value, v);
	case HOW_DOMAIN:
		error = nvtx_domain(w, b->global_tid & ~INT64_C(0xffffff), (uint32_t)value, &id);
		put_number(v, id);
		return error;
	case HOW_JSON:
		return b->columns[p->field - 1][row] == PAYLOAD_EXTENDED
			? nvtx_json(w, b, row, value, v)
			: 0;
	case HOW_NVTX_TEXT:
	case HOW_NVTX_TEXT_ID:
		return put_nvtx_text(w, b, row, how, (uint32_t)value, v);
	default:
		break;
	}
	if (how >= HOW_UINT64 && how <= HOW_FLOAT)
		put_payload(b, p->field, row, how, v);
	else if (how >= HOW_GLOBAL_TID && how <= HOW_VID)
		put_whose(b, how, v);
	else if (how >= HOW_NUMBER && how <= HOW_BITS_32)
		put_changed(how, value, v);
	else
		return cuda_value(w, b, row, how, value, v);
	return 0;
}

static bool is_wanted(const struct writing_batch *b, uint32_t row, const struct value_set *s)
{
	if (s->any)
		return true;
	int64_t value = b->columns[s->field][row];
	if (b->event->number == KIND_CUDA_OVERHEAD)
		value = cuda_overhead_type(value);
	return value >= 0 && value < 64 && s->bits >> value & 1;
}

static int row_put(
	struct writing *w, const struct writing_batch *b, uint32_t row, const struct mapping *m)
{
	struct page_value values[NSYS_COLUMNS];
	struct page_table *t = &w->tables[m->table];
	for (uint32_t i = 0; i < m->columns; i++)
		values[i].kind = PAGE_NULL;
	for (uint32_t i = 0; i < m->count; i++) {
		if (!is_wanted(b, row, &m->places[i].when))
			continue;
		int error = place_value(w, b, row, &m->places[i], &values[m->places[i].column]);
		if (error)
			return error;
	}
	int error = page_table_values(t, 0, values);
	w->output_failed |= error != 0;
	return error;
}

int mapped_row(struct writing *w, const struct writing_batch *b, uint32_t row, uint64_t *ret_rowid)
{
	const struct kind_rows *k = &w->kinds[b->event->number];
	*ret_rowid = 0;
	for (uint32_t i = k->first; i < k->first + (uint32_t)k->count; i++) {
		const struct mapping *m = &w->mappings[i];
		const struct page_table *t = &w->tables[m->table];
		if (!t->columns || (m->ended && is_unfinished(b, row)) ||
			!is_wanted(b, row, &m->when) ||
			(b->event->number == KIND_CUDA_DEVICE &&
				!cuda_device_is_new(w, b, row, m->table)))
			continue;
		int error = row_put(w, b, row, m);
		if (error)
			return error;
		*ret_rowid = *ret_rowid ? *ret_rowid : t->last_rowid;
	}
	return 0;
}
