/*
 * mix.h - hashing for tables whose keys come from files: seeded anew in every process, so that no
 * file can be made whose keys all meet in one place.
 *
 * Any thread; allocates nothing.
 */
#ifndef READER_MIX_H
#define READER_MIX_H

#include <stdint.h>

extern uint64_t mix_seed[2]; /* random bits, before main() */

/* Two multiplications to 128 bits, folded: all bits of both numbers go into all bits, and which
 * keys meet depends on the seed. One alone leaves keys that differ in their high bits in a row. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product =
		(unsigned __int128)(a ^ mix_seed[0]) * (unsigned __int128)(b ^ mix_seed[1]);
	const uint64_t low = (uint64_t)product, high = (uint64_t)(product >> 64);
	product = (unsigned __int128)(low ^ mix_seed[1]) * (unsigned __int128)(high ^ mix_seed[0]);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
