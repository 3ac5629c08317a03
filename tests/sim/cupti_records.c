/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_records.c - operations of the device as activity records, and the length of records in each
 * version of CUPTI.
 *
 * Versions only ever append fields, so a record of an old version is the beginning of the newest.
 * If the header says in which release a shape was superseded, the table follows it; the other rows
 * give the release that added the functions of their fields, which is good enough here.
 */
#include "tests/sim/cupti_sim.h"

#include <string.h>
#include <unistd.h>

static const struct {
	CUpti_ActivityKind kind;
	uint32_t since; /* version of CUPTI */
	size_t bytes;
} shapes[] = {
	/* within a kind: newest first */
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 130000, sizeof(CUpti_ActivityKernel10)},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 19, sizeof(CUpti_ActivityKernel9)},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 18, sizeof(CUpti_ActivityKernel8)},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 17, sizeof(CUpti_ActivityKernel7)},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 15, sizeof(CUpti_ActivityKernel6)},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0, sizeof(CUpti_ActivityKernel5)},
	{CUPTI_ACTIVITY_KIND_MEMCPY, 26, sizeof(CUpti_ActivityMemcpy6)},
	{CUPTI_ACTIVITY_KIND_MEMCPY, 17, sizeof(CUpti_ActivityMemcpy5)},
	{CUPTI_ACTIVITY_KIND_MEMCPY, 14, sizeof(CUpti_ActivityMemcpy4)},
	{CUPTI_ACTIVITY_KIND_MEMCPY, 0, sizeof(CUpti_ActivityMemcpy3)},
	{CUPTI_ACTIVITY_KIND_MEMCPY2, 17, sizeof(CUpti_ActivityMemcpyPtoP4)},
	{CUPTI_ACTIVITY_KIND_MEMCPY2, 14, sizeof(CUpti_ActivityMemcpyPtoP3)},
	{CUPTI_ACTIVITY_KIND_MEMCPY2, 0, sizeof(CUpti_ActivityMemcpyPtoP2)},
	{CUPTI_ACTIVITY_KIND_MEMSET, 17, sizeof(CUpti_ActivityMemset4)},
	{CUPTI_ACTIVITY_KIND_MEMSET, 14, sizeof(CUpti_ActivityMemset3)},
	{CUPTI_ACTIVITY_KIND_MEMSET, 0, sizeof(CUpti_ActivityMemset2)},
	{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 26, sizeof(CUpti_ActivitySynchronization2)},
	{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0, sizeof(CUpti_ActivitySynchronization)},
	{CUPTI_ACTIVITY_KIND_CUDA_EVENT, 26, sizeof(CUpti_ActivityCudaEvent2)},
	{CUPTI_ACTIVITY_KIND_CUDA_EVENT, 0, sizeof(CUpti_ActivityCudaEvent)},
	{CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 26, sizeof(CUpti_ActivityGraphTrace2)},
	{CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0, sizeof(CUpti_ActivityGraphTrace)},
	{CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, 130000,
		sizeof(CUpti_ActivityUnifiedMemoryCounter3)},
	{CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, 0,
		sizeof(CUpti_ActivityUnifiedMemoryCounter2)},
	{CUPTI_ACTIVITY_KIND_MEMORY2, 24, sizeof(CUpti_ActivityMemory4)},
	{CUPTI_ACTIVITY_KIND_MEMORY2, 16, sizeof(CUpti_ActivityMemory3)},
	{CUPTI_ACTIVITY_KIND_MEMORY2, 0, sizeof(CUpti_ActivityMemory2)},
	{CUPTI_ACTIVITY_KIND_MEMORY_POOL, 130000, sizeof(CUpti_ActivityMemoryPool3)},
	{CUPTI_ACTIVITY_KIND_MEMORY_POOL, 16, sizeof(CUpti_ActivityMemoryPool2)},
	{CUPTI_ACTIVITY_KIND_MEMORY_POOL, 0, sizeof(CUpti_ActivityMemoryPool)},
	{CUPTI_ACTIVITY_KIND_OVERHEAD, 24, sizeof(CUpti_ActivityOverhead3)},
	{CUPTI_ACTIVITY_KIND_OVERHEAD, 21, sizeof(CUpti_ActivityOverhead2)},
	{CUPTI_ACTIVITY_KIND_OVERHEAD, 0, sizeof(CUpti_ActivityOverhead)},
	{CUPTI_ACTIVITY_KIND_JIT, 24, sizeof(CUpti_ActivityJit2)},
	{CUPTI_ACTIVITY_KIND_JIT, 0, sizeof(CUpti_ActivityJit)},
	{CUPTI_ACTIVITY_KIND_CONTEXT, 130000, sizeof(CUpti_ActivityContext3)},
	{CUPTI_ACTIVITY_KIND_CONTEXT, 24, sizeof(CUpti_ActivityContext2)},
	{CUPTI_ACTIVITY_KIND_CONTEXT, 0, sizeof(CUpti_ActivityContext)},
	{CUPTI_ACTIVITY_KIND_DEVICE, 24, sizeof(CUpti_ActivityDevice5)},
	{CUPTI_ACTIVITY_KIND_DEVICE, 0, sizeof(CUpti_ActivityDevice4)},
	{CUPTI_ACTIVITY_KIND_DRIVER, 0, sizeof(CUpti_ActivityAPI)},
	{CUPTI_ACTIVITY_KIND_RUNTIME, 0, sizeof(CUpti_ActivityAPI)},
	{CUPTI_ACTIVITY_KIND_STREAM, 0, sizeof(CUpti_ActivityStream)},
	{CUPTI_ACTIVITY_KIND_MODULE, 0, sizeof(CUpti_ActivityModule)},
	{CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE, 0, sizeof(CUpti_ActivityDeviceAttribute)},
	{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0, sizeof(CUpti_ActivityExternalCorrelation)},
};

size_t cupti_record_bytes(CUpti_ActivityKind kind)
{
	uint32_t version = cupti_version();

	if (kind == CUPTI_ACTIVITY_KIND_KERNEL)
		kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	if (cupti_replayed_bytes(kind))
		return cupti_replayed_bytes(kind);
	if ((int)kind == CUPTI_SIM_UNKNOWN_KIND)
		return CUPTI_SIM_UNKNOWN_BYTES;
	for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (shapes[i].kind == kind && shapes[i].since <= version)
			return shapes[i].bytes + cupti_driver()->option(SIM_OPTION_longer_records);
	return 0;
}

static void fill_kernel(const struct sim_op *op, CUpti_ActivityKernel10 *record)
{
	bool serial = cupti_kind_on(CUPTI_ACTIVITY_KIND_KERNEL);

	record->kind = serial ? CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	record->registersPerThread = (uint16_t)op->kernel.registers;
	record->start = op->start_ns;
	record->end = record->completed = op->end_ns;
	record->deviceId = op->device;
	record->contextId = op->context;
	record->streamId = op->stream;
	record->gridX = (int32_t)op->kernel.grid[0];
	record->gridY = (int32_t)op->kernel.grid[1];
	record->gridZ = (int32_t)op->kernel.grid[2];
	record->blockX = (int32_t)op->kernel.block[0];
	record->blockY = (int32_t)op->kernel.block[1];
	record->blockZ = (int32_t)op->kernel.block[2];
	record->clusterX = op->kernel.cluster[0];
	record->clusterY = op->kernel.cluster[1];
	record->clusterZ = op->kernel.cluster[2];
	record->staticSharedMemory = (int32_t)op->kernel.static_shared_bytes;
	record->dynamicSharedMemory = (int32_t)op->kernel.dynamic_shared_bytes;
	record->localMemoryPerThread = op->kernel.local_bytes_per_thread;
	record->correlationId = op->correlation;
	record->gridId = op->kernel.grid_id;
	record->name = op->kernel.name;
	record->launchType = op->kernel.launch_type;
	record->sharedMemoryExecuted = 8192;
	record->graphNodeId = op->graph_node;
	record->graphId = op->graph;
	record->channelID = 8;
	record->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
}

static void fill_copy(const struct sim_op *op, CUpti_ActivityMemcpy6 *record)
{
	record->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	record->copyKind = op->copy.copy_kind;
	record->srcKind = op->copy.source_kind;
	record->dstKind = op->copy.target_kind;
	record->flags = op->copy.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	record->bytes = op->copy.bytes;
	record->start = op->start_ns;
	record->end = op->end_ns;
	record->deviceId = op->device;
	record->contextId = op->context;
	record->streamId = op->stream;
	record->correlationId = op->correlation;
	record->graphNodeId = op->graph_node;
	record->graphId = op->graph;
	record->channelID = 9;
	record->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	record->copyCount = 1;
}

static void fill_peer_copy(const struct sim_op *op, CUpti_ActivityMemcpyPtoP4 *record)
{
	record->kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	record->copyKind = op->copy.copy_kind;
	record->srcKind = op->copy.source_kind;
	record->dstKind = op->copy.target_kind;
	record->flags = op->copy.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	record->bytes = op->copy.bytes;
	record->start = op->start_ns;
	record->end = op->end_ns;
	record->deviceId = op->device;
	record->contextId = op->context;
	record->streamId = op->stream;
	record->srcDeviceId = op->copy.source_device;
	record->dstDeviceId = op->copy.target_device;
	record->srcContextId = op->copy.source_context;
	record->dstContextId = op->copy.target_context;
	record->correlationId = op->correlation;
	record->graphNodeId = op->graph_node;
	record->graphId = op->graph;
}

static void fill_set(const struct sim_op *op, CUpti_ActivityMemset4 *record)
{
	record->kind = CUPTI_ACTIVITY_KIND_MEMSET;
	record->value = op->set.value;
	record->bytes = op->set.bytes;
	record->start = op->start_ns;
	record->end = op->end_ns;
	record->deviceId = op->device;
	record->contextId = op->context;
	record->streamId = op->stream;
	record->correlationId = op->correlation;
	record->flags = op->set.async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
	record->memoryKind = op->set.memory_kind;
	record->graphNodeId = op->graph_node;
	record->graphId = op->graph;
}

static void fill_sync(const struct sim_op *op, CUpti_ActivitySynchronization2 *record)
{
	record->kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
	record->type = (CUpti_ActivitySynchronizationType)op->sync.type;
	record->start = op->start_ns;
	record->end = op->end_ns;
	record->correlationId = op->correlation;
	record->contextId = op->context;
	record->streamId = op->stream;
	record->cudaEventId = op->sync.event;
	record->cudaEventSyncId = op->sync.event_sync;
}

static void fill_event(const struct sim_op *op, CUpti_ActivityCudaEvent2 *record)
{
	record->kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
	record->correlationId = op->correlation;
	record->contextId = op->context;
	record->streamId = op->stream;
	record->eventId = op->event.event;
	record->deviceId = op->device;
	record->deviceTimestamp = op->end_ns;
	record->cudaEventSyncId = op->event.event_sync;
}

static void fill_graph(const struct sim_op *op, CUpti_ActivityGraphTrace2 *record)
{
	record->kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
	record->correlationId = op->correlation;
	record->start = op->start_ns;
	record->end = op->end_ns;
	record->deviceId = record->endDeviceId = op->device;
	record->graphId = op->graph;
	record->contextId = record->endContextId = op->context;
	record->streamId = op->stream;
}

static void fill_unified(const struct sim_op *op, CUpti_ActivityUnifiedMemoryCounter3 *record)
{
	record->kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
	record->counterKind = (CUpti_ActivityUnifiedMemoryCounterKind)op->unified.counter;
	record->value = op->unified.value;
	record->start = op->start_ns;
	record->end = op->end_ns;
	record->address = op->unified.address;
	record->srcId = op->unified.source;
	record->dstId = op->unified.target;
	record->streamId = op->stream;
	record->processId = (uint32_t)getpid();
	record->flags = op->unified.flags;
}

static void fill_memory(const struct sim_op *op, CUpti_ActivityMemory4 *record)
{
	record->kind = CUPTI_ACTIVITY_KIND_MEMORY2;
	record->memoryOperationType = (CUpti_ActivityMemoryOperationType)op->memory.operation;
	record->memoryKind = (CUpti_ActivityMemoryKind)op->memory.memory_kind;
	record->correlationId = op->correlation;
	record->address = op->memory.address;
	record->bytes = op->memory.bytes;
	record->timestamp = op->start_ns;
	record->PC = op->memory.pc;
	record->processId = (uint32_t)getpid();
	record->deviceId = op->device;
	record->contextId = op->context;
	record->streamId = op->stream;
	record->isAsync = op->memory.async;
	if (!op->memory.pool_address)
		return;
	record->memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
	record->memoryPoolConfig.address = op->memory.pool_address;
	record->memoryPoolConfig.releaseThreshold = op->memory.pool_threshold_bytes;
	record->memoryPoolConfig.pool.size = op->memory.pool_bytes;
	record->memoryPoolConfig.utilizedSize = op->memory.pool_used_bytes;
}

static void fill_pool(const struct sim_op *op, CUpti_ActivityMemoryPool3 *record)
{
	record->kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
	record->memoryPoolOperationType = (CUpti_ActivityMemoryPoolOperationType)op->pool.operation;
	record->memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
	record->correlationId = op->correlation;
	record->processId = (uint32_t)getpid();
	record->deviceId = op->device;
	record->minBytesToKeep = op->pool.keep_bytes;
	record->address = op->pool.address;
	record->size = op->pool.bytes;
	record->releaseThreshold = op->pool.threshold_bytes;
	record->timestamp = op->start_ns;
	record->utilizedSize = op->pool.used_bytes;
}

static void fill_overhead(const struct sim_op *op, CUpti_ActivityOverhead3 *record)
{
	record->kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	record->overheadKind = (CUpti_ActivityOverheadKind)op->overhead.kind;
	record->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
	record->objectId.pt.processId = (uint32_t)getpid();
	record->objectId.pt.threadId = cupti_thread_id();
	record->start = op->start_ns;
	record->end = op->end_ns;
	record->correlationId = op->correlation;
}

static void fill_jit(const struct sim_op *op, CUpti_ActivityJit2 *record)
{
	record->kind = CUPTI_ACTIVITY_KIND_JIT;
	record->jitEntryType = (CUpti_ActivityJitEntryType)op->jit.entry;
	record->jitOperationType = (CUpti_ActivityJitOperationType)op->jit.operation;
	record->deviceId = op->device;
	record->start = op->start_ns;
	record->end = op->end_ns;
	record->correlationId = op->correlation;
	record->jitOperationCorrelationId = op->correlation;
	record->cacheSize = op->jit.cache_bytes;
	record->cachePath = op->jit.cache_path;
	record->processId = (uint32_t)getpid();
	record->threadId = cupti_thread_id();
}

bool cupti_record_of(const struct sim_op *op, union cupti_record *ret_record)
{
	memset(ret_record, 0, sizeof *ret_record);
	switch (op->kind) {
	case SIM_KERNEL:
		fill_kernel(op, &ret_record->kernel);
		break;
	case SIM_COPY:
		fill_copy(op, &ret_record->copy);
		break;
	case SIM_PEER_COPY:
		fill_peer_copy(op, &ret_record->peer_copy);
		break;
	case SIM_SET:
		fill_set(op, &ret_record->set);
		break;
	case SIM_SYNC:
		fill_sync(op, &ret_record->sync);
		break;
	case SIM_EVENT:
		fill_event(op, &ret_record->event);
		break;
	case SIM_GRAPH:
		fill_graph(op, &ret_record->graph);
		break;
	case SIM_UNIFIED:
		fill_unified(op, &ret_record->unified);
		break;
	case SIM_MEMORY:
		fill_memory(op, &ret_record->memory);
		break;
	case SIM_POOL:
		fill_pool(op, &ret_record->pool);
		break;
	case SIM_OVERHEAD:
		fill_overhead(op, &ret_record->overhead);
		break;
	case SIM_JIT:
		fill_jit(op, &ret_record->jit);
		break;
	default:
		return false;
	}
	return cupti_kind_on(ret_record->any.kind);
}
