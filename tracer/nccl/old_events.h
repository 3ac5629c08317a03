/* SPDX-License-Identifier: Apache-2.0 */
/* old_events.h - events of versions 1 to 3 of the interface. No state; any thread. */
#ifndef TRACER_NCCL_OLD_EVENTS_H
#define TRACER_NCCL_OLD_EVENTS_H

#include "tracer/nccl/plugin_abi.h"

/* Fill *ret_event with what the event says; its type and group are not set. */
void nccl_old_event(int version, enum nccl_kind kind, const struct nccl_event *event,
	struct nccl_event *ret_event);

/* Return the communicator of a collective or message; 0 = it is neither. */
uint64_t nccl_old_comm(enum nccl_kind kind, const struct nccl_event *event);

#endif
