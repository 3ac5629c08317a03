/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocated.c - a benchmark that allocates a large block in each of STEPS, fills it and sums a
 * small table up; how the allocator gets such blocks is chosen from outside
 * (GLIBC_TUNABLES=glibc.malloc.mmap_threshold=...; tests/proof/functions.py).
 *
 *     allocated STEPS
 */
#include "app.h"

#define BLOCK_BYTES (256u << 10)
#define POINTS 512

static double table[POINTS];
static volatile double result;

__attribute__((noinline)) static void fill(unsigned char *block)
{
	for (unsigned i = 0; i < BLOCK_BYTES; i += 64)
		block[i] = (unsigned char)i;
}

__attribute__((noinline)) static void sum(int passes)
{
	for (int pass = 0; pass < passes; pass++)
		for (int i = 1; i < POINTS - 1; i++)
			table[i] = 0.5 * (table[i - 1] + table[i + 1] + 1.0);
	result += table[POINTS / 2];
}

int main(int argc, char **argv)
{
	const int steps = argc > 1 ? atoi(argv[1]) : 100;
	for (int step = 0; step < steps; step++) {
		unsigned char *block = malloc(BLOCK_BYTES);
		if (!block)
			return 1;
		fill(block);
		sum(20);
		free(block);
	}
	return 0;
}
