/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_lines.c - source lines of the instructions of Python code objects.
 *
 * Formats: Objects/lnotab_notes.txt of CPython 3.9 and 3.10, Objects/locations.md of 3.11.
 */
#include "common/python_lines.h"

#include <stdbool.h>

#include "common/frame_address.h"

#define UNIT_BYTES 2u

static uint32_t line_lnotab(const uint8_t *table, uint32_t bytes, uint32_t line, uint32_t at)
{
	for (uint32_t i = 0, address = 0; i + 1 < bytes; i += 2) {
		address += table[i];
		if (address > at)
			break;
		line += (uint32_t)(int8_t)table[i + 1];
	}
	return line;
}

static uint32_t line_linetable(const uint8_t *table, uint32_t bytes, uint32_t line, uint32_t at)
{
	uint32_t address = 0;
	for (uint32_t i = 0; i + 1 < bytes; i += 2) {
		bool none = table[i + 1] == 0x80;
		if (!none)
			line += (uint32_t)(int8_t)table[i + 1];
		address += table[i];
		if (at < address)
			return none ? 0 : line;
	}
	return 0;
}

struct locations {
	const uint8_t *at, *end;
};

/* Decode a number: six bits per byte, the lowest first; bit 6 = another byte follows. */
static uint32_t location_number(struct locations *l)
{
	uint32_t number = 0;
	for (uint32_t shift = 0; l->at < l->end; shift += 6) {
		uint8_t byte = *l->at++;
		if (shift < 32)
			number |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return number;
}

static uint32_t line_locations(
	const uint8_t *table, uint32_t bytes, uint32_t line, uint32_t instruction)
{
	struct locations l = {table, table + bytes};
	uint32_t reached = 0;
	while (l.at < l.end) {
		uint8_t first = *l.at++, code = first >> 3 & 15;
		if (code == 13 || code == 14) {
			uint32_t number = location_number(&l);
			line += number & 1 ? -(number >> 1) : number >> 1;
		} else if (code >= 10 && code <= 12) {
			line += code - 10u;
		}
		reached += (first & 7) + 1u;
		if (instruction < reached)
			return code == 15 ? 0 : line;
		/* Only the first byte of an entry has bit 7 set. */
		while (l.at < l.end && !(*l.at & 0x80))
			l.at++;
	}
	return 0;
}

uint32_t python_line(const uint8_t *table, uint32_t bytes, uint32_t lines, uint32_t first_line,
	uint32_t instruction)
{
	if (!instruction)
		return first_line;
	uint32_t index = instruction - 1;
	switch (lines) {
	case PYTHON_LNOTAB:
		return line_lnotab(table, bytes, first_line, index * UNIT_BYTES);
	case PYTHON_LINETABLE:
		return line_linetable(table, bytes, first_line, index * UNIT_BYTES);
	case PYTHON_LOCATIONS:
		return line_locations(table, bytes, first_line, index);
	default:
		return 0;
	}
}
