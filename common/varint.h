/* SPDX-License-Identifier: Apache-2.0 */
/*
 * varint.h - protobuf's base-128 numbers, written and read in place.
 *
 * Inline, no allocation, no state: any thread. Writers need VARINT_MAX bytes of room; readers never
 * look at or past `end`.
 */
#ifndef COMMON_VARINT_H
#define COMMON_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX 10u

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* Write a number, at most VARINT_MAX bytes (protobuf's base-128 varint). Return the position after
 * it. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t value)
{
	while (value >= 0x80) {
		*p++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*p++ = (uint8_t)value;
	return p;
}

/* Map a signed number to an unsigned one that is small if the number is near 0 (protobuf's
 * sint64). */
static inline uint64_t zigzag_encode(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

/* Invert zigzag_encode(). */
static inline int64_t zigzag_decode(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Read a number. Return the position after it, or NULL if it is truncated or longer than
 * VARINT_MAX. */
static inline const uint8_t *varint_get(const uint8_t *p, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t value = 0;
	for (unsigned shift = 0; p < end && shift < 70; shift += 7) {
		value |= (uint64_t)(*p & 0x7f) << shift;
		if (!(*p++ & 0x80)) {
			*ret_value = value;
			return p;
		}
	}
	return NULL;
}

/* Return the number of bytes that varint_put() writes. */
static inline size_t varint_bytes(uint64_t value)
{
	return (size_t)(9 * (64 - __builtin_clzll(value | 1)) + 64) / 64;
}

/* Write field number and wire type, which precede a field. */
static inline uint8_t *varint_put_tag(uint8_t *p, uint32_t field, enum wire_type type)
{
	return varint_put(p, (uint64_t)field << 3 | type);
}

#endif
