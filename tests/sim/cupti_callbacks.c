/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_callbacks.c - the subscriber and its callbacks.
 */
#include "tests/sim/cupti_sim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLBACK_IDS = 1024 };

extern const char *const sim_driver_names[], *const sim_runtime_names[];
extern const unsigned sim_driver_names_count, sim_runtime_names_count;

_Thread_local unsigned cupti_in_callback, cupti_in_closed_callback;

static struct subscriber {
	CUpti_CallbackFunc callback;
	void *user_data;
	uint8_t wanted[CUPTI_CB_DOMAIN_SIZE][MAX_CALLBACK_IDS];
} subscriber;

static const struct sim_driver *driver_table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- notifications of the driver ---- */

static void call_client(CUpti_CallbackDomain domain, uint32_t cbid, const void *data)
{
	CUpti_CallbackFunc callback = __atomic_load_n(&subscriber.callback, __ATOMIC_ACQUIRE);
	bool closed = domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API;

	if (!callback || cbid >= MAX_CALLBACK_IDS || cupti_in_callback ||
		!__atomic_load_n(&subscriber.wanted[domain][cbid], __ATOMIC_RELAXED))
		return;
	cupti_in_callback++;
	cupti_in_closed_callback += closed;
	callback(subscriber.user_data, domain, cbid, data);
	cupti_in_closed_callback -= closed;
	cupti_in_callback--;
}

/* Return the name of the kernel in a launch of the driver API: it is the first parameter of one
 * function and the second of another. */
static const char *launched(const struct sim_call *call)
{
	if (call->symbol || call->domain != SIM_DRIVER_API || !call->params)
		return call->symbol;
	if (call->cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel ||
		call->cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel)
		return driver_table->function_name(*(void *const *)call->params);
	if (call->cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx)
		return driver_table->function_name(((void *const *)call->params)[1]);
	return NULL;
}

static void log_call(struct sim_call *call, CUpti_ApiCallbackSite site)
{
	CUpti_CallbackData data = {.callbackSite = site,
		.functionName = call->plain_name,
		.functionParams = call->params,
		.functionReturnValue = site == CUPTI_API_EXIT ? &call->result : NULL,
		.symbolName = launched(call),
		.contextUid = driver_table->context_id(NULL),
		.correlationData = call->tool_data,
		.correlationId = call->correlation};

	call_client((CUpti_CallbackDomain)call->domain, call->cbid, &data);
}

static void on_enter(struct sim_call *call)
{
	if (!call->outer)
		cupti_external_records(call);
	log_call(call, CUPTI_API_ENTER);
}

static void on_leave(struct sim_call *call)
{
	log_call(call, CUPTI_API_EXIT);
	cupti_api_record(call);
	if (!call->outer)
		cupti_collect(false);
}

static void on_resource(const struct sim_resource *resource)
{
	CUpti_ResourceData data = {
		.context = resource->context, .resourceHandle.stream = resource->stream};
	CUpti_ModuleResourceData module = {
		resource->module_id, resource->cubin_bytes, resource->cubin};
	CUpti_GraphData graph = {.graph = resource->graph,
		.originalGraph = resource->original_graph,
		.node = resource->node,
		.originalNode = resource->original_node,
		.nodeType = (CUgraphNodeType)resource->node_type,
		.dependency = resource->dependency,
		.graphExec = resource->graph_exec};

	if (resource->module_id)
		data.resourceDescriptor = &module;
	else if (resource->graph)
		data.resourceDescriptor = &graph;
	call_client(CUPTI_CB_DOMAIN_RESOURCE, resource->cbid, &data);
	cupti_resource_record(resource);
}

static void on_synchronized(uint32_t cbid, void *context, void *stream)
{
	CUpti_SynchronizeData data = {context, stream};

	call_client(CUPTI_CB_DOMAIN_SYNCHRONIZE, cbid, &data);
}

static const struct sim_tool tool = {.enter = on_enter,
	.leave = on_leave,
	.op = cupti_op,
	.resource = on_resource,
	.synchronized = on_synchronized};

static void open_driver(void)
{
	static const CUuuid uuid = SIM_DRIVER_UUID;
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*export_table)(const void **, const CUuuid *);

	if (!library)
		return;
	export_table =
		(CUresult(*)(const void **, const CUuuid *))dlsym(library, "cuGetExportTable");
	if (!export_table || export_table((const void **)&driver_table, &uuid)) {
		driver_table = NULL;
		return;
	}
	driver_table->set_tool(&tool);
}

const struct sim_driver *cupti_driver(void)
{
	pthread_once(&once, open_driver);
	return driver_table;
}

/* ---- the API ---- */

CUPTI_EXPORT cuptiSubscribe(
	CUpti_SubscriberHandle *ret_subscriber, CUpti_CallbackFunc callback, void *user_data)
{
	const struct sim_driver *driver = cupti_driver();

	CUPTI_MAY_FAIL();
	if (!driver)
		return CUPTI_ERROR_UNKNOWN;
	if (!callback || !ret_subscriber)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (driver->option(SIM_OPTION_subscribe_fails))
		return (CUptiResult)driver->option(SIM_OPTION_subscribe_fails);
	if (subscriber.callback)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	subscriber.user_data = user_data;
	__atomic_store_n(&subscriber.callback, callback, __ATOMIC_RELEASE);
	*ret_subscriber = (CUpti_SubscriberHandle)&subscriber;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiSubscribe_v2(CUpti_SubscriberHandle *ret_subscriber, CUpti_CallbackFunc callback,
	void *user_data, CUpti_SubscriberParams *params)
{
	CUptiResult result = cuptiSubscribe(ret_subscriber, callback, user_data);

	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params &&
		params->oldSubscriberName)
		snprintf(params->oldSubscriberName, params->oldSubscriberSize, "another tool");
	return result;
}

static bool is_ours(CUpti_SubscriberHandle handle)
{
	return handle == (CUpti_SubscriberHandle)&subscriber && subscriber.callback;
}

CUPTI_EXPORT cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	if (!is_ours(handle))
		return CUPTI_ERROR_INVALID_PARAMETER;
	__atomic_store_n(&subscriber.callback, NULL, __ATOMIC_RELEASE);
	memset(subscriber.wanted, 0, sizeof subscriber.wanted);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
	CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUPTI_MAY_FAIL();
	if (!is_ours(handle) || domain <= 0 || domain >= CUPTI_CB_DOMAIN_SIZE ||
		cbid >= MAX_CALLBACK_IDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	__atomic_store_n(&subscriber.wanted[domain][cbid], enable != 0, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiEnableDomain(
	uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain)
{
	CUPTI_MAY_FAIL();
	if (!is_ours(handle) || domain <= 0 || domain >= CUPTI_CB_DOMAIN_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (unsigned i = 0; i < MAX_CALLBACK_IDS; i++)
		__atomic_store_n(&subscriber.wanted[domain][i], enable != 0, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
	CUptiResult result = CUPTI_SUCCESS;

	for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE && !result; domain++)
		result = cuptiEnableDomain(enable, handle, (CUpti_CallbackDomain)domain);
	return result;
}

CUPTI_EXPORT cuptiGetCallbackState(uint32_t *ret_enabled, CUpti_SubscriberHandle handle,
	CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (!is_ours(handle) || domain <= 0 || domain >= CUPTI_CB_DOMAIN_SIZE ||
		cbid >= MAX_CALLBACK_IDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_enabled = subscriber.wanted[domain][cbid];
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **ret_name)
{
	const char *name = NULL;

	CUPTI_MAY_FAIL();
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid < sim_runtime_names_count)
		name = sim_runtime_names[cbid];
	else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < sim_driver_names_count)
		name = sim_driver_names[cbid];
	if (!name)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_name = name;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiFinalize(void)
{
	const struct sim_driver *driver = cupti_driver();

	if (!driver)
		return CUPTI_SUCCESS;
	driver->violation("cuptiFinalize called");
	cupti_flush_buffers();
	driver->set_tool(NULL);
	subscriber.callback = NULL;
	return CUPTI_SUCCESS;
}
