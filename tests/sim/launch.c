/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - launches, and work in general: done now, or stored as a node of a graph.
 */
#include "tests/sim/driver.h"
#include "impl.h"

#include <cupti_activity.h>
#include <stdatomic.h>

static _Atomic int64_t last_grid_id;

static void act_kernel(struct work *work)
{
	if (work->function->emulation)
		work->function->emulation->run(
			work->op.kernel.grid, work->op.kernel.block, work->arguments);
}

static void act_host(struct work *work)
{
	work->host(work->host_data);
}

static uint64_t kernel_duration_ns(const uint32_t grid[3], const uint32_t block[3])
{
	uint64_t threads = (uint64_t)grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2];
	uint64_t fixed = sim_option(SIM_OPTION_kernel_ns);

	if (fixed)
		return fixed;
	return threads / 8 < 20000000 ? 2000 + threads / 8 : 20002000;
}

static bool fits(const uint32_t grid[3], const uint32_t block[3])
{
	for (int i = 0; i < 3; i++)
		if (!grid[i] || !block[i] || block[i] > 1024)
			return false;
	return (uint64_t)block[0] * block[1] * block[2] <= 1024;
}

CUresult kernel_prepare(struct work *work, CUfunction function, const uint32_t grid[3],
	const uint32_t block[3], uint32_t shared_bytes, void **arguments)
{
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!fits(grid, block))
		return CUDA_ERROR_INVALID_VALUE;
	*work = (struct work){.type = CU_GRAPH_NODE_TYPE_KERNEL,
		.op = {.kind = SIM_KERNEL,
			.kernel = {.name = function->name,
				.static_shared_bytes = function->static_shared_bytes,
				.dynamic_shared_bytes = shared_bytes,
				.registers = function->registers,
				.local_bytes_per_thread = function->local_bytes}},
		.duration_ns = kernel_duration_ns(grid, block),
		.act = act_kernel,
		.function = function,
		.arguments = arguments};
	for (int i = 0; i < 3; i++) {
		work->op.kernel.grid[i] = grid[i];
		work->op.kernel.block[i] = block[i];
	}
	return CUDA_SUCCESS;
}

static CUresult work_capture(CUstream stream, struct work *work)
{
	CUgraphNode before[2];
	size_t count = 0;
	CUgraphNode node;

	if (stream->last_captured)
		before[count++] = stream->last_captured;
	if (stream->also_after)
		before[count++] = stream->also_after;
	node = graph_add(stream->capture, work, before, count);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->last_captured = node;
	stream->also_after = NULL;
	return CUDA_SUCCESS;
}

CUresult work_submit(CUstream stream, struct work *work)
{
	if (stream->capture)
		return work_capture(stream, work);
	if (work->op.kind == SIM_KERNEL) {
		work->op.kernel.grid_id = ++last_grid_id;
		memory_migrate_for_kernel(stream->context, stream, stream_busy_until(stream));
	}
	stream_enqueue(stream, &work->op, work->duration_ns);
	if (work->act)
		work->act(work);
	if (work->type != CU_GRAPH_NODE_TYPE_HOST)
		sim_log_op(&work->op);
	return CUDA_SUCCESS;
}

/* Load the code of a function at its first launch. */
static void load_lazily(CUfunction function)
{
	uint64_t start_ns = sim_now_ns();

	if (!__atomic_exchange_n(&function->loaded, true, __ATOMIC_RELAXED))
		sim_log_overhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, start_ns);
}

static CUresult launch(CUstream handle, CUfunction function, const uint32_t grid[3],
	const uint32_t block[3], uint32_t shared_bytes, void **arguments, const uint32_t cluster[3],
	uint8_t launch_type)
{
	struct sim_call *call = sim_current_call();
	CUstream stream = stream_of(handle);
	struct work work;
	CUresult result;

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	result = kernel_prepare(&work, function, grid, block, shared_bytes, arguments);
	if (result)
		return result;
	for (int i = 0; i < 3 && cluster; i++)
		work.op.kernel.cluster[i] = cluster[i];
	work.op.kernel.launch_type = launch_type;
	if (call)
		call->symbol = function->name;
	load_lazily(function);
	return work_submit(stream, &work);
}

CUresult impl_cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
	unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
	unsigned int shared_bytes, CUstream stream, void **arguments, void **extra)
{
	const uint32_t grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};

	(void)extra;
	return launch(stream, function, grid, block, shared_bytes, arguments, NULL,
		CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR);
}

CUresult impl_cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x,
	unsigned int grid_y, unsigned int grid_z, unsigned int block_x, unsigned int block_y,
	unsigned int block_z, unsigned int shared_bytes, CUstream stream, void **arguments)
{
	const uint32_t grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};

	return launch(stream, function, grid, block, shared_bytes, arguments, NULL,
		CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE);
}

CUresult impl_cuLaunchKernelEx(
	const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra)
{
	const uint32_t grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
	const uint32_t block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};
	uint32_t cluster[3] = {0, 0, 0};
	uint8_t type = CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;

	(void)extra;
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *attribute = &config->attrs[i];

		if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			cluster[0] = attribute->value.clusterDim.x;
			cluster[1] = attribute->value.clusterDim.y;
			cluster[2] = attribute->value.clusterDim.z;
		} else if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
			attribute->value.cooperative) {
			type = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE;
		}
	}
	return launch(config->hStream, function, grid, block, config->sharedMemBytes, arguments,
		cluster, type);
}

CUresult impl_cuStreamAddCallback(
	CUstream handle, CUstreamCallback callback, void *data, unsigned int flags)
{
	CUstream stream = stream_of(handle);

	(void)flags;
	if (!stream || !callback || stream->capture)
		return CUDA_ERROR_INVALID_VALUE;
	sim_wait_until(stream_busy_until(stream));
	callback(handle, CUDA_SUCCESS, data);
	return CUDA_SUCCESS;
}

/* Run the function on the calling thread; a real driver has a thread of its own for that. */
CUresult impl_cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data)
{
	CUstream stream = stream_of(handle);
	struct work work = {.type = CU_GRAPH_NODE_TYPE_HOST,
		.act = act_host,
		.host = function,
		.host_data = data};

	if (!stream || !function)
		return CUDA_ERROR_INVALID_VALUE;
	return work_submit(stream, &work);
}
