/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h - the simulated driver: the objects behind the handles, and the timeline of each stream.
 *
 * Work is carried out on the host when it is enqueued (data is there at once, in the order of the
 * calls) and takes its time on the timeline: start = the latest of now + launch latency, the end
 * of what the stream has before it, and what the default stream orders. Functions here take no
 * lock unless they say so; `driver_mutex` guards the lists and the streams' timelines.
 */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include "tests/sim/call.h"
#include "tests/sim/kernel.h"

#include <pthread.h>

enum { SIM_MAX_DEVICES = 8, SIM_NULL_STREAM_ID = 7, SIM_FIRST_STREAM_ID = 13 };

extern pthread_mutex_t driver_mutex;

struct CUstream_st {
	uint32_t id;
	CUcontext context;
	unsigned flags;
	int priority;
	uint64_t busy_until_ns;
	CUgraph capture;           /* the graph that records a capture, or NULL */
	CUgraphNode last_captured; /* the node that the next captured node depends on */
	CUgraphNode also_after; /* a second dependency: the event of another captured stream that it
				   waited for */
	CUstream next;
};

struct CUctx_st {
	uint32_t id;
	struct sim_device *device;
	unsigned flags;
	bool primary, live;
	uint32_t next_stream_id;
	struct CUstream_st null_stream;
	CUstream streams; /* all streams except the default one */
	CUcontext below;  /* in the thread's stack */
};

struct sim_device {
	struct sim_device_facts facts;
	char name[32];
	struct CUctx_st primary;
	unsigned primary_uses;
	uint64_t used_bytes;
	CUmemoryPool default_pool, current_pool;
	/* Memory of graphs: in use, and held, used or not; with their peaks. */
	uint64_t graph_used_bytes, graph_used_high, graph_held_bytes, graph_held_high;
};

struct CUevent_st {
	uint32_t id;
	CUcontext context;
	unsigned flags;
	bool recorded;
	uint64_t time_ns;
	uint64_t sync_id; /* counts the records of all events */
	CUstream stream;
	CUgraph capture;
	CUgraphNode captured_after;
};

/* One function of a module, also handed out as CUkernel. */
struct CUfunc_st {
	const char *name;
	CUmodule module;
	uint32_t registers, static_shared_bytes, local_bytes;
	bool loaded;                        /* loaded by its first launch */
	const struct sim_kernel *emulation; /* the program's struct sim_kernel, or NULL */
	CUfunction next;
};

struct CUmod_st {
	uint32_t id;
	CUcontext context;
	const void *image;
	size_t image_bytes;
	CUfunction functions;
	CUmodule next; /* unloaded before this one */
};

struct sim_device *sim_device(int ordinal);
bool driver_initialized(void);

/* Return the context of the calling thread, or NULL. */
CUcontext driver_context(void);
uint32_t driver_contexts_made(void);

/* Kinds of memory and the end of allocations: memory.c stores all of them. */
enum {
	MEMORY_PAGEABLE = 1,
	MEMORY_PINNED = 2,
	MEMORY_DEVICE = 3,
	MEMORY_ARRAY = 4,
	MEMORY_MANAGED = 5
};
struct allocation {
	uintptr_t address;
	size_t bytes;
	int kind;
	CUcontext context;
	CUmemoryPool pool;
	bool on_device;                /* managed memory: the pages are on the device */
	bool registered;               /* cuMemHostRegister: not ours to free */
	struct graph_memory *of_graph; /* the rest about memory of an allocation node, or NULL */
	struct allocation *next;
};

/* Return the allocation that contains an address, or NULL. It locks and unlocks, so copy what is
 * needed; a program that frees the memory meanwhile is wrong. */
struct allocation *memory_find(uintptr_t address);
int memory_kind_of(uintptr_t address);
/* Add an allocation and report it. Return its memory, or 0. */
uintptr_t memory_take(size_t bytes, int kind, CUmemoryPool pool, CUstream stream);
CUresult memory_give_back(uintptr_t address, bool async, CUstream stream);
/* Count memory of the device as used; false if it has no room. Count it as free again. */
bool memory_count(struct sim_device *device, size_t bytes);
void memory_uncount(struct sim_device *device, size_t bytes);
/* Move managed memory that a kernel of the context will touch to the device; `when_ns`: the
 * kernel's start. */
void memory_migrate_for_kernel(CUcontext context, CUstream stream, uint64_t when_ns);

/* Append an allocation to those that memory_find() finds. Locks. */
void memory_list_add(struct allocation *allocation);

/*
 * Memory of graphs (graph_memory.c). An allocation node has its address from its creation on, for
 * all launches; the memory is in use from the launch that runs the node to a free node of a launch,
 * of this graph or of another one, or to cuMemFree() and cuMemFreeAsync().
 */

/* Return the new address of an allocation node, or 0. The context's device holds the memory. */
uintptr_t graph_memory_new(size_t bytes, CUcontext context, CUgraph graph);
/* Note that the graph has a free node for this address. CUDA_ERROR_INVALID_VALUE if the address is
 * not that of an allocation node, or if it has a free node in this graph, or in another graph
 * although the graph that allocates it frees it or is to free it. */
CUresult graph_memory_free_node(uintptr_t address, CUgraph graph);
/* Start or end the use of that memory, and report it. CUDA_ERROR_INVALID_VALUE if it is in use or
 * is not; CUDA_ERROR_OUT_OF_MEMORY. `place`: the launch; NULL = a call that frees. */
CUresult graph_memory_take(uintptr_t address, const struct sim_op *place);
CUresult graph_memory_give_back(uintptr_t address, const struct sim_op *place);
bool graph_memory_is_used(uintptr_t address);

/* Pools (pool.c); all functions accept no pool. Count bytes in use; write a pool's facts into a
 * SIM_MEMORY operation. */
void pool_use(CUmemoryPool pool, int64_t bytes);
void pool_describe(CUmemoryPool pool, struct sim_op *op);

/* Return the stream of an API handle (0 to 2: the default stream), or NULL without a context. */
CUstream stream_of(CUstream handle);

/* Append work of that duration to the stream's timeline; set op's times, device, context, stream,
 * correlation. Locks. */
void stream_enqueue(CUstream stream, struct sim_op *op, uint64_t duration_ns);
uint64_t stream_busy_until(CUstream stream);
uint64_t context_busy_until(CUcontext context);
void context_add_stream(CUcontext context);

/* Sleep until that time and report a synchronization of that type
 * (CUpti_ActivitySynchronizationType). */
void sync_until(
	CUcontext context, CUstream stream, uint32_t type, CUevent event, uint64_t until_ns);

uint64_t copy_duration_ns(uint64_t bytes, int copy_kind);

/* A piece of work for the device, as a call submits it and as a graph node stores it. */
struct work {
	CUgraphNodeType type;
	struct sim_op op; /* kind and facts; times, stream and ids are set when the work runs */
	uint64_t duration_ns;
	void (*act)(struct work *work); /* does the work on the host; may be NULL */
	CUfunction function;
	void **arguments;
	uintptr_t target, source;
	size_t bytes;
	unsigned value, element_bytes;
	void (*host)(void *data);
	void *host_data;
};

/* Describe a copy, a set or a kernel as work. kind: CUpti_ActivityMemcpyKind, 0: derived from the
 * location of the memory. The caller keeps the arguments. */
void copy_prepare(
	struct work *work, uintptr_t target, uintptr_t source, size_t bytes, uint8_t kind);
void set_prepare(
	struct work *work, uintptr_t target, unsigned value, unsigned element_bytes, size_t bytes);
CUresult kernel_prepare(struct work *work, CUfunction function, const uint32_t grid[3],
	const uint32_t block[3], uint32_t shared_bytes, void **arguments);

/* Describe the allocation or release of memory of a graph as work. */
void graph_memory_prepare(struct work *work, CUgraphNodeType type, uintptr_t address, size_t bytes);

/* Capture an allocation or a release: it becomes a node. */
CUresult graph_capture_alloc(CUstream stream, CUdeviceptr *ret_address, size_t bytes);
CUresult graph_capture_free(CUstream stream, CUdeviceptr address);

/* Do the work now on the stream, or add it as a node if the stream is being captured. */
CUresult work_submit(CUstream stream, struct work *work);

/* graph.c: add a node that copies the work and its arguments. Return NULL without memory. Return
 * ids for libcupti. */
CUgraphNode graph_add(
	CUgraph graph, const struct work *work, const CUgraphNode *dependencies, size_t count);
uint32_t graph_id_of(void *graph);
uint32_t graph_exec_id_of(void *exec);
uint64_t graph_node_id_of(void *node);
void graph_log_whole(bool whole);

#endif
