/* SPDX-License-Identifier: Apache-2.0 */
/* nsys_rows.c - mapping of events to tables of nsys. */
#include "reader/export/sqlite/nsys_rows.h"

#include <errno.h>
#include <string.h>

#include "common/spool.h"
#include "reader/export/sqlite/cuda_values.h"
#include "reader/export/sqlite/export_state.h"

/* The rows of nsys_rows.def. */
static const struct step {
	enum { STEP_ROWS, STEP_COLUMN, STEP_DERIVED, STEP_WHOLE } type;
	uint32_t kind;
	enum nsys_table table;
	const char *column;
	enum how how;
	uint32_t field, when_field; /* when_field 0 = no condition */
	uint64_t when;
	int64_t constant;
	const char *text;
} steps[] = {
#define ROWS(event, table) {STEP_ROWS, KIND_##event, NSYS_##table, 0, 0, 0, 0, 0, 0, 0},
#define ROWS_IF(event, table, field, values) \
	{STEP_ROWS, KIND_##event, NSYS_##table, 0, 0, 0, FIELD_##event##_##field, values, 0, 0},
#define PLACE(event, column, how, field) \
	{STEP_COLUMN, KIND_##event, 0, #column, HOW_##how, FIELD_##event##_##field, 0, 0, 0, 0},
#define PLACE_IF(event, column, how, field, if_field, values)                       \
	{STEP_COLUMN, KIND_##event, 0, #column, HOW_##how, FIELD_##event##_##field, \
		FIELD_##event##_##if_field, values, 0, 0},
#define CONSTANT(event, column, number) \
	{STEP_COLUMN, KIND_##event, 0, #column, HOW_CONSTANT, 0, 0, 0, number, 0},
#define TEXT(event, column, text) \
	{STEP_COLUMN, KIND_##event, 0, #column, HOW_TEXT, 0, 0, 0, 0, text},
#define DERIVED(event, field) \
	{STEP_DERIVED, KIND_##event, 0, 0, 0, FIELD_##event##_##field, 0, 0, 0, 0},
#define WHOLE(event) {STEP_WHOLE, KIND_##event, 0, 0, 0, 0, 0, 0, 0, 0},
#include "reader/export/sqlite/nsys_rows.def"
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* Return true if a column is computed from its field; false if it is constant, or computed from the
 * process or thread of the row. */
static bool needs_field(enum how how)
{
	return (how < HOW_GLOBAL_TID || how > HOW_VID) && how != HOW_GRAPH_NODE_NAME;
}

static bool is_mapped(uint32_t kind, uint32_t field)
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

static int column_add(struct mapping *m, const struct step *s)
{
	int column = nsys_column(m->table, s->column),
	    field = s->field ? field_position(s->kind, s->field) : 0;
	if (column < 0 || field < 0 || m->count == NSYS_COLUMNS)
		return -EINVAL;
	m->ended |= s->how == HOW_END_KNOWN;
	m->sources[m->count++] = (struct mapped_column){.column = (uint8_t)column,
		.how = (uint8_t)s->how,
		.field = (uint8_t)field,
		.when = values_of(s),
		.constant = s->constant,
		.text = s->text};
	return 0;
}

static int step_apply(
	struct sqlite_export *x, const struct step *s, struct mapping **last, uint32_t *count)
{
	struct kind_rows *k = &x->nsys.kinds[s->kind];
	if (s->type == STEP_WHOLE)
		k->whole = true;
	if (s->type == STEP_COLUMN)
		return column_add(*last, s);
	if (s->type != STEP_ROWS)
		return 0;
	if (*count == MAPPINGS_MAX)
		return -EINVAL;
	if (!k->count++)
		k->first = (uint8_t)*count;
	*last = &x->nsys.mappings[(*count)++];
	**last = (struct mapping){
		.table = s->table, .when = values_of(s), .columns = nsys_columns(s->table)};
	return 0;
}

/* Return true if no table takes some rows of the kind. */
static bool is_conditional(const struct sqlite_export *x, const struct kind_rows *k)
{
	bool always = !k->count;
	for (uint32_t i = k->first; i < k->first + (uint32_t)k->count; i++)
		always |= x->nsys.mappings[i].when.any && !x->nsys.mappings[i].ended;
	return !always;
}

static int mappings_read(struct sqlite_export *x)
{
	const struct schema_event *e;
	struct mapping *last = NULL;
	uint32_t count = 0;
	int error = 0;
	for (size_t i = 0; !error && i < STEPS; i++)
		error = step_apply(x, &steps[i], &last, &count);
	for (uint32_t n = 0; (e = schema_event_at(n)); n++) {
		struct kind_rows *k = &x->nsys.kinds[e->number];
		for (uint32_t i = 0; i < e->field_count; i++)
			if (!is_mapped(e->number, e->fields[i].number))
				k->facts[k->fact_count++] = (uint8_t)i;
		k->conditional = e->number == KIND_OSRT_CALL || is_conditional(x, k);
	}
	return error;
}

/* Return whether a column is a number that is copied from a field. */
static bool is_number(const struct mapped_column *p)
{
	return p->how >= HOW_NUMBER && p->how <= HOW_BITS_32;
}

/* Let columns be NULL of which one of the reports has no value. */
static void nullable_find(struct sqlite_export *x)
{
	for (uint32_t kind = 0; kind < SCHEMA_KINDS; kind++) {
		const struct kind_rows *k = &x->nsys.kinds[kind];
		uint64_t unknown = 0;
		for (uint32_t i = 0; i < x->job->count; i++)
			unknown |= x->job->sources[i].report->unknown[kind] |
				x->job->sources[i].report->partly[kind];
		for (uint32_t i = k->first; unknown && i < k->first + (uint32_t)k->count; i++) {
			const struct mapping *m = &x->nsys.mappings[i];
			for (uint32_t n = 0; n < m->count; n++)
				if (is_number(&m->sources[n]) && unknown >> m->sources[n].field & 1)
					x->database.nullable[m->table] |= UINT64_C(1)
						<< m->sources[n].column;
		}
	}
}

int nsys_rows_begin(struct sqlite_export *x)
{
	struct nsys_shape shape;
	int error = mappings_read(x);
	if (!error)
		nullable_find(x);
	for (uint32_t i = 0; !error && i < NSYS_TABLES; i++) {
		nsys_table_shape(i, x->database.generation, 0, &shape);
		if (shape.columns)
			error = bulk_table_begin(&x->nsys.tables[i], &x->database,
				nsys_table_name(i, NSYS_3_24), NULL);
	}
	return error;
}

int nsys_rows_end(struct nsys_rows *n)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < NSYS_TABLES; i++)
		error = bulk_table_end(&n->tables[i]);
	return error;
}

void nsys_rows_release(struct nsys_rows *n)
{
	for (uint32_t i = 0; i < NSYS_TABLES; i++)
		bulk_table_release(&n->tables[i]);
}

static bool is_unfinished(const struct decoded_batch *b, uint32_t row)
{
	return b->flags && b->flags[row] & RECORD_UNFINISHED;
}

/* Set the id of a thread that is not the thread of the row. */
static int thread_set(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row,
	enum how how, int64_t tid, struct cell *v)
{
	struct export_thread *thread;
	if (how == HOW_END_TID) {
		if ((uint32_t)tid != b->batch->tid && !is_unfinished(b, row))
			cell_set_number(v, b->global_tid);
		return 0;
	}
	cell_set_number(v, (b->global_tid & ~INT64_C(0xffffff)) | (tid & 0xffffff));
	return thread_find(&x->threads, v->integer, &thread);
}

static int string_set(struct sqlite_export *x, uint32_t string, struct cell *v)
{
	v->text = text_of_string(&x->texts, string, &v->bytes);
	v->kind = CELL_TEXT;
	return v->text ? 0 : -ENOMEM;
}

static int string_id_set(struct sqlite_export *x, uint32_t string, struct cell *v)
{
	uint32_t id = 0;
	int error = text_id_of_string(&x->texts, string, &id);
	cell_set_number(v, id);
	return error;
}

/* Set a text of NVTX: its id if it is registered, else the text; NULL for an empty text. */
static int nvtx_text_set(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row,
	enum how how, uint32_t string, struct cell *v)
{
	const bool named = b->flags && b->flags[row] & RECORD_TEXT_NAMED;
	if (named != (how == HOW_NVTX_TEXT_ID) ||
		!string_table_get(&x->contents.strings, string).bytes)
		return 0;
	return named ? string_id_set(x, string, v) : string_set(x, string, v);
}

/* Set a payload if its type is the type of the column. The field before it contains the type. */
static void payload_set(
	const struct decoded_batch *b, uint32_t field, uint32_t row, enum how how, struct cell *v)
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
	cell_set_number(v,
		how == HOW_INT32            ? (int32_t)low
			: how == HOW_UINT32 ? (int64_t)low
					    : bits);
	if (how != HOW_DOUBLE && how != HOW_FLOAT)
		return;
	v->kind = CELL_REAL;
	memcpy(&single, &low, sizeof(single));
	if (how == HOW_FLOAT)
		v->real = (double)single;
	else
		memcpy(&v->real, &bits, sizeof(bits));
	if (v->real != v->real)
		v->kind = CELL_NULL; /* SQLite has no NaN */
}

/* Set an id of the process or thread of the row. */
static void owner_set(const struct decoded_batch *b, enum how how, struct cell *v)
{
	const int64_t id = b->global_tid;
	cell_set_number(v,
		how == HOW_GLOBAL_TID           ? id
			: how == HOW_GLOBAL_PID ? id & ~INT64_C(0xffffff)
			: how == HOW_PID        ? id >> 24 & 0xffffff
			: how == HOW_HW_ID      ? id >> 56 & 0xff
			: how == HOW_VM_ID      ? id >> 48 & 0xff
						: id & GLOBAL_VID_BITS);
}

/* Set a number that nsys counts differently. */
static void changed_set(enum how how, int64_t number, struct cell *v)
{
	uint64_t value = (uint64_t)number; /* unsigned, because a hostile file may contain any
					    * number */
	if ((how == HOW_NUMBER_OR_NULL || how == HOW_LESS_ONE_OR_NULL) && !value)
		return;
	if (how == HOW_NATURAL_OR_NULL && number < 0)
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
	cell_set_number(v, (int64_t)value);
}

static int column_value(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row,
	const struct mapped_column *p, struct cell *v)
{
	const enum how how = p->how;
	const int64_t value = b->columns[p->field][row];
	uint32_t id = 0;
	int error = 0;
	switch (how) {
	case HOW_CONSTANT:
		cell_set_number(v, p->constant);
		return 0;
	case HOW_TEXT:
		*v = (struct cell){CELL_TEXT, (uint32_t)strlen(p->text), {.text = p->text}};
		return 0;
	case HOW_TIME:
		cell_set_number(v, export_time(x, (uint64_t)value));
		return 0;
	case HOW_END:
	case HOW_END_KNOWN:
	case HOW_END_ANY:
		if (how == HOW_END_ANY || !is_unfinished(b, row))
			cell_set_number(
				v, export_time(x, (uint64_t)b->columns[0][row] + (uint64_t)value));
		return 0;
	case HOW_TEXT_ID_OR_NULL:
		if (!string_table_get(&x->contents.strings, (uint32_t)value).bytes)
			return 0;
		return string_id_set(x, (uint32_t)value, v);
	case HOW_TEXT_ID:
		return string_id_set(x, (uint32_t)value, v);
	case HOW_TEXT_INLINE:
		return value ? string_set(x, (uint32_t)value, v) : 0;
	case HOW_TID:
	case HOW_END_TID:
		return thread_set(x, b, row, how, value, v);
	case HOW_DOMAIN:
		error = nvtx_domain_id(x, b->global_tid & ~INT64_C(0xffffff), (uint32_t)value, &id);
		cell_set_number(v, id);
		return error;
	case HOW_JSON:
		return b->columns[p->field - 1][row] == PAYLOAD_EXTENDED
			? nvtx_payload_json(x, b, row, value, v)
			: 0;
	case HOW_NVTX_TEXT:
	case HOW_NVTX_TEXT_ID:
		return nvtx_text_set(x, b, row, how, (uint32_t)value, v);
	default:
		break;
	}
	if (how >= HOW_UINT64 && how <= HOW_FLOAT)
		payload_set(b, p->field, row, how, v);
	else if (how >= HOW_GLOBAL_TID && how <= HOW_VID)
		owner_set(b, how, v);
	else if (how >= HOW_NUMBER && how <= HOW_BITS_32)
		changed_set(how, value, v);
	else
		return cuda_value(x, b, row, how, value, v);
	return 0;
}

static bool is_wanted(const struct decoded_batch *b, uint32_t row, const struct value_set *s)
{
	if (s->any)
		return true;
	int64_t value = b->columns[s->field][row];
	if (b->event->number == KIND_CUDA_OVERHEAD)
		value = cuda_overhead_type(value);
	return value >= 0 && value < 64 && s->bits >> value & 1;
}

static int row_put(struct sqlite_export *x, const struct decoded_batch *b, uint32_t row,
	const struct mapping *m)
{
	struct cell values[NSYS_COLUMNS];
	struct bulk_table *t = &x->nsys.tables[m->table];
	for (uint32_t i = 0; i < m->columns; i++)
		values[i].kind = CELL_NULL;
	for (uint32_t i = 0; i < m->count; i++) {
		const bool is_unknown = is_number(&m->sources[i]) &&
			decoded_is_unknown(b, row, m->sources[i].field);
		if (is_unknown || !is_wanted(b, row, &m->sources[i].when))
			continue;
		int error = column_value(x, b, row, &m->sources[i], &values[m->sources[i].column]);
		if (error)
			return error;
	}
	int error = bulk_table_row(t, values);
	return error;
}

int nsys_row(
	struct sqlite_export *x, const struct decoded_batch *b, uint32_t row, uint64_t *ret_rowid)
{
	const struct kind_rows *k = &x->nsys.kinds[b->event->number];
	*ret_rowid = 0;
	for (uint32_t i = k->first; i < k->first + (uint32_t)k->count; i++) {
		const struct mapping *m = &x->nsys.mappings[i];
		const struct bulk_table *t = &x->nsys.tables[m->table];
		if (!bulk_table_is_open(t) || (m->ended && is_unfinished(b, row)) ||
			!is_wanted(b, row, &m->when) ||
			(b->event->number == KIND_CUDA_DEVICE &&
				!cuda_device_is_new(x, b, row, m->table)))
			continue;
		int error = row_put(x, b, row, m);
		if (error)
			return error;
		*ret_rowid = *ret_rowid ? *ret_rowid : t->rows;
	}
	return 0;
}
