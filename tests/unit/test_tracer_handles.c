/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_handles.c - tests of the handles of another NVTX tool.
 *
 * Each handle maps to our object, whichever thread created it; handles beyond the limit map to no
 * object. Names are recognized by their address, and no other number is taken for a name.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "tap.h"
#include "tracer/nvtx/handles.h"
#include "tracer/core/names.h"

#define THREADS 4u
#define EACH 5000u

static uint64_t handle_of(uint64_t thread, uint64_t i)
{
	return 0x7f0000000000u + (thread * EACH + i) * 64;
}

static void *pair_some(void *number)
{
	uint64_t thread = (uint64_t)(uintptr_t)number;
	for (uint64_t i = 0; i < EACH; i++)
		handles_pair(handle_of(thread, i), thread << 32 | i);
	return NULL;
}

static void pairs_of_threads(void)
{
	pthread_t threads[THREADS];
	unsigned wrong = 0;
	check(!handles_in_use && handles_ours(0x1234) == 0x1234, "no handle is in use at first");
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, pair_some, (void *)i))
			abort();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint64_t t = 0; t < THREADS; t++)
		for (uint64_t i = 0; i < EACH; i++)
			wrong += handles_ours(handle_of(t, i)) != (t << 32 | i);
	check(handles_in_use && wrong == 0, "each handle leads to our object: %u do not", wrong);
	handles_pair(handle_of(1, 1), 77);
	check(handles_ours(handle_of(1, 1)) == 77,
		"a handle that is given again leads to the new object");
	check(handles_ours(0) == 0 && handles_ours(5) == 5,
		"0, and a number that is no handle, stay unchanged");
}

static void no_room(void)
{
	unsigned lost = 0;
	for (uint64_t i = 0; i < 2 * HANDLES_MAX; i++)
		handles_pair(0x100000 + i * 8, 1);
	for (uint64_t i = 0; i < 2 * HANDLES_MAX; i++)
		lost += handles_ours(0x100000 + i * 8) != 1;
	check(lost >= HANDLES_MAX && lost < 2 * HANDLES_MAX,
		"handles beyond the limit are not found: %u", lost);
	check(handles_ours(handle_of(0, 7)) == 7, "handles within the limit are still found");
}

static void names_are_known(void)
{
	struct name *names[100];
	unsigned wrong = 0;
	for (int i = 0; i < 100; i++) {
		char text[] = {'n', (char)('0' + i / 10), (char)('0' + i % 10)};
		names[i] = names_intern(false, NULL, text, sizeof(text), false, NULL);
		if (!names[i])
			abort();
	}
	for (int i = 0; i < 100; i++)
		wrong += names_known((uint64_t)(uintptr_t)names[i]) != names[i];
	for (int i = 0; i < 100; i++)
		for (uint64_t off = 1; off < 24; off++) {
			struct name *known = names_known((uint64_t)(uintptr_t)names[i] + off);
			wrong += known != NULL &&
				(uint64_t)(uintptr_t)known != (uint64_t)(uintptr_t)names[i] + off;
		}
	check(wrong == 0, "names are recognized by their address: %u are not", wrong);
	check(!names_known(0) && !names_known(8) && !names_known(UINT64_MAX) &&
			!names_known((uint64_t)(uintptr_t)&wrong),
		"other numbers are not taken for names");
	handles_pair(0x4000, (uint64_t)(uintptr_t)names[5]);
	check(handles_name(0x4000) == names[5], "a handle of another tool leads to a name");
}

int main(void)
{
	pairs_of_threads();
	names_are_known();
	no_room();
	return tap_done();
}
