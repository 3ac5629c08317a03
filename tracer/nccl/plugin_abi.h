/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_abi.h - NCCL's profiler plug-in interface, versions 1 to 7, as NVIDIA publishes it with
 * NCCL (headers profiler_v1.h to profiler_v7.h).
 *
 * Versions 4 to 7 have one layout as far as it is declared here: the type is a byte in version 4
 * and 64 bits from 5 on, the group is a member from 5 on, and later versions add types of events.
 * In versions 1 to 3, whose type is a byte, too, collectives and messages differ (struct
 * nccl_event_old).
 */
#ifndef TRACER_NCCL_PLUGIN_ABI_H
#define TRACER_NCCL_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#define NCCL_VERSION_FIRST 1
#define NCCL_VERSION_NEW 4 /* the first one that says at its start which communicator it is */
#define NCCL_VERSION_LAST 7

enum nccl_kind {
#define NCCL_KIND(bit, id, name) NCCL_##id = bit,
#include "common/schema/nccl.def"
	NCCL_KINDS
};
#undef EVENT
#undef FIELD

struct nccl_event {
	uint64_t type; /* 1 << kind; in version 4 only the lowest byte is defined */
	void *parent;
	int32_t rank;
	union {
		struct {
			uint64_t sequence;
			const char *function;
			const void *from;
			void *to;
			size_t count;
			int32_t root;
			const char *type;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
			void *group; /* from version 5 on */
		} coll;
		struct {
			const char *function;
			void *buffer;
			const char *type;
			size_t count;
			int32_t peer;
			uint8_t channels;
			void *group; /* from version 5 on */
		} p2p;
		struct {
			int32_t pid;
			uint8_t channel;
			int32_t peer, steps, chunk_bytes, is_send;
		} proxy;
		struct {
			int32_t step;
		} step;
		struct {
			uint8_t channel;
			uint64_t timer; /* of the GPU */
		} kernel;
	};
};

/* A collective or message of versions 1 to 3. */
struct nccl_event_old {
	uint8_t type;
	void *parent;
	int32_t rank;
	const char *comm_name;
	uint64_t comm;
	union {
		struct {
			uint64_t sequence;
			uint8_t function;
			const void *from;
			void *to;
			size_t count;
			int32_t root;
			uint8_t type;
			uint32_t operation;
			size_t traffic_bytes;
			uint8_t channels, warps, algorithm, protocol;
		} coll_1;
		struct {
			uint64_t sequence;
			const char *function;
			const void *from;
			void *to;
			size_t count;
			int32_t root;
			const char *type;
			size_t traffic_bytes;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
		} coll_2;
		struct {
			uint64_t sequence;
			const char *function;
			const void *from;
			void *to;
			size_t count;
			int32_t root;
			const char *type;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
		} coll_3;
		struct {
			uint8_t function;
			void *buffer;
			uint8_t type;
			size_t count;
			int32_t peer;
		} p2p_1;
		struct {
			const char *function;
			void *buffer;
			const char *type;
			size_t count;
			int32_t peer;
		} p2p_2; /* and 3 */
	};
};

#define NCCL_STATE_KERNEL_STOP 22 /* of a kernel's channel: the arguments are the GPU's timer */

typedef void nccl_log(int, unsigned long, const char *, int, const char *, ...);
typedef int nccl_init_1(void **ret_context, int *mask);
typedef int nccl_init_4(void **ret_context, int *mask, const char *name, uint64_t comm, int nodes,
	int ranks, int rank, nccl_log *log);
typedef int nccl_init_5(void **ret_context, uint64_t comm, int *mask, const char *name, int nodes,
	int ranks, int rank, nccl_log *log);

/* What a plug-in of one version exports as ncclProfiler_vN. */
struct nccl_plugin {
	const char *name;
	union {
		nccl_init_1 *init_1; /* to version 3 */
		nccl_init_4 *init_4;
		nccl_init_5 *init_5; /* from version 5 on */
	};
	int (*start)(void *context, void **ret_handle, struct nccl_event *event);
	int (*stop)(void *handle);
	int (*state)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};

#endif
