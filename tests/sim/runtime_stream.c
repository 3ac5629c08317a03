/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_stream.c - streams, events and graphs of the runtime: one driver call each.
 */
#include "tests/sim/runtime.h"
#include "impl.h"

cudaError_t impl_cudaStreamCreateWithPriority(
	cudaStream_t *ret_stream, unsigned int flags, int priority)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuStreamCreateWithPriority(ret_stream, flags, priority));
}

cudaError_t impl_cudaStreamCreateWithFlags(cudaStream_t *ret_stream, unsigned int flags)
{
	return impl_cudaStreamCreateWithPriority(ret_stream, flags, 0);
}

cudaError_t impl_cudaStreamCreate(cudaStream_t *ret_stream)
{
	return impl_cudaStreamCreateWithPriority(ret_stream, 0, 0);
}

cudaError_t impl_cudaStreamDestroy(cudaStream_t stream)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuStreamDestroy(stream));
}

cudaError_t impl_cudaStreamSynchronize(cudaStream_t stream)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuStreamSynchronize(stream));
}

cudaError_t impl_cudaStreamQuery(cudaStream_t stream)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuStreamQuery(stream));
}

cudaError_t impl_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuStreamWaitEvent(stream, event, flags));
}

cudaError_t impl_cudaStreamGetPriority(cudaStream_t stream, int *ret_priority)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuStreamGetPriority(stream, ret_priority));
}

cudaError_t impl_cudaStreamGetFlags(cudaStream_t stream, unsigned int *ret_flags)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuStreamGetFlags(stream, ret_flags));
}

cudaError_t impl_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuLaunchHostFunc(stream, function, data));
}

cudaError_t impl_cudaStreamAddCallback(
	cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int flags)
{
	NEED_CONTEXT();
	return runtime_error(
		driver()->cuStreamAddCallback(stream, (CUstreamCallback)callback, data, flags));
}

cudaError_t impl_cudaStreamGetId(cudaStream_t stream, unsigned long long *ret_id)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuStreamGetId(stream, ret_id));
}

/* ---- events ---- */

cudaError_t impl_cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned int flags)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuEventCreate(ret_event, flags));
}

cudaError_t impl_cudaEventCreate(cudaEvent_t *ret_event)
{
	return impl_cudaEventCreateWithFlags(ret_event, 0);
}

cudaError_t impl_cudaEventDestroy(cudaEvent_t event)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuEventDestroy(event));
}

cudaError_t impl_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuEventRecord(event, stream));
}

cudaError_t impl_cudaEventRecordWithFlags(
	cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	(void)flags;
	return impl_cudaEventRecord(event, stream);
}

cudaError_t impl_cudaEventSynchronize(cudaEvent_t event)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuEventSynchronize(event));
}

cudaError_t impl_cudaEventQuery(cudaEvent_t event)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuEventQuery(event));
}

cudaError_t impl_cudaEventElapsedTime(float *ret_ms, cudaEvent_t start, cudaEvent_t end)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuEventElapsedTime(ret_ms, start, end));
}

/* ---- graphs ---- */

cudaError_t impl_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode));
}

cudaError_t impl_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret_graph)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuStreamEndCapture(stream, ret_graph));
}

cudaError_t impl_cudaStreamIsCapturing(
	cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status)
{
	NEED_CONTEXT();
	return runtime_error(
		driver()->cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)ret_status));
}

cudaError_t impl_cudaGraphCreate(cudaGraph_t *ret_graph, unsigned int flags)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuGraphCreate(ret_graph, flags));
}

cudaError_t impl_cudaGraphDestroy(cudaGraph_t graph)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuGraphDestroy(graph));
}

static CUDA_KERNEL_NODE_PARAMS kernel_params(const struct cudaKernelNodeParams *params)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = runtime_function(params->func),
		.gridDimX = params->gridDim.x,
		.gridDimY = params->gridDim.y,
		.gridDimZ = params->gridDim.z,
		.blockDimX = params->blockDim.x,
		.blockDimY = params->blockDim.y,
		.blockDimZ = params->blockDim.z,
		.sharedMemBytes = params->sharedMemBytes,
		.kernelParams = params->kernelParams,
		.extra = params->extra};
}

cudaError_t impl_cudaGraphAddKernelNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, size_t count,
	const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS own;

	NEED_CONTEXT();
	own = kernel_params(params);
	if (!own.func)
		return cudaErrorInvalidDeviceFunction;
	return runtime_error(
		driver()->cuGraphAddKernelNode(ret_node, graph, dependencies, count, &own));
}

cudaError_t impl_cudaGraphExecKernelNodeSetParams(
	cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS own;

	NEED_CONTEXT();
	own = kernel_params(params);
	if (!own.func)
		return cudaErrorInvalidDeviceFunction;
	return runtime_error(driver()->cuGraphExecKernelNodeSetParams(exec, node, &own));
}

cudaError_t impl_cudaGraphClone(cudaGraph_t *ret_clone, cudaGraph_t graph)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuGraphClone(ret_clone, graph));
}

cudaError_t impl_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *ret_node, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, size_t count, void *target, const void *source,
	size_t bytes, enum cudaMemcpyKind kind)
{
	bool from_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
	bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
	CUDA_MEMCPY3D plan = {
		.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.srcHost = source,
		.srcDevice = (CUdeviceptr)(uintptr_t)source,
		.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.dstHost = target,
		.dstDevice = (CUdeviceptr)(uintptr_t)target,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1};

	NEED_CONTEXT();
	return runtime_error(
		driver()->cuGraphAddMemcpyNode(ret_node, graph, dependencies, count, &plan, NULL));
}

cudaError_t impl_cudaGraphAddMemsetNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, size_t count, const struct cudaMemsetParams *params)
{
	CUDA_MEMSET_NODE_PARAMS own = {.dst = (CUdeviceptr)(uintptr_t)params->dst,
		.pitch = params->pitch,
		.value = params->value,
		.elementSize = params->elementSize,
		.width = params->width,
		.height = params->height};

	NEED_CONTEXT();
	return runtime_error(
		driver()->cuGraphAddMemsetNode(ret_node, graph, dependencies, count, &own, NULL));
}

cudaError_t impl_cudaGraphAddMemAllocNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, size_t count, struct cudaMemAllocNodeParams *params)
{
	CUDA_MEM_ALLOC_NODE_PARAMS own = {.bytesize = params->bytesize};
	cudaError_t error;

	NEED_CONTEXT();
	own.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	own.poolProps.location.type = (CUmemLocationType)params->poolProps.location.type;
	own.poolProps.location.id = params->poolProps.location.id;
	error = runtime_error(
		driver()->cuGraphAddMemAllocNode(ret_node, graph, dependencies, count, &own));
	params->dptr = (void *)(uintptr_t)own.dptr;
	return error;
}

cudaError_t impl_cudaGraphAddMemFreeNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, size_t count, void *address)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuGraphAddMemFreeNode(
		ret_node, graph, dependencies, count, (CUdeviceptr)(uintptr_t)address));
}

cudaError_t impl_cudaDeviceGraphMemTrim(int device)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuDeviceGraphMemTrim(device));
}

cudaError_t impl_cudaDeviceGetGraphMemAttribute(
	int device, enum cudaGraphMemAttributeType attribute, void *ret_value)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuDeviceGetGraphMemAttribute(
		device, (CUgraphMem_attribute)attribute, ret_value));
}

cudaError_t impl_cudaGraphAddHostNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, size_t count, const struct cudaHostNodeParams *params)
{
	CUDA_HOST_NODE_PARAMS own = {.fn = params->fn, .userData = params->userData};

	NEED_CONTEXT();
	return runtime_error(
		driver()->cuGraphAddHostNode(ret_node, graph, dependencies, count, &own));
}

cudaError_t impl_cudaGraphAddEmptyNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, size_t count)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuGraphAddEmptyNode(ret_node, graph, dependencies, count));
}

cudaError_t impl_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *ret_nodes, size_t *ret_count)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuGraphGetNodes(graph, ret_nodes, ret_count));
}

cudaError_t impl_cudaGraphInstantiate(
	cudaGraphExec_t *ret_exec, cudaGraph_t graph, unsigned long long flags)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuGraphInstantiateWithFlags(ret_exec, graph, flags));
}

cudaError_t impl_cudaGraphInstantiateWithFlags(
	cudaGraphExec_t *ret_exec, cudaGraph_t graph, unsigned long long flags)
{
	return impl_cudaGraphInstantiate(ret_exec, graph, flags);
}

cudaError_t impl_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuGraphLaunch(exec, stream));
}

cudaError_t impl_cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuGraphUpload(exec, stream));
}

cudaError_t impl_cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	NEED_CONTEXT();
	return runtime_error(driver()->cuGraphExecDestroy(exec));
}
