/* SPDX-License-Identifier: Apache-2.0 */
/* mutate.c - mutations of protobuf messages that keep them well formed. */
#include "tests/fuzz/mutate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/growing.h"

#define CHANGES_MAX 4u
#define REPEATS_MAX 300u

struct wire_field {
	uint32_t number;
	unsigned wire;
	const uint8_t *begin, *value, *end; /* value: after the length, if there is one */
};

static bool varint_read(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		*ret |= (uint64_t)(**at & 127) << shift;
		if (*(*at)++ < 128)
			return true;
	}
	return false;
}

static bool field_next(const uint8_t **at, const uint8_t *end, struct wire_field *f)
{
	uint64_t key, bytes;
	f->begin = *at;
	if (!varint_read(at, end, &key))
		return false;
	f->number = (uint32_t)(key >> 3);
	f->wire = key & 7;
	f->value = *at;
	if (f->wire == 0) {
		if (!varint_read(at, end, &bytes))
			return false;
		bytes = 0;
	} else if (f->wire == 2) {
		if (!varint_read(at, end, &bytes))
			return false;
		f->value = *at;
	} else if (f->wire == 1 || f->wire == 5) {
		bytes = f->wire == 1 ? 8 : 4;
	} else {
		return false;
	}
	if (bytes > (uint64_t)(end - *at))
		return false;
	f->end = *at += bytes;
	return true;
}

/* ---- values ---- */

static uint64_t number_any(struct growing *g)
{
	static const uint64_t odd[] = {0, 1, UINT64_MAX, 127, 128, 65535, 65536, INT32_MAX,
		1ull << 31, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, 1ull << 48, 1000000000};
	switch (growing_random(g) % 4) {
	case 0:
		return odd[growing_random(g) % (sizeof(odd) / sizeof(*odd))];
	case 1:
		return growing_random(g);
	case 2:
		return growing_random(g) % 300;
	default:
		return growing_random(g) % 8;
	}
}

static void put_message(struct growing *g, const ProtobufCMessageDescriptor *type, unsigned depth);

static void put_packed(struct growing *g)
{
	uint8_t bytes[10];
	struct growing content = growing_child(g);
	for (uint64_t n = growing_random(g) % 12; n; n--)
		growing_put(&content, bytes, growing_varint(bytes, number_any(g)));
	growing_put_child(g, &content);
}

static void put_text(struct growing *g)
{
	static const char *const texts[] = {"", "a", "sm__one.sum", "%s%n", "\xff\xfe", "a;b\"<c>",
		"/../x", "regex:(((", "1e999", "x\n\ty", "launch__two", "<default domain>"};
	struct growing content = growing_child(g);
	const char *text = texts[growing_random(g) % (sizeof(texts) / sizeof(*texts))];
	for (uint64_t n = growing_random(g) % 50 ? 1 : growing_random(g) % 4000; n; n--)
		growing_put(&content, text, strlen(text));
	growing_put_child(g, &content);
}

static void put_field(struct growing *g, const ProtobufCFieldDescriptor *f, unsigned depth)
{
	const bool packed =
		f->label == PROTOBUF_C_LABEL_REPEATED && (f->flags & PROTOBUF_C_FIELD_FLAG_PACKED);
	uint64_t bits = number_any(g);
	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
		growing_put_key(g, f->id, 2);
		put_text(g);
		break;
	case PROTOBUF_C_TYPE_MESSAGE: {
		struct growing content = growing_child(g);
		growing_put_key(g, f->id, 2);
		if (depth)
			put_message(&content, f->descriptor, depth - 1);
		growing_put_child(g, &content);
		break;
	}
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		growing_put_key(g, f->id, 1);
		growing_put(g, &bits, 8);
		break;
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_FLOAT:
		growing_put_key(g, f->id, 5);
		growing_put(g, &bits, 4);
		break;
	default:
		growing_put_key(g, f->id, packed ? 2 : 0);
		if (packed)
			put_packed(g);
		else
			growing_put_varint(g, bits);
	}
}

/* Append a mutated message. Required fields are always present; otherwise the message would be
 * refused as a whole. */
static void put_message(struct growing *g, const ProtobufCMessageDescriptor *type, unsigned depth)
{
	for (unsigned i = 0; i < type->n_fields; i++)
		if (type->fields[i].label == PROTOBUF_C_LABEL_REQUIRED ||
			growing_random(g) % type->n_fields < 4)
			put_field(g, &type->fields[i], depth);
}

/* ---- a change ---- */

static void change(struct growing *g, const ProtobufCMessageDescriptor *type, const uint8_t *data,
	size_t bytes);

/* Append the bytes of a field with another value of its type. */
static void put_changed(struct growing *g, const struct wire_field *f)
{
	growing_put_key(g, f->number, f->wire);
	if (f->wire == 0) {
		growing_put_varint(g, number_any(g));
	} else if (f->wire == 2) {
		struct growing content = growing_child(g);
		growing_put(&content, f->value, (size_t)(f->end - f->value));
		growing_mutate(&content);
		growing_put_child(g, &content);
	} else {
		uint64_t bits = number_any(g);
		growing_put(g, &bits, (size_t)(f->end - f->value));
	}
}

/* Return true if a field is a message, or, with an unknown type, if its bytes look like one. */
static bool is_message(const struct wire_field *f, const ProtobufCFieldDescriptor *row, bool known)
{
	struct wire_field inner;
	if (f->wire != 2 || known)
		return f->wire == 2 && row && row->type == PROTOBUF_C_TYPE_MESSAGE;
	const uint8_t *at = f->value;
	while (at < f->end)
		if (!field_next(&at, f->end, &inner))
			return false;
	return true;
}

static void change_field(
	struct growing *g, const ProtobufCMessageDescriptor *type, const struct wire_field *f)
{
	const ProtobufCFieldDescriptor *row =
		type ? protobuf_c_message_descriptor_get_field(type, f->number) : NULL;
	const size_t bytes = (size_t)(f->end - f->begin);
	uint64_t way = growing_random(g) % 16;
	if (way < 12 && is_message(f, row, type)) {
		struct growing content = growing_child(g);
		growing_put_key(g, f->number, 2);
		change(&content, row ? row->descriptor : NULL, f->value,
			(size_t)(f->end - f->value));
		growing_put_child(g, &content);
	} else if (way % 4 == 0 && way) {
		growing_put(g, f->begin, bytes);
		growing_put(g, f->begin, bytes);
	} else if (way == 13) {
		for (uint64_t n = growing_random(g) % REPEATS_MAX; n; n--)
			growing_put(g, f->begin, bytes);
	} else if (way == 14 && row) {
		put_field(g, row, 2);
	} else if (way != 15) {
		put_changed(g, f);
	}
}

static void change(struct growing *g, const ProtobufCMessageDescriptor *type, const uint8_t *data,
	size_t bytes)
{
	struct wire_field f;
	uint64_t count = 0, chosen;
	const uint8_t *at = data, *end = data + bytes;
	while (field_next(&at, end, &f))
		count++;
	chosen = growing_random(g) % (count + 1 + count / 4);
	at = data;
	for (uint64_t i = 0; field_next(&at, end, &f); i++)
		if (i == chosen)
			change_field(g, type, &f);
		else
			growing_put(g, f.begin, (size_t)(f.end - f.begin));
	if (chosen >= count && type && type->n_fields)
		put_field(g, &type->fields[growing_random(g) % type->n_fields], 2);
}

size_t mutate_message(const ProtobufCMessageDescriptor *type, uint8_t *data, size_t bytes,
	size_t max, unsigned seed)
{
	struct growing g = growing_new(max, seed);
	for (uint64_t n = 1 + growing_random(&g) % CHANGES_MAX; n; n--) {
		g.bytes = 0;
		change(&g, type, data, bytes);
		if (g.is_full)
			break;
		bytes = g.bytes;
		if (bytes)
			memcpy(data, g.data, bytes);
	}
	growing_free(&g);
	return bytes;
}
