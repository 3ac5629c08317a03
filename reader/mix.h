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

/* A multiplication to 128 bits, folded: all bits of the seeded numbers go into all bits. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product =
		(unsigned __int128)(a ^ mix_seed[0]) * (unsigned __int128)(b ^ mix_seed[1]);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
