/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - hash function for tables whose keys come from files. The seed is random in every
 * process, so no file can be crafted whose keys all collide.
 *
 * Any thread; allocates nothing.
 */
#ifndef READER_BASE_HASH_H
#define READER_BASE_HASH_H

#include <stdint.h>

extern uint64_t hash_seed[2]; /* set before main(); random if the kernel has entropy */

/* Hash two numbers by two multiplications to 128 bits, folded: every bit of the input affects every
 * bit of the result. One multiplication alone would map keys that differ in their high bits to
 * neighboring slots. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product =
		(unsigned __int128)(a ^ hash_seed[0]) * (unsigned __int128)(b ^ hash_seed[1]);
	const uint64_t low = (uint64_t)product, high = (uint64_t)(product >> 64);
	product =
		(unsigned __int128)(low ^ hash_seed[1]) * (unsigned __int128)(high ^ hash_seed[0]);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
