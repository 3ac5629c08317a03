/* SPDX-License-Identifier: Apache-2.0 */
/* depth.c - check of the nesting and number of messages before they are unpacked. */
#include "reader/ncu/depth.h"

#include "common/varint.h"

/* Skip the value of a field that is not a message; NULL = malformed. */
static const uint8_t *value_skip(const uint8_t *at, const uint8_t *end, enum wire_type type)
{
	uint64_t ignored;
	size_t bytes = type == WIRE_FIXED64 ? 8 : 4;
	if (type == WIRE_VARINT)
		return varint_get(at, end, &ignored);
	if (type != WIRE_FIXED64 && type != WIRE_FIXED32)
		return NULL;
	return (size_t)(end - at) < bytes ? NULL : at + bytes;
}

/* Return false if a message exceeds a limit. *parts: number of messages and texts still allowed. */
static bool is_sane(const ProtobufCMessageDescriptor *d, const uint8_t *at, const uint8_t *end,
	unsigned depth, uint32_t *parts)
{
	if (depth > MESSAGE_DEPTH_MAX)
		return false;
	while (at && at < end) {
		uint64_t tag, bytes;
		at = varint_get(at, end, &tag);
		if (!at)
			return true;
		if ((tag & 7) != WIRE_BYTES) {
			at = value_skip(at, end, (enum wire_type)(tag & 7));
			continue;
		}
		at = varint_get(at, end, &bytes);
		if (!at || bytes > (uint64_t)(end - at))
			return true;
		const ProtobufCFieldDescriptor *f = tag >> 3 <= UINT32_MAX
			? protobuf_c_message_descriptor_get_field(d, (unsigned)(tag >> 3))
			: NULL;
		if (!(*parts)--)
			return false;
		if (f && f->type == PROTOBUF_C_TYPE_MESSAGE &&
			!is_sane(f->descriptor, at, at + bytes, depth + 1, parts))
			return false;
		at += bytes;
	}
	return true;
}

bool message_depth_is_sane(
	const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count)
{
	uint32_t parts = MESSAGE_PARTS_MAX;
	return is_sane(type, bytes, bytes + count, 0, &parts);
}
