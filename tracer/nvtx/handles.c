/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handles.c - the hash table of another NVTX tool's handles.
 */
#define _GNU_SOURCE
#include "tracer/nvtx/handles.h"

#include <stddef.h>

#include "common/sys.h"

#define SLOTS (2 * HANDLES_MAX) /* a power of two, half of them free */

struct pair {
	uint64_t theirs; /* 0 = free; stored last */
	uint64_t ours;
};

uint32_t handles_in_use;

static struct pair *pairs; /* NULL = none yet */
static uint32_t used;

static struct pair *table(void)
{
	struct pair *found = __atomic_load_n(&pairs, __ATOMIC_ACQUIRE), *none = NULL;
	if (found)
		return found;
	struct pair *made = sys_mmap_private(SLOTS * sizeof(*made));
	if (made &&
		!__atomic_compare_exchange_n(
			&pairs, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		sys_munmap(made, SLOTS * sizeof(*made));
		made = none;
	}
	return made;
}

static uint32_t slot_of(uint64_t handle)
{
	return (uint32_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS;
}

/* A slot is taken by storing 1, which is not a valid handle, as its key; the real key is stored
 * once the slot is filled. */
void handles_pair(uint64_t theirs, uint64_t ours)
{
	struct pair *t = theirs > 1 ? table() : NULL;
	if (t)
		__atomic_store_n(&handles_in_use, 1, __ATOMIC_RELAXED);
	if (!t || __atomic_load_n(&used, __ATOMIC_RELAXED) >= HANDLES_MAX)
		return;
	for (uint32_t at = slot_of(theirs), tries = 0; tries < SLOTS;
		tries++, at = (at + 1) % SLOTS) {
		uint64_t key = __atomic_load_n(&t[at].theirs, __ATOMIC_ACQUIRE), none = 0;
		if (key == theirs) {
			__atomic_store_n(&t[at].ours, ours, __ATOMIC_RELEASE);
			return;
		}
		if (key ||
			!__atomic_compare_exchange_n(
				&t[at].theirs, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			continue;
		__atomic_add_fetch(&used, 1, __ATOMIC_RELAXED);
		t[at].ours = ours;
		__atomic_store_n(&t[at].theirs, theirs, __ATOMIC_RELEASE);
		return;
	}
}

uint64_t handles_ours(uint64_t theirs)
{
	const struct pair *t = __atomic_load_n(&pairs, __ATOMIC_ACQUIRE);
	if (!t || theirs <= 1)
		return theirs;
	for (uint32_t at = slot_of(theirs), tries = 0; tries < SLOTS;
		tries++, at = (at + 1) % SLOTS) {
		uint64_t key = __atomic_load_n(&t[at].theirs, __ATOMIC_ACQUIRE);
		if (key == theirs)
			return __atomic_load_n(&t[at].ours, __ATOMIC_ACQUIRE);
		if (!key)
			break;
	}
	return theirs;
}
