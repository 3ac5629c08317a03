/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.h - types and functions that the three libraries of the simulated device share: libcuda
 * (driver and device), libcudart and libcupti.
 *
 * libcuda holds all state. The other two open it as the real ones do, by dlopen("libcuda.so.1"),
 * and get struct sim_driver from cuGetExportTable(SIM_DRIVER_UUID). Times are nanoseconds of
 * CLOCK_MONOTONIC throughout; libcupti alone turns them into the clock that its client registered.
 * All functions may be called from any thread.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_EXPORT __attribute__((visibility("default")))

/* An option of SIM_FAULT or SIM_DEVICE; options.def documents each option. */
enum sim_option {
#define OPTION(name, initial, meaning) SIM_OPTION_##name,
#include "options.def"
#undef OPTION
	SIM_OPTION_COUNT
};

enum sim_domain {
	SIM_DRIVER_API = 1,
	SIM_RUNTIME_API = 2
}; /* the numbers of CUpti_CallbackDomain */

/* One call of the driver or runtime API; lives on the caller's stack from sim_enter to sim_exit. */
struct sim_call {
	enum sim_domain domain;
	uint32_t cbid;
	uint32_t correlation; /* a nested call has the id of the outer call, unless
				 SIM_FAULT=nested_ids=1 */
	uint32_t result;
	const char *name;       /* with its version: cudaMalloc_v3020, cuMemAlloc_v2 */
	const char *plain_name; /* without the runtime's version */
	void *params;
	const char *symbol; /* name of the kernel, in a call that launches one */
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t tool_data[2]; /* at enter and exit for the tool: CUpti_CallbackData.correlationData
				*/
	bool told;             /* the tool was notified of the call's begin */
	struct sim_call *outer;
};

enum sim_op_kind {
	SIM_KERNEL,
	SIM_COPY,
	SIM_PEER_COPY,
	SIM_SET,
	SIM_SYNC,
	SIM_EVENT,
	SIM_GRAPH,
	SIM_UNIFIED,
	SIM_MEMORY,
	SIM_POOL,
	SIM_OVERHEAD,
	SIM_JIT,
	SIM_OP_KIND_COUNT
};

/* An operation of the device, or a fact about memory; the union has the fields of the kind. Kinds
 * have the numbers of CUPTI's enums. */
struct sim_op {
	enum sim_op_kind kind;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t correlation;
	uint64_t graph_node; /* 0 outside of a graph */
	uint32_t graph;
	union {
		struct {
			const char *name;
			uint32_t grid[3], block[3], cluster[3];
			uint32_t static_shared_bytes, dynamic_shared_bytes, registers;
			uint32_t local_bytes_per_thread;
			uint8_t launch_type;
			int64_t grid_id;
		} kernel;
		struct {
			uint64_t bytes;
			uint8_t copy_kind, source_kind, target_kind;
			bool async;
			uint32_t source_device, target_device, source_context, target_context;
		} copy;
		struct {
			uint64_t bytes;
			uint32_t value;
			uint8_t memory_kind;
			bool async;
		} set;
		struct {
			uint32_t type;
			uint32_t event;
			uint64_t event_sync;
		} sync;
		struct {
			uint32_t event;
			uint64_t event_sync;
		} event;
		struct {
			uint8_t counter;
			uint64_t value; /* bytes, number of faults, or instruction */
			uint64_t address;
			uint32_t source, target; /* device, or UINT32_MAX for the host */
			uint32_t flags; /* for a migration its cause, for faults the access */
		} unified;
		struct {
			uint8_t operation, memory_kind;
			bool async;
			uint64_t address, bytes, pc;
			uint64_t pool_address, pool_bytes, pool_threshold_bytes, pool_used_bytes;
			uint64_t used_bytes; /* of the device, after the operation */
		} memory;
		struct {
			uint8_t operation;
			uint64_t address, bytes, threshold_bytes, used_bytes, keep_bytes;
		} pool;
		struct {
			uint32_t kind;
		} overhead;
		struct {
			uint32_t entry, operation;
			uint64_t cache_bytes;
			const char *cache_path;
		} jit;
	};
};

/* Creation and destruction of objects: the resource callbacks, with CUPTI's callback id. */
struct sim_resource {
	uint32_t cbid;
	void *context, *stream;
	uint32_t context_id, device_id, stream_id, correlation;
	uint32_t null_stream_id, stream_flag, stream_priority;
	uint32_t module_id;
	const void *cubin;
	size_t cubin_bytes;
	void *graph, *original_graph, *node, *original_node, *dependency, *graph_exec;
	uint32_t node_type;
};

/* Notifications that libcupti wants. Called without any lock of the device held, on the thread
 * that caused it. */
struct sim_tool {
	void (*enter)(struct sim_call *call);
	void (*leave)(struct sim_call *call); /* call->end_ns and result are set */
	void (*op)(const struct sim_op
			*op); /* called when the operation is enqueued; its times may be later */
	void (*resource)(const struct sim_resource *resource);
	void (*synchronized)(uint32_t cbid, void *context, void *stream);
};

struct sim_device_facts {
	const char *name;
	uint32_t ordinal, multiprocessors, major, minor;
	uint64_t memory_bytes;
	uint8_t uuid[16];
};

struct sim_driver {
	void (*enter)(struct sim_call *call);
	uint32_t (*leave)(struct sim_call *call,
		uint32_t result); /* returns the result, or the result that SIM_FAULT asks for */
	uint64_t (*option)(enum sim_option option);
	/* Return the result that SIM_FAULT=fail=... asks for in this call of that name, else
	 * `result`. */
	uint32_t (*fault_result)(const char *name, uint32_t result);
	uint64_t (*now_ns)(void);
	void (*set_tool)(const struct sim_tool *tool);
	/* Write a log line about what CUPTI itself did. */
	void (*note_op)(const struct sim_op *op);
	/* Write a log line about the tool's use of CUPTI that a real CUPTI may punish. */
	void (*violation)(const char *rule);
	uint32_t (*device_count)(void);
	void (*device_facts)(uint32_t ordinal, struct sim_device_facts *ret_facts);
	int32_t (*device_attribute)(uint32_t ordinal, int attribute);
	bool (*initialized)(void);
	uint32_t (*contexts_made)(void);
	/* Ids of handles; 0 for an invalid handle. */
	uint32_t (*context_id)(void *context);
	uint32_t (*context_device)(void *context);
	uint32_t (*stream_id)(void *context, void *stream, bool per_thread);
	uint32_t (*graph_id)(void *graph);
	uint32_t (*graph_exec_id)(void *exec);
	uint64_t (*graph_node_id)(void *node);
	/* Return the kernel that the calling thread is about to launch, for
	 * CUpti_CallbackData.symbolName: the text must stay valid. */
	const char *(*function_name)(void *function);
	/* Report launches of graphs as a whole (true) or node by node. */
	void (*set_whole_graphs)(bool whole);
};

#define SIM_DRIVER_UUID                                                                            \
	{                                                                                          \
		{                                                                                  \
			's', 'i', 'm', 'u', 'l', 'a', 't', 'e', 'd', ' ', 'd', 'e', 'v', 'i', 'c', \
				'e'                                                                \
		}                                                                                  \
	}

#endif
