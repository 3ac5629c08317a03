/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_read.h - reading of numbers in DWARF tables, never past their end. Any thread,
 * async-signal-safe.
 */
#ifndef UNWIND_CFI_READ_H
#define UNWIND_CFI_READ_H

#include <stdbool.h>
#include <stdint.h>

/* A position in a table. A read past `end` returns 0 and marks the table as bad. */
struct reader {
	uint64_t at, end;
	bool bad;
};

static inline uint64_t read_bytes(struct reader *r, unsigned count)
{
	uint64_t value = 0;
	if (r->bad || r->end - r->at < count) {
		r->bad = true;
		return 0;
	}
	const unsigned char *byte = (const unsigned char *)(uintptr_t)r->at;
	for (unsigned i = 0; i < count; i++)
		value |= (uint64_t)byte[i] << (8 * i);
	r->at += count;
	return value;
}

static inline int64_t read_signed(struct reader *r, unsigned count)
{
	unsigned shift = 64 - 8 * count;
	return (int64_t)(read_bytes(r, count) << shift) >> shift;
}

static inline uint64_t read_uleb(struct reader *r)
{
	uint64_t value = 0, byte = 0x80;
	for (unsigned shift = 0; byte & 0x80 && !r->bad; shift += 7) {
		byte = read_bytes(r, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
	}
	return value;
}

static inline int64_t read_sleb(struct reader *r)
{
	uint64_t value = 0, byte = 0x80;
	unsigned shift = 0;
	while (byte & 0x80 && !r->bad) {
		byte = read_bytes(r, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	}
	if (byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return (int64_t)value;
}

/* Read a pointer in encoding DW_EH_PE_*: absolute, or relative to its own address. */
static inline uint64_t read_pointer(struct reader *r, unsigned encoding)
{
	uint64_t place = r->at, value;
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = read_bytes(r, 8);
		break;
	case 0x01:
		value = read_uleb(r);
		break;
	case 0x02:
		value = read_bytes(r, 2);
		break;
	case 0x03:
		value = read_bytes(r, 4);
		break;
	case 0x09:
		value = (uint64_t)read_sleb(r);
		break;
	case 0x0a:
		value = (uint64_t)read_signed(r, 2);
		break;
	case 0x0b:
		value = (uint64_t)read_signed(r, 4);
		break;
	default:
		value = 0;
		r->bad = true;
	}
	if ((encoding & 0x70) == 0x10)
		value += place;
	else if (encoding & 0x70)
		r->bad = true;
	return value;
}

/* Skip `count` bytes; if there are fewer, set `bad`. */
static inline void skip(struct reader *r, uint64_t count)
{
	if (r->bad || r->end - r->at < count)
		r->bad = true;
	else
		r->at += count;
}

#endif
