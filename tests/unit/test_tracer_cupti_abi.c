/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_cupti_abi.c - checks at compile time that tracer/cuda/cupti_abi.h agrees with
 * NVIDIA's headers, if these are installed.
 */
#include "tap.h"

#if __has_include(<cupti.h>)
#include <cuda.h>
#include <cupti.h>
#endif

#if defined(CUPTI_API_VERSION) && CUPTI_API_VERSION >= 130000
#include <cupti_pmsampling.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "common/cuda/cupti_profiler.h"
#include "tracer/cuda/cupti_abi.h"

#define SAME(ours, our_member, theirs, their_member)                                           \
	_Static_assert(offsetof(struct ours, our_member) == offsetof(theirs, their_member),    \
		#theirs "." #their_member);                                                    \
	_Static_assert(                                                                        \
		sizeof(((struct ours *)0)->our_member) >= sizeof(((theirs *)0)->their_member), \
		"size of " #theirs "." #their_member)
#define SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #theirs)
#define VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)

VALUE(CUPTI_OK, CUPTI_SUCCESS);
VALUE(CUPTI_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
VALUE(CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
VALUE(CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
VALUE(CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
VALUE(CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
VALUE(CUPTI_NO_MORE, CUPTI_ERROR_MAX_LIMIT_REACHED);
VALUE(CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
VALUE(CUPTI_DEVICE_BUFFER_BYTES, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
VALUE(CUPTI_DEVICE_BUFFERS_MAX, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
VALUE(CUPTI_DEVICE_BUFFERS_AT_START, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE);
VALUE(CUPTI_DRIVER_API, CUPTI_CB_DOMAIN_DRIVER_API);
VALUE(CUPTI_RUNTIME_API, CUPTI_CB_DOMAIN_RUNTIME_API);
VALUE(CUPTI_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
VALUE(CUPTI_ENTER, CUPTI_API_ENTER);
VALUE(CUPTI_EXIT, CUPTI_API_EXIT);
VALUE(CUPTI_RESOURCE_INIT_FINISHED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
VALUE(CUPTI_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
VALUE(CUPTI_RESOURCE_MODULE_UNLOAD, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
VALUE(CUPTI_RESOURCE_GRAPH_CREATED, CUPTI_CBID_RESOURCE_GRAPH_CREATED);
VALUE(CUPTI_RESOURCE_GRAPH_CLONED, CUPTI_CBID_RESOURCE_GRAPH_CLONED);
VALUE(CUPTI_RESOURCE_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
VALUE(CUPTI_RESOURCE_EXEC_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
VALUE(CUPTI_RESOURCE_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
VALUE(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
VALUE(CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
VALUE(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
VALUE(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
VALUE(CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
VALUE(CUPTI_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
VALUE(CUPTI_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT);
VALUE(CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
VALUE(CUPTI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
VALUE(CUPTI_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
VALUE(CUPTI_UNIFIED_MEMORY, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
VALUE(CUPTI_DEVICE_ATTRIBUTE, CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE);
VALUE(CUPTI_CUDA_EVENT, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
VALUE(CUPTI_STREAM, CUPTI_ACTIVITY_KIND_STREAM);
VALUE(CUPTI_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
VALUE(CUPTI_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY2);
VALUE(CUPTI_MEMORY_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
VALUE(CUPTI_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
VALUE(CUPTI_JIT, CUPTI_ACTIVITY_KIND_JIT);
VALUE(CUPTI_DEVICE_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE);
VALUE(CUPTI_MEM_DECOMPRESS, CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS);

SAME(cupti_kernel, kind, CUpti_ActivityKernel10, kind);
SAME(cupti_kernel, cache_config, CUpti_ActivityKernel10, cacheConfig);
SAME(cupti_kernel, shared_memory_config, CUpti_ActivityKernel10, sharedMemoryConfig);
SAME(cupti_kernel, registers_per_thread, CUpti_ActivityKernel10, registersPerThread);
SAME(cupti_kernel, global_cache_requested, CUpti_ActivityKernel10, partitionedGlobalCacheRequested);
SAME(cupti_kernel, global_cache_executed, CUpti_ActivityKernel10, partitionedGlobalCacheExecuted);
SAME(cupti_kernel, start, CUpti_ActivityKernel10, start);
SAME(cupti_kernel, end, CUpti_ActivityKernel10, end);
SAME(cupti_kernel, completed, CUpti_ActivityKernel10, completed);
SAME(cupti_kernel, device, CUpti_ActivityKernel10, deviceId);
SAME(cupti_kernel, context, CUpti_ActivityKernel10, contextId);
SAME(cupti_kernel, stream, CUpti_ActivityKernel10, streamId);
SAME(cupti_kernel, grid, CUpti_ActivityKernel10, gridX);
SAME(cupti_kernel, block, CUpti_ActivityKernel10, blockX);
SAME(cupti_kernel, static_shared_memory, CUpti_ActivityKernel10, staticSharedMemory);
SAME(cupti_kernel, dynamic_shared_memory, CUpti_ActivityKernel10, dynamicSharedMemory);
SAME(cupti_kernel, local_memory_per_thread, CUpti_ActivityKernel10, localMemoryPerThread);
SAME(cupti_kernel, local_memory_total_32, CUpti_ActivityKernel10, localMemoryTotal);
SAME(cupti_kernel, correlation, CUpti_ActivityKernel10, correlationId);
SAME(cupti_kernel, grid_id, CUpti_ActivityKernel10, gridId);
SAME(cupti_kernel, name, CUpti_ActivityKernel10, name);
SAME(cupti_kernel, queued, CUpti_ActivityKernel10, queued);
SAME(cupti_kernel, submitted, CUpti_ActivityKernel10, submitted);
SAME(cupti_kernel, launch_type, CUpti_ActivityKernel10, launchType);
SAME(cupti_kernel, is_carveout_requested, CUpti_ActivityKernel10, isSharedMemoryCarveoutRequested);
SAME(cupti_kernel, carveout, CUpti_ActivityKernel10, sharedMemoryCarveoutRequested);
SAME(cupti_kernel, shared_memory_executed, CUpti_ActivityKernel10, sharedMemoryExecuted);
SAME(cupti_kernel, graph_node, CUpti_ActivityKernel10, graphNodeId);
SAME(cupti_kernel, shared_memory_limit_config, CUpti_ActivityKernel10, shmemLimitConfig);
SAME(cupti_kernel, graph, CUpti_ActivityKernel10, graphId);
SAME(cupti_kernel, access_policy, CUpti_ActivityKernel10, pAccessPolicyWindow);
SAME(cupti_kernel, channel, CUpti_ActivityKernel10, channelID);
SAME(cupti_kernel, channel_type, CUpti_ActivityKernel10, channelType);
SAME(cupti_kernel, cluster, CUpti_ActivityKernel10, clusterX);
SAME(cupti_kernel, cluster_scheduling_policy, CUpti_ActivityKernel10, clusterSchedulingPolicy);
SAME(cupti_kernel, local_memory_total, CUpti_ActivityKernel10, localMemoryTotal_v2);
SAME(cupti_kernel, max_potential_cluster_size, CUpti_ActivityKernel10, maxPotentialClusterSize);
SAME(cupti_kernel, max_active_clusters, CUpti_ActivityKernel10, maxActiveClusters);
SAME(cupti_kernel, is_device_launched, CUpti_ActivityKernel10, isDeviceLaunched);
SIZE(cupti_kernel, CUpti_ActivityKernel10);

SAME(cupti_memcpy, kind, CUpti_ActivityMemcpy6, kind);
SAME(cupti_memcpy, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME(cupti_memcpy, src_kind, CUpti_ActivityMemcpy6, srcKind);
SAME(cupti_memcpy, dst_kind, CUpti_ActivityMemcpy6, dstKind);
SAME(cupti_memcpy, flags, CUpti_ActivityMemcpy6, flags);
SAME(cupti_memcpy, bytes, CUpti_ActivityMemcpy6, bytes);
SAME(cupti_memcpy, start, CUpti_ActivityMemcpy6, start);
SAME(cupti_memcpy, end, CUpti_ActivityMemcpy6, end);
SAME(cupti_memcpy, device, CUpti_ActivityMemcpy6, deviceId);
SAME(cupti_memcpy, context, CUpti_ActivityMemcpy6, contextId);
SAME(cupti_memcpy, stream, CUpti_ActivityMemcpy6, streamId);
SAME(cupti_memcpy, correlation, CUpti_ActivityMemcpy6, correlationId);
SAME(cupti_memcpy, runtime_correlation, CUpti_ActivityMemcpy6, runtimeCorrelationId);
SAME(cupti_memcpy, graph_node, CUpti_ActivityMemcpy6, graphNodeId);
SAME(cupti_memcpy, graph, CUpti_ActivityMemcpy6, graphId);
SAME(cupti_memcpy, channel, CUpti_ActivityMemcpy6, channelID);
SAME(cupti_memcpy, channel_type, CUpti_ActivityMemcpy6, channelType);
SAME(cupti_memcpy, is_device_launched, CUpti_ActivityMemcpy6, isDeviceLaunched);
SAME(cupti_memcpy, copy_count, CUpti_ActivityMemcpy6, copyCount);
SIZE(cupti_memcpy, CUpti_ActivityMemcpy6);

SAME(cupti_memcpy_peer, kind, CUpti_ActivityMemcpyPtoP4, kind);
SAME(cupti_memcpy_peer, copy_kind, CUpti_ActivityMemcpyPtoP4, copyKind);
SAME(cupti_memcpy_peer, src_kind, CUpti_ActivityMemcpyPtoP4, srcKind);
SAME(cupti_memcpy_peer, dst_kind, CUpti_ActivityMemcpyPtoP4, dstKind);
SAME(cupti_memcpy_peer, flags, CUpti_ActivityMemcpyPtoP4, flags);
SAME(cupti_memcpy_peer, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(cupti_memcpy_peer, start, CUpti_ActivityMemcpyPtoP4, start);
SAME(cupti_memcpy_peer, end, CUpti_ActivityMemcpyPtoP4, end);
SAME(cupti_memcpy_peer, device, CUpti_ActivityMemcpyPtoP4, deviceId);
SAME(cupti_memcpy_peer, context, CUpti_ActivityMemcpyPtoP4, contextId);
SAME(cupti_memcpy_peer, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(cupti_memcpy_peer, src_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME(cupti_memcpy_peer, src_context, CUpti_ActivityMemcpyPtoP4, srcContextId);
SAME(cupti_memcpy_peer, dst_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
SAME(cupti_memcpy_peer, dst_context, CUpti_ActivityMemcpyPtoP4, dstContextId);
SAME(cupti_memcpy_peer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(cupti_memcpy_peer, graph_node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
SAME(cupti_memcpy_peer, graph, CUpti_ActivityMemcpyPtoP4, graphId);
SAME(cupti_memcpy_peer, channel, CUpti_ActivityMemcpyPtoP4, channelID);
SAME(cupti_memcpy_peer, channel_type, CUpti_ActivityMemcpyPtoP4, channelType);
SIZE(cupti_memcpy_peer, CUpti_ActivityMemcpyPtoP4);

SAME(cupti_memset, kind, CUpti_ActivityMemset4, kind);
SAME(cupti_memset, value, CUpti_ActivityMemset4, value);
SAME(cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME(cupti_memset, start, CUpti_ActivityMemset4, start);
SAME(cupti_memset, end, CUpti_ActivityMemset4, end);
SAME(cupti_memset, device, CUpti_ActivityMemset4, deviceId);
SAME(cupti_memset, context, CUpti_ActivityMemset4, contextId);
SAME(cupti_memset, stream, CUpti_ActivityMemset4, streamId);
SAME(cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);
SAME(cupti_memset, flags, CUpti_ActivityMemset4, flags);
SAME(cupti_memset, memory_kind, CUpti_ActivityMemset4, memoryKind);
SAME(cupti_memset, graph_node, CUpti_ActivityMemset4, graphNodeId);
SAME(cupti_memset, graph, CUpti_ActivityMemset4, graphId);
SAME(cupti_memset, channel, CUpti_ActivityMemset4, channelID);
SAME(cupti_memset, channel_type, CUpti_ActivityMemset4, channelType);
SAME(cupti_memset, is_device_launched, CUpti_ActivityMemset4, isDeviceLaunched);
SIZE(cupti_memset, CUpti_ActivityMemset4);

SAME(cupti_synchronization, kind, CUpti_ActivitySynchronization2, kind);
SAME(cupti_synchronization, type, CUpti_ActivitySynchronization2, type);
SAME(cupti_synchronization, start, CUpti_ActivitySynchronization2, start);
SAME(cupti_synchronization, end, CUpti_ActivitySynchronization2, end);
SAME(cupti_synchronization, correlation, CUpti_ActivitySynchronization2, correlationId);
SAME(cupti_synchronization, context, CUpti_ActivitySynchronization2, contextId);
SAME(cupti_synchronization, stream, CUpti_ActivitySynchronization2, streamId);
SAME(cupti_synchronization, event, CUpti_ActivitySynchronization2, cudaEventId);
SAME(cupti_synchronization, event_sync, CUpti_ActivitySynchronization2, cudaEventSyncId);
SAME(cupti_synchronization, result, CUpti_ActivitySynchronization2, returnValue);
SIZE(cupti_synchronization, CUpti_ActivitySynchronization2);

SAME(cupti_cuda_event, kind, CUpti_ActivityCudaEvent2, kind);
SAME(cupti_cuda_event, correlation, CUpti_ActivityCudaEvent2, correlationId);
SAME(cupti_cuda_event, context, CUpti_ActivityCudaEvent2, contextId);
SAME(cupti_cuda_event, stream, CUpti_ActivityCudaEvent2, streamId);
SAME(cupti_cuda_event, event, CUpti_ActivityCudaEvent2, eventId);
SAME(cupti_cuda_event, device, CUpti_ActivityCudaEvent2, deviceId);
SAME(cupti_cuda_event, device_timestamp, CUpti_ActivityCudaEvent2, deviceTimestamp);
SAME(cupti_cuda_event, event_sync, CUpti_ActivityCudaEvent2, cudaEventSyncId);
SIZE(cupti_cuda_event, CUpti_ActivityCudaEvent2);

SAME(cupti_graph_trace, kind, CUpti_ActivityGraphTrace2, kind);
SAME(cupti_graph_trace, correlation, CUpti_ActivityGraphTrace2, correlationId);
SAME(cupti_graph_trace, start, CUpti_ActivityGraphTrace2, start);
SAME(cupti_graph_trace, end, CUpti_ActivityGraphTrace2, end);
SAME(cupti_graph_trace, device, CUpti_ActivityGraphTrace2, deviceId);
SAME(cupti_graph_trace, graph, CUpti_ActivityGraphTrace2, graphId);
SAME(cupti_graph_trace, context, CUpti_ActivityGraphTrace2, contextId);
SAME(cupti_graph_trace, stream, CUpti_ActivityGraphTrace2, streamId);
SAME(cupti_graph_trace, end_device, CUpti_ActivityGraphTrace2, endDeviceId);
SAME(cupti_graph_trace, end_context, CUpti_ActivityGraphTrace2, endContextId);
SIZE(cupti_graph_trace, CUpti_ActivityGraphTrace2);

SAME(cupti_unified_memory, kind, CUpti_ActivityUnifiedMemoryCounter3, kind);
SAME(cupti_unified_memory, counter, CUpti_ActivityUnifiedMemoryCounter3, counterKind);
SAME(cupti_unified_memory, value, CUpti_ActivityUnifiedMemoryCounter3, value);
SAME(cupti_unified_memory, start, CUpti_ActivityUnifiedMemoryCounter3, start);
SAME(cupti_unified_memory, end, CUpti_ActivityUnifiedMemoryCounter3, end);
SAME(cupti_unified_memory, address, CUpti_ActivityUnifiedMemoryCounter3, address);
SAME(cupti_unified_memory, src, CUpti_ActivityUnifiedMemoryCounter3, srcId);
SAME(cupti_unified_memory, dst, CUpti_ActivityUnifiedMemoryCounter3, dstId);
SAME(cupti_unified_memory, stream, CUpti_ActivityUnifiedMemoryCounter3, streamId);
SAME(cupti_unified_memory, process, CUpti_ActivityUnifiedMemoryCounter3, processId);
SAME(cupti_unified_memory, flags, CUpti_ActivityUnifiedMemoryCounter3, flags);
SAME(cupti_unified_memory, processors, CUpti_ActivityUnifiedMemoryCounter3, processors);
SIZE(cupti_unified_memory, CUpti_ActivityUnifiedMemoryCounter3);

SAME(cupti_memory, kind, CUpti_ActivityMemory4, kind);
SAME(cupti_memory, operation, CUpti_ActivityMemory4, memoryOperationType);
SAME(cupti_memory, memory_kind, CUpti_ActivityMemory4, memoryKind);
SAME(cupti_memory, correlation, CUpti_ActivityMemory4, correlationId);
SAME(cupti_memory, address, CUpti_ActivityMemory4, address);
SAME(cupti_memory, bytes, CUpti_ActivityMemory4, bytes);
SAME(cupti_memory, timestamp, CUpti_ActivityMemory4, timestamp);
SAME(cupti_memory, pc, CUpti_ActivityMemory4, PC);
SAME(cupti_memory, process, CUpti_ActivityMemory4, processId);
SAME(cupti_memory, device, CUpti_ActivityMemory4, deviceId);
SAME(cupti_memory, context, CUpti_ActivityMemory4, contextId);
SAME(cupti_memory, stream, CUpti_ActivityMemory4, streamId);
SAME(cupti_memory, name, CUpti_ActivityMemory4, name);
SAME(cupti_memory, is_async, CUpti_ActivityMemory4, isAsync);
SAME(cupti_memory, pool_type, CUpti_ActivityMemory4, memoryPoolConfig.memoryPoolType);
SAME(cupti_memory, source, CUpti_ActivityMemory4, source);
SAME(cupti_memory, pool_address, CUpti_ActivityMemory4, memoryPoolConfig.address);
SAME(cupti_memory, pool_release_threshold, CUpti_ActivityMemory4,
	memoryPoolConfig.releaseThreshold);
SAME(cupti_memory, pool_size, CUpti_ActivityMemory4, memoryPoolConfig.pool.size);
SAME(cupti_memory, pool_utilized_size, CUpti_ActivityMemory4, memoryPoolConfig.utilizedSize);
SIZE(cupti_memory, CUpti_ActivityMemory4);

SAME(cupti_memory_pool, kind, CUpti_ActivityMemoryPool3, kind);
SAME(cupti_memory_pool, operation, CUpti_ActivityMemoryPool3, memoryPoolOperationType);
SAME(cupti_memory_pool, pool_type, CUpti_ActivityMemoryPool3, memoryPoolType);
SAME(cupti_memory_pool, correlation, CUpti_ActivityMemoryPool3, correlationId);
SAME(cupti_memory_pool, process, CUpti_ActivityMemoryPool3, processId);
SAME(cupti_memory_pool, device, CUpti_ActivityMemoryPool3, deviceId);
SAME(cupti_memory_pool, min_bytes_to_keep, CUpti_ActivityMemoryPool3, minBytesToKeep);
SAME(cupti_memory_pool, address, CUpti_ActivityMemoryPool3, address);
SAME(cupti_memory_pool, size, CUpti_ActivityMemoryPool3, size);
SAME(cupti_memory_pool, release_threshold, CUpti_ActivityMemoryPool3, releaseThreshold);
SAME(cupti_memory_pool, timestamp, CUpti_ActivityMemoryPool3, timestamp);
SAME(cupti_memory_pool, utilized_size, CUpti_ActivityMemoryPool3, utilizedSize);
SAME(cupti_memory_pool, is_managed, CUpti_ActivityMemoryPool3, isManagedPool);
SIZE(cupti_memory_pool, CUpti_ActivityMemoryPool3);

SAME(cupti_context, kind, CUpti_ActivityContext3, kind);
SAME(cupti_context, context, CUpti_ActivityContext3, contextId);
SAME(cupti_context, device, CUpti_ActivityContext3, deviceId);
SAME(cupti_context, compute_api, CUpti_ActivityContext3, computeApiKind);
SAME(cupti_context, null_stream, CUpti_ActivityContext3, nullStreamId);
SAME(cupti_context, parent_context, CUpti_ActivityContext3, parentContextId);
SAME(cupti_context, is_green, CUpti_ActivityContext3, isGreenContext);
SAME(cupti_context, multiprocessors, CUpti_ActivityContext3, numMultiprocessors);
SAME(cupti_context, graphics_mode, CUpti_ActivityContext3, cigMode);
SIZE(cupti_context, CUpti_ActivityContext3);

SAME(cupti_stream, kind, CUpti_ActivityStream, kind);
SAME(cupti_stream, context, CUpti_ActivityStream, contextId);
SAME(cupti_stream, stream, CUpti_ActivityStream, streamId);
SAME(cupti_stream, priority, CUpti_ActivityStream, priority);
SAME(cupti_stream, flag, CUpti_ActivityStream, flag);
SAME(cupti_stream, correlation, CUpti_ActivityStream, correlationId);
SIZE(cupti_stream, CUpti_ActivityStream);

SAME(cupti_device, kind, CUpti_ActivityDevice5, kind);
SAME(cupti_device, flags, CUpti_ActivityDevice5, flags);
SAME(cupti_device, global_memory_bandwidth, CUpti_ActivityDevice5, globalMemoryBandwidth);
SAME(cupti_device, global_memory_size, CUpti_ActivityDevice5, globalMemorySize);
SAME(cupti_device, constant_memory_size, CUpti_ActivityDevice5, constantMemorySize);
SAME(cupti_device, l2_cache_size, CUpti_ActivityDevice5, l2CacheSize);
SAME(cupti_device, threads_per_warp, CUpti_ActivityDevice5, numThreadsPerWarp);
SAME(cupti_device, core_clock_rate, CUpti_ActivityDevice5, coreClockRate);
SAME(cupti_device, memcpy_engines, CUpti_ActivityDevice5, numMemcpyEngines);
SAME(cupti_device, multiprocessors, CUpti_ActivityDevice5, numMultiprocessors);
SAME(cupti_device, max_ipc, CUpti_ActivityDevice5, maxIPC);
SAME(cupti_device, max_warps_per_multiprocessor, CUpti_ActivityDevice5, maxWarpsPerMultiprocessor);
SAME(cupti_device, max_blocks_per_multiprocessor, CUpti_ActivityDevice5,
	maxBlocksPerMultiprocessor);
SAME(cupti_device, max_shared_memory_per_multiprocessor, CUpti_ActivityDevice5,
	maxSharedMemoryPerMultiprocessor);
SAME(cupti_device, max_registers_per_multiprocessor, CUpti_ActivityDevice5,
	maxRegistersPerMultiprocessor);
SAME(cupti_device, max_registers_per_block, CUpti_ActivityDevice5, maxRegistersPerBlock);
SAME(cupti_device, max_shared_memory_per_block, CUpti_ActivityDevice5, maxSharedMemoryPerBlock);
SAME(cupti_device, max_threads_per_block, CUpti_ActivityDevice5, maxThreadsPerBlock);
SAME(cupti_device, max_block_dim, CUpti_ActivityDevice5, maxBlockDimX);
SAME(cupti_device, max_grid_dim, CUpti_ActivityDevice5, maxGridDimX);
SAME(cupti_device, compute_capability_major, CUpti_ActivityDevice5, computeCapabilityMajor);
SAME(cupti_device, compute_capability_minor, CUpti_ActivityDevice5, computeCapabilityMinor);
SAME(cupti_device, device, CUpti_ActivityDevice5, id);
SAME(cupti_device, ecc_enabled, CUpti_ActivityDevice5, eccEnabled);
SAME(cupti_device, uuid, CUpti_ActivityDevice5, uuid);
SAME(cupti_device, name, CUpti_ActivityDevice5, name);
SAME(cupti_device, is_cuda_visible, CUpti_ActivityDevice5, isCudaVisible);
SAME(cupti_device, is_mig_enabled, CUpti_ActivityDevice5, isMigEnabled);
SAME(cupti_device, gpu_instance, CUpti_ActivityDevice5, gpuInstanceId);
SAME(cupti_device, compute_instance, CUpti_ActivityDevice5, computeInstanceId);
SAME(cupti_device, mig_uuid, CUpti_ActivityDevice5, migUuid);
SAME(cupti_device, is_numa_node, CUpti_ActivityDevice5, isNumaNode);
SAME(cupti_device, numa, CUpti_ActivityDevice5, numaId);
SIZE(cupti_device, CUpti_ActivityDevice5);

SAME(cupti_device_attribute, kind, CUpti_ActivityDeviceAttribute, kind);
SAME(cupti_device_attribute, flags, CUpti_ActivityDeviceAttribute, flags);
SAME(cupti_device_attribute, device, CUpti_ActivityDeviceAttribute, deviceId);
SAME(cupti_device_attribute, attribute, CUpti_ActivityDeviceAttribute, attribute);
SAME(cupti_device_attribute, value, CUpti_ActivityDeviceAttribute, value);
SIZE(cupti_device_attribute, CUpti_ActivityDeviceAttribute);

SAME(cupti_jit, kind, CUpti_ActivityJit2, kind);
SAME(cupti_jit, entry_type, CUpti_ActivityJit2, jitEntryType);
SAME(cupti_jit, operation_type, CUpti_ActivityJit2, jitOperationType);
SAME(cupti_jit, device, CUpti_ActivityJit2, deviceId);
SAME(cupti_jit, start, CUpti_ActivityJit2, start);
SAME(cupti_jit, end, CUpti_ActivityJit2, end);
SAME(cupti_jit, correlation, CUpti_ActivityJit2, correlationId);
SAME(cupti_jit, operation_correlation, CUpti_ActivityJit2, jitOperationCorrelationId);
SAME(cupti_jit, cache_size, CUpti_ActivityJit2, cacheSize);
SAME(cupti_jit, cache_path, CUpti_ActivityJit2, cachePath);
SAME(cupti_jit, process, CUpti_ActivityJit2, processId);
SAME(cupti_jit, thread, CUpti_ActivityJit2, threadId);
SIZE(cupti_jit, CUpti_ActivityJit2);

SAME(cupti_overhead, kind, CUpti_ActivityOverhead3, kind);
SAME(cupti_overhead, overhead_kind, CUpti_ActivityOverhead3, overheadKind);
SAME(cupti_overhead, object_kind, CUpti_ActivityOverhead3, objectKind);
SAME(cupti_overhead, object, CUpti_ActivityOverhead3, objectId);
SAME(cupti_overhead, start, CUpti_ActivityOverhead3, start);
SAME(cupti_overhead, end, CUpti_ActivityOverhead3, end);
SAME(cupti_overhead, correlation, CUpti_ActivityOverhead3, correlationId);
SAME(cupti_overhead, data, CUpti_ActivityOverhead3, overheadData);
SIZE(cupti_overhead, CUpti_ActivityOverhead3);

SAME(cupti_device_graph, kind, CUpti_ActivityDeviceGraphTrace, kind);
SAME(cupti_device_graph, device, CUpti_ActivityDeviceGraphTrace, deviceId);
SAME(cupti_device_graph, start, CUpti_ActivityDeviceGraphTrace, start);
SAME(cupti_device_graph, end, CUpti_ActivityDeviceGraphTrace, end);
SAME(cupti_device_graph, graph, CUpti_ActivityDeviceGraphTrace, graphId);
SAME(cupti_device_graph, launcher_graph, CUpti_ActivityDeviceGraphTrace, launcherGraphId);
SAME(cupti_device_graph, launch_mode, CUpti_ActivityDeviceGraphTrace, deviceLaunchMode);
SAME(cupti_device_graph, context, CUpti_ActivityDeviceGraphTrace, contextId);
SAME(cupti_device_graph, stream, CUpti_ActivityDeviceGraphTrace, streamId);
SIZE(cupti_device_graph, CUpti_ActivityDeviceGraphTrace);

SAME(cupti_mem_decompress, kind, CUpti_ActivityMemDecompress, kind);
SAME(cupti_mem_decompress, device, CUpti_ActivityMemDecompress, deviceId);
SAME(cupti_mem_decompress, context, CUpti_ActivityMemDecompress, contextId);
SAME(cupti_mem_decompress, stream, CUpti_ActivityMemDecompress, streamId);
SAME(cupti_mem_decompress, channel, CUpti_ActivityMemDecompress, channelID);
SAME(cupti_mem_decompress, channel_type, CUpti_ActivityMemDecompress, channelType);
SAME(cupti_mem_decompress, correlation, CUpti_ActivityMemDecompress, correlationId);
SAME(cupti_mem_decompress, operations, CUpti_ActivityMemDecompress, numberOfOperations);
SAME(cupti_mem_decompress, source_bytes, CUpti_ActivityMemDecompress, sourceBytes);
SAME(cupti_mem_decompress, start, CUpti_ActivityMemDecompress, start);
SAME(cupti_mem_decompress, end, CUpti_ActivityMemDecompress, end);
SIZE(cupti_mem_decompress, CUpti_ActivityMemDecompress);

SAME(cupti_callback, site, CUpti_CallbackData, callbackSite);
SAME(cupti_callback, function, CUpti_CallbackData, functionName);
SAME(cupti_callback, parameters, CUpti_CallbackData, functionParams);
SAME(cupti_callback, result, CUpti_CallbackData, functionReturnValue);
SAME(cupti_callback, symbol, CUpti_CallbackData, symbolName);
SAME(cupti_callback, context, CUpti_CallbackData, context);
SAME(cupti_callback, context_id, CUpti_CallbackData, contextUid);
SAME(cupti_callback, correlation_data, CUpti_CallbackData, correlationData);
SAME(cupti_callback, correlation, CUpti_CallbackData, correlationId);
SIZE(cupti_callback, CUpti_CallbackData);

SAME(cupti_resource_data, context, CUpti_ResourceData, context);
SAME(cupti_resource_data, handle, CUpti_ResourceData, resourceHandle);
SAME(cupti_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
SIZE(cupti_resource_data, CUpti_ResourceData);

SAME(cupti_graph_data, graph, CUpti_GraphData, graph);
SAME(cupti_graph_data, original_graph, CUpti_GraphData, originalGraph);
SAME(cupti_graph_data, node, CUpti_GraphData, node);
SAME(cupti_graph_data, original_node, CUpti_GraphData, originalNode);
SAME(cupti_graph_data, node_type, CUpti_GraphData, nodeType);
SAME(cupti_graph_data, dependency, CUpti_GraphData, dependency);
SAME(cupti_graph_data, graph_exec, CUpti_GraphData, graphExec);
SIZE(cupti_graph_data, CUpti_GraphData);

SAME(cupti_module_data, module, CUpti_ModuleResourceData, moduleId);
SAME(cupti_module_data, cubin_bytes, CUpti_ModuleResourceData, cubinSize);
SAME(cupti_module_data, cubin, CUpti_ModuleResourceData, pCubin);
SIZE(cupti_module_data, CUpti_ModuleResourceData);

SAME(cupti_unified_memory_config, scope, CUpti_ActivityUnifiedMemoryCounterConfig, scope);
SAME(cupti_unified_memory_config, kind, CUpti_ActivityUnifiedMemoryCounterConfig, kind);
SAME(cupti_unified_memory_config, device, CUpti_ActivityUnifiedMemoryCounterConfig, deviceId);
SAME(cupti_unified_memory_config, enable, CUpti_ActivityUnifiedMemoryCounterConfig, enable);
SIZE(cupti_unified_memory_config, CUpti_ActivityUnifiedMemoryCounterConfig);

/* ---- the profiler ---- */

VALUE(CUPTI_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
VALUE(CUPTI_RESOURCE_CONTEXT_ENDS, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
VALUE(PROFILER_EACH_KERNEL, CUPTI_AutoRange);
VALUE(PROFILER_PUSHED, CUPTI_UserRange);
VALUE(PROFILER_REPLAY_BY_USER, CUPTI_UserReplay);
VALUE(PROFILER_REPLAY_BY_RERUN, CUPTI_ApplicationReplay);

/* Our struct has NVIDIA's size for all members up to the last one. */
#define WHOLE(ours, last, theirs) \
	_Static_assert(PROFILER_SIZE(ours, last) == theirs##_STRUCT_SIZE, #theirs)

WHOLE(profiler_start, reserved, CUpti_Profiler_Initialize_Params);
WHOLE(profiler_chip, name, CUpti_Device_GetChipName_Params);
SAME(profiler_chip, device, CUpti_Device_GetChipName_Params, deviceIndex);
WHOLE(ranges_enable, object, CUpti_RangeProfiler_Enable_Params);
SAME(ranges_enable, context, CUpti_RangeProfiler_Enable_Params, ctx);
SAME(ranges_enable, object, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
WHOLE(ranges_object, object, CUpti_RangeProfiler_Disable_Params);
WHOLE(ranges_object, object, CUpti_RangeProfiler_Start_Params);
WHOLE(ranges_config, level, CUpti_RangeProfiler_SetConfig_Params);
SAME(ranges_config, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
SAME(ranges_config, counters, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
SAME(ranges_config, range, CUpti_RangeProfiler_SetConfig_Params, range);
SAME(ranges_config, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
SAME(ranges_config, ranges_max, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
SAME(ranges_config, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
SAME(ranges_config, level_least, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
SAME(ranges_config, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
SAME(ranges_config, level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
WHOLE(ranges_object, object, CUpti_RangeProfiler_PopRange_Params);
WHOLE(ranges_push, name, CUpti_RangeProfiler_PushRange_Params);
SAME(ranges_push, object, CUpti_RangeProfiler_PushRange_Params, pRangeProfilerObject);
WHOLE(range_info, name, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
SAME(range_info, counters, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, pCounterDataImage);
SAME(range_info, range, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeIndex);
SAME(range_info, delimiter, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeDelimiter);
SAME(ranges_stop, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
SAME(ranges_stop, level, CUpti_RangeProfiler_Stop_Params, targetNestingLevel);
WHOLE(ranges_stop, all_submitted, CUpti_RangeProfiler_Stop_Params);
WHOLE(ranges_decode, dropped, CUpti_RangeProfiler_DecodeData_Params);
WHOLE(ranges_counters_size, bytes, CUpti_RangeProfiler_GetCounterDataSize_Params);
SAME(ranges_counters_size, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
SAME(ranges_counters_size, ranges_max, CUpti_RangeProfiler_GetCounterDataSize_Params,
	maxNumOfRanges);
SAME(ranges_counters_size, nodes_max, CUpti_RangeProfiler_GetCounterDataSize_Params,
	maxNumRangeTreeNodes);
WHOLE(ranges_counters, counters, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
WHOLE(ranges_count, count, CUpti_RangeProfiler_GetCounterDataInfo_Params);

VALUE(SAMPLES_BY_CYCLES, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
VALUE(SAMPLES_BY_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
VALUE(SAMPLES_STOP_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
VALUE(SAMPLES_STOP_END, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS);
WHOLE(samples_object, object, CUpti_PmSampling_Start_Params);
WHOLE(samples_object, object, CUpti_PmSampling_Stop_Params);
WHOLE(samples_object, object, CUpti_PmSampling_Disable_Params);
WHOLE(samples_enable, object, CUpti_PmSampling_Enable_Params);
SAME(samples_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
WHOLE(samples_config, keeps_latest, CUpti_PmSampling_SetConfig_Params);
SAME(samples_config, config, CUpti_PmSampling_SetConfig_Params, pConfig);
SAME(samples_config, buffer_bytes, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
SAME(samples_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
SAME(samples_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
WHOLE(samples_decode, overflow, CUpti_PmSampling_DecodeData_Params);
SAME(samples_decode, counters, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
SAME(samples_decode, stop, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
WHOLE(samples_counters_size, bytes, CUpti_PmSampling_GetCounterDataSize_Params);
SAME(samples_counters_size, samples_max, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
WHOLE(samples_counters, counters, CUpti_PmSampling_CounterDataImage_Initialize_Params);
WHOLE(samples_count, completed, CUpti_PmSampling_GetCounterDataInfo_Params);
SAME(samples_count, populated, CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples);
WHOLE(sample_info, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
SAME(sample_info, sample, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
SAME(sample_info, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);

int main(void)
{
	check(CUPTI_API_VERSION >= 130000, "layouts and numbers are those of CUPTI %d",
		CUPTI_API_VERSION);
	return tap_done();
}

#else

int main(void)
{
	printf("ok 1 - layouts of CUPTI # SKIP no headers of CUPTI 13\n1..1\n");
	return 0;
}

#endif
