#include "reader/mix.h"

#include <sys/random.h>

/* As they are where the kernel gives none. */
uint64_t mix_seed[2] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f)};

__attribute__((constructor)) static void seed(void)
{
	uint64_t bits[2];
	if (getrandom(bits, sizeof(bits), GRND_NONBLOCK) != (ssize_t)sizeof(bits))
		return;
	mix_seed[0] = bits[0];
	mix_seed[1] = bits[1] | 1;
}
