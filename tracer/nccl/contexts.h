/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contexts.h - the communicators and events that NCCL has handles of.
 *
 * A handle is the number of its event, not an address: NCCL names parents long after they have
 * ended, when their entry may be that of another event. Any thread; no lock.
 */
#ifndef TRACER_NCCL_CONTEXTS_H
#define TRACER_NCCL_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/nccl/plugin_abi.h"

/* A communicator. */
struct nccl_context {
	uint32_t is_used;
	int32_t rank;
	uint64_t comm;
	void *theirs; /* context of the user's plug-in */
	int *mask;    /* NCCL's: which events it reports */
	int version;  /* of the interface that NCCL uses */
	int their_mask;
	int their_version;                /* that of the user's plug-in that takes part */
	const struct nccl_plugin *plugin; /* NULL = there is none */
};

/* An event that has begun, or ended not long ago. */
struct nccl_open {
	uint64_t number;                  /* 0 = none; stored last */
	uint64_t tick;                    /* 0 = it is not to be recorded */
	void *theirs;                     /* handle of the user's plug-in */
	const struct nccl_plugin *plugin; /* theirs: the communicator may end first */
	uint64_t comm, parent, sequence, count, bytes;
	uint64_t device_start, device_end;
	uint32_t name, type, algorithm, protocol; /* names, as in records */
	int32_t rank, peer;
	uint32_t channels, steps;
	uint8_t kind;
	uint8_t is_open;
};

/* Return a communicator's entry; NULL = there is no memory, or there are too many. */
struct nccl_context *nccl_context_take(void);

/* Return the entry of a new event, whose number is not stored yet; NULL = too many are open. */
struct nccl_open *nccl_event_take(uint64_t *ret_number);

/* Return the event of a handle; NULL if it ended long ago, or is none of ours. */
struct nccl_open *nccl_event_of(const void *handle);

/* Return true for a handle of the user's plug-in, which NCCL has as it is: ours are odd. */
static inline bool nccl_is_theirs(const void *handle)
{
	return handle && !((uintptr_t)handle & 1);
}

static inline void *nccl_handle(uint64_t number)
{
	return (void *)(uintptr_t)(number << 1 | 1);
}

#endif
