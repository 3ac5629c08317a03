/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - iteration over the fields of a message in wire format, for code that must not unpack it
 * or must preserve it.
 *
 * No state; any thread; allocates nothing.
 */
#ifndef READER_NCU_WIRE_H
#define READER_NCU_WIRE_H

#include <stdint.h>

/* A field of a message: either the bytes from `at` to `end`, after the length, or the number in
 * `value`. */
struct wire_field {
	uint64_t number;
	unsigned type; /* enum wire_type */
	uint64_t value;
	const uint8_t *start, *at, *end; /* start: first byte of the tag */
};

/* Read the field at *at and advance *at past it. Returns 1, 0 at the end of the message, or
 * -EBADMSG. */
int wire_next(const uint8_t **at, const uint8_t *end, struct wire_field *ret_field);

#endif
