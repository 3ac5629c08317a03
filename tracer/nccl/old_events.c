/* SPDX-License-Identifier: Apache-2.0 */
/* old_events.c - events of versions 1 to 3 of NCCL's profiler plug-in interface. */
#include "tracer/nccl/old_events.h"

#include <stdbool.h>

/* Version 1 has numbers in place of names: ncclFunc_t, ncclDataType_t, NCCL_ALGO_* and NCCL_PROTO_*
 * of NCCL 2.23, which has that version. */
static const char *const functions[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
	"AllReduce", "SendRecv", "Send", "Recv"},
			 *const types[] = {"ncclInt8", "ncclUint8", "ncclInt32", "ncclUint32",
				 "ncclInt64", "ncclUint64", "ncclFloat16", "ncclFloat32",
				 "ncclFloat64", "ncclBfloat16"},
			 *const algorithms[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN",
				 "NVLS", "NVLS_TREE", "PAT"},
			 *const protocols[] = {"LL", "LL128", "SIMPLE"};
#define NAME(names, number) ((number) < sizeof(names) / sizeof((names)[0]) ? (names)[number] : NULL)

static const struct nccl_event_old *old_of(const struct nccl_event *event)
{
	return (const struct nccl_event_old *)(const void *)event;
}

static void collective(int version, const struct nccl_event_old *old, struct nccl_event *e)
{
	if (version == 1) {
		e->coll.sequence = old->coll_1.sequence;
		e->coll.function = NAME(functions, old->coll_1.function);
		e->coll.count = old->coll_1.count;
		e->coll.root = old->coll_1.root;
		e->coll.type = NAME(types, old->coll_1.type);
		e->coll.channels = old->coll_1.channels;
		e->coll.algorithm = NAME(algorithms, old->coll_1.algorithm);
		e->coll.protocol = NAME(protocols, old->coll_1.protocol);
		return;
	}
	/* Both have the same members up to the type. */
	e->coll.sequence = old->coll_3.sequence;
	e->coll.function = old->coll_3.function;
	e->coll.count = old->coll_3.count;
	e->coll.root = old->coll_3.root;
	e->coll.type = old->coll_3.type;
	e->coll.channels = version == 2 ? old->coll_2.channels : old->coll_3.channels;
	e->coll.algorithm = version == 2 ? old->coll_2.algorithm : old->coll_3.algorithm;
	e->coll.protocol = version == 2 ? old->coll_2.protocol : old->coll_3.protocol;
}

static void message(int version, const struct nccl_event_old *old, struct nccl_event *e)
{
	bool is_first = version == 1;
	e->p2p.function = is_first ? NAME(functions, old->p2p_1.function) : old->p2p_2.function;
	e->p2p.type = is_first ? NAME(types, old->p2p_1.type) : old->p2p_2.type;
	e->p2p.count = is_first ? old->p2p_1.count : old->p2p_2.count;
	e->p2p.peer = is_first ? old->p2p_1.peer : old->p2p_2.peer;
}

void nccl_old_event(int version, enum nccl_kind kind, const struct nccl_event *event,
	struct nccl_event *ret_event)
{
	*ret_event = (struct nccl_event){.parent = event->parent, .rank = event->rank};
	switch (kind) {
	case NCCL_COLL:
		collective(version, old_of(event), ret_event);
		break;
	case NCCL_P2P:
		message(version, old_of(event), ret_event);
		break;
	case NCCL_PROXY_OP:
		ret_event->proxy = event->proxy;
		break;
	case NCCL_PROXY_STEP:
		ret_event->step = event->step;
		break;
	case NCCL_KERNEL_CHANNEL:
		ret_event->kernel.channel = event->kernel.channel; /* it has no timer */
		break;
	default:
		break;
	}
}

uint64_t nccl_old_comm(enum nccl_kind kind, const struct nccl_event *event)
{
	return kind == NCCL_COLL || kind == NCCL_P2P ? old_of(event)->comm : 0;
}
