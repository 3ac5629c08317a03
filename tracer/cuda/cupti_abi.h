/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_abi.h - the parts of CUPTI's interface that the tracer uses: numbers, callback data and
 * activity records, as published in cupti_activity.h, cupti_callbacks.h and cupti_result.h of the
 * CUDA toolkit.
 *
 * The library is built without NVIDIA's headers; tests/unit/test_tracer_cupti_abi.c compares these
 * declarations with them where they are installed. Activity records grow by fields at their end and
 * fields never move (CUPTI 11.0 to 13.0), so one declaration, the newest, serves all versions: a
 * field is read only if the record is long enough to have it.
 */
#ifndef TRACER_CUDA_CUPTI_ABI_H
#define TRACER_CUDA_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_NOT_COMPATIBLE = 14,
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_NOT_SUPPORTED = 27,
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	CUPTI_NO_MORE = 12, /* MAX_LIMIT_REACHED: a buffer's end */
	CUPTI_UNKNOWN = 999
};

/* cuptiGetVersion(): versions whose behavior differs. */
enum cupti_version {
	CUPTI_11_0 = 13,
	CUPTI_11_1 = 14,
	CUPTI_11_2 = 15,
	CUPTI_11_6 = 17,
	CUPTI_11_8 = 18,
	CUPTI_12_0 = 19,
	CUPTI_12_3 = 21,
	CUPTI_12_6 = 24,
	CUPTI_12_8 = 26,
	CUPTI_12_9 = 27,
	CUPTI_13_0 = 130000,
	CUPTI_13_1 = 130100
};

enum cupti_domain { CUPTI_DRIVER_API = 1, CUPTI_RUNTIME_API = 2, CUPTI_RESOURCE = 3 };
enum cupti_site { CUPTI_ENTER = 0, CUPTI_EXIT = 1 };

enum cupti_resource {
	CUPTI_RESOURCE_CONTEXT_CREATED = 1,
	CUPTI_RESOURCE_CONTEXT_ENDS = 2,
	CUPTI_RESOURCE_INIT_FINISHED = 5,
	CUPTI_RESOURCE_MODULE_LOADED = 6,
	CUPTI_RESOURCE_MODULE_UNLOAD = 7,
	CUPTI_RESOURCE_GRAPH_CREATED = 9,
	CUPTI_RESOURCE_GRAPH_CLONED = 11,
	CUPTI_RESOURCE_NODE_CREATED = 13,
	CUPTI_RESOURCE_EXEC_CREATED = 18,
	CUPTI_RESOURCE_NODE_CLONED = 20
};

/* Attributes that are a size_t. */
enum cupti_attribute {
	CUPTI_DEVICE_BUFFER_BYTES = 0,
	CUPTI_DEVICE_BUFFERS_MAX = 2,
	CUPTI_DEVICE_BUFFERS_AT_START = 6
};

enum cupti_kind {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_KERNEL = 3, /* serializes kernels: never enabled, but graphs may report it */
	CUPTI_DEVICE = 8,
	CUPTI_CONTEXT = 9,
	CUPTI_CONCURRENT_KERNEL = 10,
	CUPTI_OVERHEAD = 17,
	CUPTI_MEMCPY_PEER = 22,
	CUPTI_UNIFIED_MEMORY = 25,
	CUPTI_DEVICE_ATTRIBUTE = 28,
	CUPTI_CUDA_EVENT = 36,
	CUPTI_STREAM = 37,
	CUPTI_SYNCHRONIZATION = 38,
	CUPTI_MEMORY = 49, /* MEMORY2 */
	CUPTI_MEMORY_POOL = 50,
	CUPTI_GRAPH_TRACE = 51,
	CUPTI_JIT = 52,
	CUPTI_DEVICE_GRAPH_TRACE = 53,
	CUPTI_MEM_DECOMPRESS = 54,
	CUPTI_KINDS
};

enum { CUPTI_FLUSH_FORCED = 1 };
enum { CUPTI_THREAD_ID_SYSTEM = 1 };

/* ---- callbacks ---- */

struct cupti_callback {
	uint32_t site; /* enum cupti_site */
	const char *function;
	const void *parameters;
	void *result; /* uint32_t, at the exit */
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *correlation_data; /* a word of the tool, kept from enter to exit */
	uint32_t correlation;
};

struct cupti_resource_data {
	void *context;
	void *handle;
	void *descriptor;
};

struct cupti_module_data {
	uint32_t module;
	size_t cubin_bytes;
	const char *cubin;
};

struct cupti_graph_data {
	void *graph, *original_graph;
	void *node, *original_node;
	uint32_t node_type;
	void *dependency;
	void *graph_exec;
};

struct cupti_unified_memory_config {
	uint32_t scope; /* 1 = process, one device */
	uint32_t kind;  /* counter */
	uint32_t device;
	uint32_t enable;
};

/* ---- activity records: all begin with their kind ---- */

struct cupti_activity {
	uint32_t kind;
};

struct cupti_kernel {
	uint32_t kind;
	uint8_t cache_config; /* requested, executed: 4 bits each */
	uint8_t shared_memory_config;
	uint16_t registers_per_thread;
	uint32_t global_cache_requested, global_cache_executed;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared_memory, dynamic_shared_memory;
	uint32_t local_memory_per_thread, local_memory_total_32, correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch_type, is_carveout_requested, carveout, pad;
	uint32_t shared_memory_executed;
	uint64_t graph_node;
	uint32_t shared_memory_limit_config, graph;
	const void *access_policy;
	uint32_t channel, channel_type;
	uint32_t cluster[3], cluster_scheduling_policy;
	uint64_t local_memory_total;
	uint32_t max_potential_cluster_size, max_active_clusters;
	uint8_t is_device_launched, pad2[7];
};

struct cupti_memcpy {
	uint32_t kind;
	uint8_t copy_kind, src_kind, dst_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation, pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type;
	uint8_t is_device_launched, pad2[3];
	uint64_t copy_count;
};

struct cupti_memcpy_peer {
	uint32_t kind;
	uint8_t copy_kind, src_kind, dst_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t src_device, src_context, dst_device, dst_context, correlation;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type;
};

struct cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory_kind;
	uint32_t pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type;
	uint8_t is_device_launched, pad2[3];
};

struct cupti_synchronization {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlation, context, stream, event;
	uint64_t event_sync;
	uint32_t result, pad;
};

struct cupti_cuda_event {
	uint32_t kind, correlation, context, stream, event, pad;
	uint32_t device, pad2;
	void *reserved;
	uint64_t device_timestamp, event_sync;
};

struct cupti_graph_trace {
	uint32_t kind, correlation;
	uint64_t start, end;
	uint32_t device, graph, context, stream;
	void *reserved;
	uint32_t end_device, end_context;
};

struct cupti_unified_memory {
	uint32_t kind, counter;
	uint64_t value, start, end, address;
	uint32_t src, dst, stream, process, flags, pad;
	uint64_t processors[5];
};

struct cupti_memory {
	uint32_t kind, operation, memory_kind, correlation;
	uint64_t address, bytes, timestamp, pc;
	uint32_t process, device, context, stream;
	const char *name;
	uint32_t is_async, pad;
	uint32_t pool_type, pad2;
	uint64_t pool_address, pool_release_threshold, pool_size, pool_utilized_size;
	const char *source;
};

struct cupti_memory_pool {
	uint32_t kind, operation, pool_type, correlation, process, device;
	uint64_t min_bytes_to_keep, address, size, release_threshold, timestamp, utilized_size;
	uint8_t is_managed, pad[7];
};

struct cupti_context {
	uint32_t kind, context, device;
	uint16_t compute_api, null_stream;
	uint32_t parent_context;
	uint8_t is_green, pad;
	uint16_t multiprocessors;
	uint32_t graphics_mode, pad2;
};

struct cupti_stream {
	uint32_t kind, context, stream;
	int32_t priority;
	uint32_t flag, correlation;
};

struct cupti_device {
	uint32_t kind, flags;
	uint64_t global_memory_bandwidth, global_memory_size;
	uint32_t constant_memory_size, l2_cache_size, threads_per_warp, core_clock_rate;
	uint32_t memcpy_engines, multiprocessors, max_ipc, max_warps_per_multiprocessor;
	uint32_t max_blocks_per_multiprocessor, max_shared_memory_per_multiprocessor;
	uint32_t max_registers_per_multiprocessor, max_registers_per_block;
	uint32_t max_shared_memory_per_block, max_threads_per_block;
	uint32_t max_block_dim[3], max_grid_dim[3];
	uint32_t compute_capability_major, compute_capability_minor, device, ecc_enabled;
	uint8_t uuid[16];
	const char *name;
	uint8_t is_cuda_visible, is_mig_enabled, reserved[6];
	uint32_t gpu_instance, compute_instance;
	uint8_t mig_uuid[16];
	uint32_t is_numa_node, numa;
};

struct cupti_device_attribute {
	uint32_t kind, flags, device, attribute;
	uint64_t value;
};

struct cupti_jit {
	uint32_t kind, entry_type, operation_type, device;
	uint64_t start, end;
	uint32_t correlation, pad;
	uint64_t operation_correlation, cache_size;
	const char *cache_path;
	uint32_t process, thread;
};

struct cupti_overhead {
	uint32_t kind, overhead_kind, object_kind;
	uint32_t object[3]; /* process, thread; or device, context, stream */
	uint64_t start, end;
	uint32_t correlation, reserved;
	void *data;
};

struct cupti_device_graph {
	uint32_t kind, device;
	uint64_t start, end;
	uint32_t graph, launcher_graph, launch_mode, context;
	uint64_t stream;
	void *reserved;
};

struct cupti_mem_decompress {
	uint32_t kind, device, context, stream, channel, channel_type, correlation, operations;
	uint64_t source_bytes;
	void *reserved;
	uint64_t start, end;
};

#endif
