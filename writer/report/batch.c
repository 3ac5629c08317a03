/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - encoding of rows of events as columns of a report entry.
 */
#include "writer/report/batch.h"

#include <string.h>

#include "common/varint.h"

enum encoding { ENCODING_NONE, ENCODING_DELTA, ENCODING_PLAIN, ENCODING_SIGNED };

#define FIELD(event_id, number, id, column, kind, encoding, title) \
	[EVENT_##event_id][number - 1] = ENCODING_##encoding,
static const uint8_t encodings[EVENT_KINDS][BATCH_COLUMNS] = {
#include "common/schema/events.def"
};

/* Field numbers of report.proto. */
#define ENTRY_BATCH 4
#define BATCH_KIND 1
#define BATCH_PROCESS 2
#define BATCH_TID 3
#define BATCH_COUNT 4
#define BATCH_COLUMN 5
#define COLUMN_FIELD 1
#define COLUMN_CONSTANT 2
#define COLUMN_VALUES 3
#define COLUMN_DELTAS 4
#define COLUMN_SIGNED 5

uint32_t batch_columns(uint32_t kind)
{
	static uint8_t counts[EVENT_KINDS]; /* highest number, as rows of events.def ascend */
	if (!counts[EVENT_OSRT_CALL]) {
#define FIELD(event_id, number, id, column, kind, encoding, title) \
	counts[EVENT_##event_id] = number;
#include "common/schema/events.def"
	}
	return kind < EVENT_KINDS ? counts[kind] : 0;
}

size_t batch_bytes(uint32_t kind)
{
	const struct batch *b = NULL;
	return offsetof(struct batch, column) + batch_columns(kind) * sizeof(b->column[0]);
}

#define HEADING_BYTES 16u /* minimum room for size, tag and length before a body */

typedef uint64_t v4 __attribute__((vector_size(32), aligned(8)));

/* Return true if all values are the same. Stops at the first difference: most columns that vary do
 * so within the first rows. */
static bool is_constant(const uint64_t *values, uint32_t count)
{
	uint32_t i = 0;
	const v4 first = {values[0], values[0], values[0], values[0]};
	for (; i + 16 <= count; i += 16) {
		const v4 *group = (const v4 *)(const void *)(values + i);
		v4 other = (group[0] ^ first) | (group[1] ^ first) | (group[2] ^ first) |
			(group[3] ^ first);
		if (other[0] | other[1] | other[2] | other[3])
			return false;
	}
	for (; i < count; i++)
		if (values[i] != values[0])
			return false;
	return true;
}

/* Encode up to three bytes without a branch: lengths of deltas are nearly random, and a wrong
 * prediction costs more than the number itself. */
static inline uint8_t *value_put(uint8_t *p, uint64_t value)
{
	if (__builtin_expect(value >= 1u << 21, 0))
		return varint_put(p, value);
	uint32_t v = (uint32_t)value;
	uint32_t two = v >= 1u << 7, three = v >= 1u << 14;
	uint32_t bytes =
		(v & 0x7f) | (v << 1 & 0x7f00) | (v << 2 & 0x7f0000) | two << 7 | three << 15;
	memcpy(p, &bytes, sizeof(bytes));
	return p + 1 + two + three;
}

static uint8_t *values_put(
	uint8_t *p, const uint64_t *values, uint32_t count, enum encoding encoding)
{
	uint64_t previous = 0;
	switch (encoding) {
	case ENCODING_DELTA:
		for (uint32_t i = 0; i < count; i++) {
			p = value_put(p, zigzag_encode((int64_t)(values[i] - previous)));
			previous = values[i];
		}
		break;
	case ENCODING_SIGNED:
		for (uint32_t i = 0; i < count; i++)
			p = value_put(p, zigzag_encode((int64_t)values[i]));
		break;
	default:
		for (uint32_t i = 0; i < count; i++)
			p = value_put(p, values[i]);
	}
	return p;
}

static uint32_t values_field(enum encoding encoding)
{
	return encoding == ENCODING_DELTA     ? COLUMN_DELTAS
		: encoding == ENCODING_SIGNED ? COLUMN_SIGNED
					      : COLUMN_VALUES;
}

static uint8_t *constant_put(uint8_t *p, uint32_t field, uint64_t value)
{
	uint64_t zigzag = zigzag_encode((int64_t)value);
	p = varint_put_tag(p, BATCH_COLUMN, WIRE_BYTES);
	p = varint_put(p, 1 + varint_bytes(field) + 1 + varint_bytes(zigzag));
	p = varint_put(varint_put_tag(p, COLUMN_FIELD, WIRE_VARINT), field);
	return varint_put(varint_put_tag(p, COLUMN_CONSTANT, WIRE_VARINT), zigzag);
}

/* Encode a column. Its length is stored before it, so the values are written after a gap and then
 * moved up to their heading. */
static uint8_t *column_put(uint8_t *p, const struct batch *b, uint32_t index)
{
	const uint64_t *values = b->column[index];
	enum encoding encoding = encodings[b->kind][index];
	uint32_t field = index + 1;
	bool same = b->same >> index & 1;
	if (same || is_constant(values, b->count)) {
		uint64_t value = same ? b->value[index] : values[0];
		return value ? constant_put(p, field, value) : p;
	}
	uint8_t *start = p + HEADING_BYTES;
	size_t bytes = (size_t)(values_put(start, values, b->count, encoding) - start);
	p = varint_put_tag(p, BATCH_COLUMN, WIRE_BYTES);
	p = varint_put(p, 1 + varint_bytes(field) + 1 + varint_bytes(bytes) + bytes);
	p = varint_put(varint_put_tag(p, COLUMN_FIELD, WIRE_VARINT), field);
	p = varint_put(varint_put_tag(p, values_field(encoding), WIRE_BYTES), bytes);
	memmove(p, start, bytes);
	return p + bytes;
}

/* Store the previous rows of a column that had one value for all of them. */
static void column_vary(struct batch *b, uint32_t column)
{
	if (!(b->same >> column & 1))
		return;
	for (uint32_t row = 0; row < b->count; row++)
		b->column[column][row] = b->value[column];
	b->same &= ~(UINT64_C(1) << column);
}

void batch_same(struct batch *b, uint32_t column, uint64_t value, uint32_t count)
{
	if (!b->count) {
		b->value[column] = value;
		b->same |= UINT64_C(1) << column;
	} else if (!(b->same >> column & 1) || b->value[column] != value) {
		uint32_t end = b->count + (count < batch_room(b) ? count : batch_room(b));
		column_vary(b, column);
		for (uint32_t row = b->count; row < end; row++)
			b->column[column][row] = value;
	}
}

uint64_t *batch_rows(struct batch *b, uint32_t column)
{
	if (b->count)
		column_vary(b, column);
	b->same &= ~(UINT64_C(1) << column);
	return b->column[column] + b->count;
}

void batch_rows_added(struct batch *b, uint32_t count)
{
	b->count += count < batch_room(b) ? count : batch_room(b);
}

bool batch_row_add(struct batch *b, uint64_t ns)
{
	if (!batch_room(b))
		return false;
	for (uint32_t i = 0, count = batch_columns(b->kind); i < count; i++)
		batch_same(b, i, i ? 0 : ns, 1);
	b->count++;
	return true;
}

void batch_set(struct batch *b, uint32_t column, uint64_t value)
{
	if (!b->count || column >= batch_columns(b->kind))
		return;
	if (b->same >> column & 1 && b->count == 1) {
		b->value[column] = value;
	} else if (!(b->same >> column & 1) || b->value[column] != value) {
		column_vary(b, column);
		b->column[column][b->count - 1] = value;
	}
}

size_t batch_encode(const struct batch *b, uint8_t *out)
{
	uint8_t *body = out + HEADING_BYTES;
	uint8_t *p = varint_put(varint_put_tag(body, BATCH_KIND, WIRE_VARINT), b->kind);
	p = varint_put(varint_put_tag(p, BATCH_PROCESS, WIRE_VARINT), b->process);
	p = varint_put(varint_put_tag(p, BATCH_TID, WIRE_VARINT), b->tid);
	p = varint_put(varint_put_tag(p, BATCH_COUNT, WIRE_VARINT), b->count);
	for (uint32_t index = 0; index < batch_columns(b->kind) && b->count; index++)
		if (encodings[b->kind][index])
			p = column_put(p, b, index);
	size_t bytes = (size_t)(p - body);
	uint32_t size = (uint32_t)(1 + varint_bytes(bytes) + bytes);
	memcpy(out, &size, sizeof(size));
	p = varint_put(varint_put_tag(out + sizeof(size), ENTRY_BATCH, WIRE_BYTES), bytes);
	memmove(p, body, bytes);
	return sizeof(size) + size;
}
