/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - JSON of protobuf messages, by their descriptors. */
#include "reader/api/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/print.h"

static void put_message(FILE *out, const ProtobufCMessage *message);

static void put_value(FILE *out, const ProtobufCFieldDescriptor *f, const void *member)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_ENUM:
		print_i64(out, *(const int32_t *)member);
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		print_i64(out, *(const int64_t *)member);
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		print_u64(out, *(const uint32_t *)member);
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		print_u64(out, *(const uint64_t *)member);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		fputs(*(const protobuf_c_boolean *)member ? "true" : "false", out);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		print_real(out, (double)*(const float *)member, 9);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		print_real(out, *(const double *)member, 17);
		break;
	case PROTOBUF_C_TYPE_STRING:
		print_json_string(out, *(char *const *)member);
		break;
	case PROTOBUF_C_TYPE_BYTES: {
		const ProtobufCBinaryData *bytes = member;
		print_bytes(out, (const char *)bytes->data, bytes->len);
		break;
	}
	case PROTOBUF_C_TYPE_MESSAGE:
		put_message(out, *(ProtobufCMessage *const *)member);
	}
}

static bool is_there(const ProtobufCFieldDescriptor *f, const char *base)
{
	const char *member = base + f->offset, *quantifier = base + f->quantifier_offset;
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return *(const size_t *)quantifier > 0;
	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		return *(const uint32_t *)quantifier == f->id;
	if (f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_MESSAGE) {
		const void *pointer = *(void *const *)member;
		return pointer && pointer != f->default_value;
	}
	return f->label == PROTOBUF_C_LABEL_REQUIRED || *(const protobuf_c_boolean *)quantifier;
}

static size_t element_bytes(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return 8;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	default:
		return 4;
	}
}

static void put_field(FILE *out, const ProtobufCFieldDescriptor *f, const char *base)
{
	fprintf(out, "\"%s\":", f->name);
	if (f->label != PROTOBUF_C_LABEL_REPEATED) {
		put_value(out, f, base + f->offset);
		return;
	}
	const size_t count = *(const size_t *)(base + f->quantifier_offset),
		     bytes = element_bytes(f->type);
	const char *elements = *(char *const *)(base + f->offset);
	putc('[', out);
	for (size_t i = 0; i < count; i++) {
		if (i)
			putc(',', out);
		put_value(out, f, elements + i * bytes);
	}
	putc(']', out);
}

static void put_message(FILE *out, const ProtobufCMessage *message)
{
	const char *comma = "";
	putc('{', out);
	for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &message->descriptor->fields[i];
		if (!is_there(f, (const char *)message))
			continue;
		fputs(comma, out);
		put_field(out, f, (const char *)message);
		comma = ",";
	}
	putc('}', out);
}

int json_message(const ProtobufCMessage *message, char **ret_json)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return -ENOMEM;
	if (message)
		put_message(out, message);
	else
		fputs("{}", out);
	const bool failed = ferror(out);
	if (fclose(out) || failed) {
		free(text);
		return -ENOMEM;
	}
	*ret_json = text;
	return 0;
}
