/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_info.c - small functions: versions, names, ids and attributes.
 */
#include "tests/sim/cupti_sim.h"

#include <string.h>

#ifndef SIM_CUPTI_VERSION
#define SIM_CUPTI_VERSION CUPTI_API_VERSION
#endif

uint32_t cupti_version(void)
{
	const struct sim_driver *driver = cupti_driver();
	uint64_t wanted = driver ? driver->option(SIM_OPTION_cupti_version) : 0;

	return wanted ? (uint32_t)wanted : SIM_CUPTI_VERSION;
}

CUPTI_EXPORT cuptiGetVersion(uint32_t *ret_version)
{
	CUPTI_MAY_FAIL();
	if (!ret_version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_version = cupti_version();
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiGetResultString(CUptiResult result, const char **ret_text)
{
	static const struct {
		CUptiResult result;
		const char *text;
	} texts[] = {
		{CUPTI_SUCCESS, "CUPTI_SUCCESS"},
		{CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
		{CUPTI_ERROR_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
		{CUPTI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
		{CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
		{CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
		{CUPTI_ERROR_NOT_COMPATIBLE, "CUPTI_ERROR_NOT_COMPATIBLE"},
		{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
		{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
			"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
		{CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
	};

	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].result == result) {
			*ret_text = texts[i].text;
			return CUPTI_SUCCESS;
		}
	return CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT cuptiGetErrorMessage(CUptiResult result, const char **ret_text)
{
	return cuptiGetResultString(result, ret_text);
}

/* ---- ids ---- */

CUPTI_EXPORT cuptiGetContextId(CUcontext context, uint32_t *ret_id)
{
	CUPTI_MAY_FAIL();
	if (!cupti_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!context || !ret_id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_id = cupti_driver()->context_id(context);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiGetDeviceId(CUcontext context, uint32_t *ret_id)
{
	if (!cupti_driver())
		return CUPTI_ERROR_UNKNOWN;
	*ret_id = cupti_driver()->context_device(context);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiGetStreamIdEx(
	CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *ret_id)
{
	if (!cupti_driver())
		return CUPTI_ERROR_UNKNOWN;
	*ret_id = cupti_driver()->stream_id(context, stream, per_thread);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *ret_id)
{
	return cuptiGetStreamIdEx(context, stream, 0, ret_id);
}

CUPTI_EXPORT cuptiGetGraphId(CUgraph graph, uint32_t *ret_id)
{
	CUPTI_MAY_FAIL();
	if (!cupti_driver() || !graph)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_id = cupti_driver()->graph_id(graph);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiGetGraphExecId(CUgraphExec exec, uint32_t *ret_id)
{
	CUPTI_MAY_FAIL();
	if (!cupti_driver() || !exec)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_id = cupti_driver()->graph_exec_id(exec);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiGetGraphNodeId(CUgraphNode node, uint64_t *ret_id)
{
	CUPTI_MAY_FAIL();
	if (!cupti_driver() || !node)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_id = cupti_driver()->graph_node_id(node);
	return CUPTI_SUCCESS;
}

/* ---- attributes: stored, and otherwise without effect ---- */

static size_t attributes[16] = {
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3,
	[CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE] = 25000,
	[CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT] = 250,
};

static size_t attribute_bytes(CUpti_ActivityAttribute attribute)
{
	switch (attribute) {
	case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
	case CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED:
	case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
		return 1;
	default:
		return sizeof(size_t);
	}
}

CUPTI_EXPORT cuptiActivityGetAttribute(
	CUpti_ActivityAttribute attribute, size_t *bytes, void *value)
{
	CUPTI_MAY_FAIL();
	if ((unsigned)attribute >= 16 || !bytes || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*bytes < attribute_bytes(attribute))
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	*bytes = attribute_bytes(attribute);
	memcpy(value, &attributes[attribute], *bytes);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivitySetAttribute(
	CUpti_ActivityAttribute attribute, size_t *bytes, void *value)
{
	CUPTI_MAY_FAIL();
	if ((unsigned)attribute >= 16 || !bytes || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*bytes < attribute_bytes(attribute))
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	memcpy(&attributes[attribute], value, attribute_bytes(attribute));
	return CUPTI_SUCCESS;
}

/* ---- functions that are accepted and change nothing ---- */

CUPTI_EXPORT cuptiActivityConfigureUnifiedMemoryCounter(
	CUpti_ActivityUnifiedMemoryCounterConfig *configs, uint32_t count)
{
	CUPTI_MAY_FAIL();
	if (!cupti_driver())
		return CUPTI_ERROR_UNKNOWN;
	return configs && count ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT cuptiActivityEnableHWTrace(uint8_t enable)
{
	return enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivityEnableLaunchAttributes(uint8_t enable)
{
	(void)enable;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
	(void)enable;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
	(void)enable;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivityEnableDeviceGraph(uint8_t enable)
{
	(void)enable;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivityEnableAllocationSource(uint8_t enable)
{
	(void)enable;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiDeviceSupported(CUdevice device, int *ret_supported)
{
	(void)device;
	*ret_supported = 1;
	return CUPTI_SUCCESS;
}
