/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - iteration over the fields of a message in wire format. */
#include "reader/ncu/wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "common/varint.h"

static uint64_t fixed(const uint8_t *at, size_t bytes)
{
	uint64_t value = 0;
	memcpy(&value, at, bytes);
	return le64toh(value);
}

int wire_next(const uint8_t **at, const uint8_t *end, struct wire_field *f)
{
	uint64_t tag;
	if (*at == end)
		return 0;
	f->start = *at;
	f->at = varint_get(*at, end, &tag);
	if (!f->at)
		return -EBADMSG;
	f->number = tag >> 3;
	f->type = tag & 7;
	if (f->type == WIRE_VARINT || f->type == WIRE_BYTES) {
		f->at = varint_get(f->at, end, &f->value);
		if (!f->at || (f->type == WIRE_BYTES && f->value > (uint64_t)(end - f->at)))
			return -EBADMSG;
		f->end = f->type == WIRE_BYTES ? f->at + f->value : f->at;
	} else if (f->type == WIRE_FIXED64 || f->type == WIRE_FIXED32) {
		const size_t bytes = f->type == WIRE_FIXED64 ? 8 : 4;
		if ((size_t)(end - f->at) < bytes)
			return -EBADMSG;
		f->value = fixed(f->at, bytes);
		f->end = f->at + bytes;
	} else {
		return -EBADMSG;
	}
	*at = f->end;
	return 1;
}
