/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c.c - CRC-32C by the processor's instruction or by a small table.
 */
#include "common/crc32c.h"

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

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdbool.h>

/* Execute cpuid once. glibc has a function for this only since 2.33; the compiler's check reads
 * many leaves, which takes 100 us in a virtual machine. */
static bool has_sse42(void)
{
	static uint32_t known; /* 0: not asked yet, 1: no, 2: yes */
	uint32_t answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (!answer) {
		unsigned a, b, c, d;
		__cpuid(1, a, b, c, d);
		answer = c & bit_SSE4_2 ? 2 : 1;
		__atomic_store_n(&known, answer, __ATOMIC_RELAXED);
	}
	return answer == 2;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(
	uint32_t crc, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t state = (uint32_t)~crc;
	for (; bytes >= 8; bytes -= 8, p += 8) {
		uint64_t word;
		__builtin_memcpy(&word, p, 8);
		state = __builtin_ia32_crc32di(state, word);
	}
	while (bytes--)
		state = __builtin_ia32_crc32qi((uint32_t)state, *p++);
	return ~(uint32_t)state;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
#if defined(__x86_64__)
	if (has_sse42())
		return crc32c_sse42(crc, data, bytes);
#endif
	return crc32c_portable(crc, data, bytes);
}
