/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -O2 -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
/* libchain_one.c - a plugin for callchain.c; libchain_two has the same code under other names. */
#ifndef CHAIN_NAME
#define CHAIN_NAME(name) one_##name
#endif
#include <unistd.h>

#define OWN_FRAME __attribute__((noinline, noclone))
static volatile int after;

OWN_FRAME int CHAIN_NAME(inner)(int fd, int n)
{
	char bytes[256];
	ssize_t got = pread(fd, bytes, (size_t)n, 0);
	after++;
	return (int)got;
}

OWN_FRAME int CHAIN_NAME(outer)(int fd, int n)
{
	int got = CHAIN_NAME(inner)(fd, n);
	after++;
	return got;
}
