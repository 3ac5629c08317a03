/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fnv.h - the hash FNV-1a of 64 bits, which both halves use for names.
 */
#ifndef COMMON_SCHEMA_FNV_H
#define COMMON_SCHEMA_FNV_H

#include <stdint.h>

#define FNV_EMPTY UINT64_C(0xcbf29ce484222325) /* the hash of no bytes */

/* Return the hash of the bytes of `hash` and one more. Any thread. */
static inline uint64_t fnv_add(uint64_t hash, uint8_t byte)
{
	return (hash ^ byte) * UINT64_C(0x100000001b3);
}

/* Return the hash of a text. Any thread. */
static inline uint64_t fnv_text(const char *text)
{
	uint64_t hash = FNV_EMPTY;
	for (; *text; text++)
		hash = fnv_add(hash, (uint8_t)*text);
	return hash;
}

#endif
