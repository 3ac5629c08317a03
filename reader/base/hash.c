/* SPDX-License-Identifier: Apache-2.0 */
/* hash.c - the seed of the hash function. */
#include "reader/base/hash.h"

#include <sys/random.h>

/* Defaults, kept if the kernel has no random bits yet. */
uint64_t hash_seed[2] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f)};

__attribute__((constructor)) static void seed(void)
{
	uint64_t bits[2];
	if (getrandom(bits, sizeof(bits), GRND_NONBLOCK) != (ssize_t)sizeof(bits))
		return;
	hash_seed[0] = bits[0];
	hash_seed[1] = bits[1] | 1;
}
