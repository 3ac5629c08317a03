/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contexts.c - the communicators and events that NCCL has handles of.
 */
#include "tracer/nccl/contexts.h"

#include <stddef.h>

#include "common/sys.h"

#define CONTEXTS_MAX 1024u
#define EVENTS_MAX 32768u /* a power of two */
#define TRIES 64u

/* Mapped when the first communicator is created: few programs have one. */
static struct tables {
	struct nccl_context contexts[CONTEXTS_MAX];
	struct nccl_open events[EVENTS_MAX];
} * tables;
static uint64_t last_number;

struct nccl_context *nccl_context_take(void)
{
	if (!__atomic_load_n(&tables, __ATOMIC_ACQUIRE)) {
		struct tables *none = NULL, *mapped = sys_mmap_beyond_data(sizeof(*mapped));
		/* Of two threads that come here at once, one leaves its tables, which are empty. */
		__atomic_compare_exchange_n(
			&tables, &none, mapped, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
	for (uint32_t i = 0; tables && i < CONTEXTS_MAX; i++) {
		uint32_t free = 0;
		if (__atomic_compare_exchange_n(&tables->contexts[i].is_used, &free, 1, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &tables->contexts[i];
	}
	return NULL;
}

struct nccl_open *nccl_event_take(uint64_t *ret_number)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
		struct nccl_open *e = &tables->events[number % EVENTS_MAX];
		uint8_t ended = 0;
		if (!__atomic_compare_exchange_n(
			    &e->is_open, &ended, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&e->number, 0, __ATOMIC_RELEASE);
		*ret_number = number;
		return e;
	}
	return NULL;
}

struct nccl_open *nccl_event_of(const void *handle)
{
	uint64_t word = (uint64_t)(uintptr_t)handle, number = word >> 1;
	if (!(word & 1) || !tables)
		return NULL;
	struct nccl_open *e = &tables->events[number % EVENTS_MAX];
	return __atomic_load_n(&e->number, __ATOMIC_ACQUIRE) == number ? e : NULL;
}
