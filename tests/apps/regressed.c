/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * regressed.c - processes items in stages, each an NVTX range, with a small regression in one stage
 * that `trace diff` has to find (tests/proof/diff.py).
 *
 *     regressed [none | slow | lock | copy | call] [ITEMS=150]
 *
 * slow: solve() does 3 % more; lock: store() takes a free lock once more; copy: pack() copies the
 * block once more; call: store() writes once more. All of it happens once per item.
 */
#include "app.h"

#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#define TEXT_BYTES 24576
#define BLOCK_BYTES (128 << 10)
#define STEPS 20000

static unsigned char text[TEXT_BYTES], block[BLOCK_BYTES], packed[BLOCK_BYTES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long result;
static int sink, steps = STEPS, locks = 1, copies = 1, writes = 1;

__attribute__((noinline)) static void parse(void)
{
	unsigned long hash = 14695981039346656037ul;
	for (int i = 0; i < TEXT_BYTES; i++)
		hash = (hash ^ text[i]) * 1099511628211ul;
	result += hash;
}

__attribute__((noinline)) static void solve(void)
{
	double x = 1;
	for (int i = 0; i < steps; i++)
		x = x * 1.0000001 + 1e-9;
	result += (unsigned long)x;
}

__attribute__((noinline)) static void pack(int item)
{
	block[item % BLOCK_BYTES]++;
	for (int i = 0; i < copies; i++) {
		memcpy(packed, block, BLOCK_BYTES);
		__asm__ volatile("" ::"r"(packed) : "memory");
	}
	for (int i = 0; i < BLOCK_BYTES; i += 64)
		result += packed[i];
}

__attribute__((noinline)) static void store(void)
{
	for (int i = 0; i < locks; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < writes; i++)
		if (write(sink, packed, 64) != 64)
			abort();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "none";
	int items = argc > 2 ? atoi(argv[2]) : 150;
	steps += strcmp(what, "slow") ? 0 : STEPS * 3 / 100;
	locks += !strcmp(what, "lock");
	copies += !strcmp(what, "copy");
	writes += !strcmp(what, "call");
	sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (int item = 0; item < items; item++) {
		nvtxRangePushA("item");
		nvtxRangePushA("parse");
		parse();
		nvtxRangePop();
		nvtxRangePushA("solve");
		solve();
		nvtxRangePop();
		nvtxRangePushA("pack");
		pack(item);
		nvtxRangePop();
		nvtxRangePushA("store");
		store();
		nvtxRangePop();
		nvtxRangePop();
	}
	return 0;
}
