/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c.c - CRC-32C by the processor's instruction or by a small table.
 */
#include "common/crc32c.h"

#include "machine/machine.h"

#define POLYNOMIAL 0x82f63b78u

/* Compute the table of 16 entries (two lookups per byte) on the stack at each call: no state is
 * shared. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint32_t table[16];
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t nibble = i;
		for (int bit = 0; bit < 4; bit++)
			nibble = nibble >> 1 ^ (POLYNOMIAL & -(nibble & 1));
		table[i] = nibble;
	}
	crc = ~crc;
	while (bytes--) {
		crc ^= *p++;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
	if (machine_has_crc32c())
		return ~machine_crc32c(~crc, data, bytes);
	return crc32c_portable(crc, data, bytes);
}
