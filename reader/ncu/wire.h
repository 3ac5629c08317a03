/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the fields of a message as they lie in its bytes, for what need not be unpacked or has
 * to keep them.
 *
 * No state; any thread; allocates nothing.
 */
#ifndef READER_NCU_WIRE_H
#define READER_NCU_WIRE_H

#include <stdint.h>

/* A field as it lies in a message: `at` to `end` is what is behind its length, or the number itself
 * is in `value`. */
struct wire_field {
	uint64_t number;
	unsigned type; /* enum wire_type */
	uint64_t value;
	const uint8_t *start, *at, *end; /* start: its tag */
};

/* The field at *at, which is moved behind it. 1, 0 at the end of the message, -EBADMSG. */
int wire_next(const uint8_t **at, const uint8_t *end, struct wire_field *ret_field);

#endif
