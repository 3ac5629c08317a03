/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_activity.c - the enabled activity kinds, the operations in progress, and the records of
 * calls and of objects that are created and destroyed.
 */
#include "tests/sim/cupti_sim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_KINDS = 64, MAX_IDS = 1024, MAX_EXTERNAL = 32 };

static uint8_t kinds[MAX_KINDS];
static uint8_t silent[3][MAX_IDS]; /* domain, callback id: cuptiActivityEnable{Driver,Runtime}Api
				      switched it off */
static bool system_thread_ids, latency_stamps;

/* Operations that have not ended yet, ordered by end. */
static struct pending {
	struct sim_op op;
	struct pending *next;
} * pending_first, *pending_last;
static size_t pending_count; /* read without the lock */
static pthread_mutex_t pending_mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t device_records;

static _Thread_local struct {
	CUpti_ExternalCorrelationKind kind;
	uint64_t id;
} external[MAX_EXTERNAL];
static _Thread_local unsigned external_count;

bool cupti_kind_on(CUpti_ActivityKind kind)
{
	return (unsigned)kind < MAX_KINDS && __atomic_load_n(&kinds[kind], __ATOMIC_RELAXED);
}

uint32_t cupti_thread_id(void)
{
	return system_thread_ids ? (uint32_t)syscall(SYS_gettid)
				 : (uint32_t)(uintptr_t)pthread_self();
}

/* ---- operations of the device ---- */

static bool nth(enum sim_option option, uint64_t number)
{
	uint64_t every = cupti_driver()->option(option);

	return every && number % every == 0;
}

static void put_times(struct sim_op *op, uint64_t number)
{
	uint64_t skew = cupti_driver()->option(SIM_OPTION_skew_ns), start;

	op->start_ns = cupti_time_in(op->context, op->start_ns) - skew;
	op->end_ns = cupti_time_in(op->context, op->end_ns) - skew;
	if (nth(SIM_OPTION_zero_every, number))
		op->start_ns = op->end_ns = 0;
	if (nth(SIM_OPTION_invert_every, number)) {
		start = op->start_ns;
		op->start_ns = op->end_ns + 1;
		op->end_ns = start;
	}
}

static void put_op(const struct sim_op *finished)
{
	struct sim_op op = *finished;
	union cupti_record record;
	uint64_t number;

	number = __atomic_add_fetch(&device_records, 1, __ATOMIC_RELAXED);
	if (nth(SIM_OPTION_drop_every, number)) {
		cupti_count_drop();
		return;
	}
	put_times(&op, number);
	cupti_record_of(&op, &record); /* the kind was enabled at enqueue */
	if (latency_stamps && op.kind == SIM_KERNEL) {
		record.kernel.queued = op.start_ns - 1000;
		record.kernel.submitted = op.start_ns - 500;
	}
	cupti_put(&record, sizeof record, true);
	if (nth(SIM_OPTION_unknown_every, number)) {
		memset(&record, 0x55, sizeof record);
		record.any.kind = (CUpti_ActivityKind)CUPTI_SIM_UNKNOWN_KIND;
		cupti_put(&record, sizeof record, true);
	}
}

void cupti_op(const struct sim_op *op)
{
	struct pending **at = &pending_first;
	union cupti_record record;
	struct pending *pending;

	cupti_profiler_op(op);
	if (!cupti_record_of(op, &record))
		return;
	pending = malloc(sizeof *pending);
	if (!pending) {
		cupti_count_drop();
		return;
	}
	pending->op = *op;
	pthread_mutex_lock(&pending_mutex);
	if (pending_first && pending_last->op.end_ns <= op->end_ns) /* the usual case */
		at = &pending_last->next;
	while (*at && (*at)->op.end_ns <= op->end_ns)
		at = &(*at)->next;
	pending->next = *at;
	*at = pending;
	if (!pending->next)
		pending_last = pending;
	__atomic_fetch_add(&pending_count, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&pending_mutex);
}

/* Remove the operations that ended at that time or before from the list and return them. Return
 * NULL if there are none. */
static struct pending *take_finished(uint64_t until_ns)
{
	struct pending *finished = NULL, **last = &finished;

	pthread_mutex_lock(&pending_mutex);
	while (pending_first && pending_first->op.end_ns <= until_ns) {
		*last = pending_first;
		last = &pending_first->next;
		pending_first = *last;
		__atomic_fetch_sub(&pending_count, 1, __ATOMIC_RELAXED);
	}
	*last = NULL;
	pthread_mutex_unlock(&pending_mutex);
	return finished;
}

static struct pending *reversed(struct pending *list)
{
	struct pending *result = NULL, *next;

	for (; list; list = next) {
		next = list->next;
		list->next = result;
		result = list;
	}
	return result;
}

void cupti_collect(bool all)
{
	const struct sim_driver *driver = cupti_driver();
	uint64_t late_ns = all ? 0 : driver->option(SIM_OPTION_late_ms) * 1000000;
	struct pending *list, *next;

	/* Delivery out of order needs several records. */
	if (!__atomic_load_n(&pending_count, __ATOMIC_RELAXED) ||
		(!all && driver->option(SIM_OPTION_unordered)))
		return;
	cupti_clock_sample();
	list = take_finished(driver->now_ns() - late_ns);
	if (driver->option(SIM_OPTION_unordered))
		list = reversed(list);
	for (; list; list = next) {
		next = list->next;
		put_op(&list->op);
		free(list);
	}
}

/* ---- records of calls ---- */

void cupti_api_record(const struct sim_call *call)
{
	CUpti_ActivityAPI record = {.kind = call->domain == SIM_RUNTIME_API
			? CUPTI_ACTIVITY_KIND_RUNTIME
			: CUPTI_ACTIVITY_KIND_DRIVER,
		.cbid = call->cbid,
		.processId = (uint32_t)getpid(),
		.threadId = cupti_thread_id(),
		.correlationId = call->correlation,
		.returnValue = call->result};

	if (!cupti_kind_on(record.kind) ||
		(call->cbid < MAX_IDS && silent[call->domain][call->cbid]))
		return;
	record.start = cupti_time(call->start_ns);
	record.end = cupti_time(call->end_ns);
	cupti_put(&record, sizeof record, false);
}

void cupti_external_records(const struct sim_call *call)
{
	if (!external_count || !cupti_kind_on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
		return;
	for (unsigned i = external_count; i-- > 0;) {
		CUpti_ActivityExternalCorrelation record = {
			.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
			.externalKind = external[i].kind,
			.externalId = external[i].id,
			.correlationId = call->correlation};
		bool covered = false; /* replaced by a later record of its kind */

		for (unsigned j = i + 1; j < external_count; j++)
			covered |= external[j].kind == external[i].kind;
		if (!covered)
			cupti_put(&record, sizeof record, false);
	}
}

CUPTI_EXPORT cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	if (external_count == MAX_EXTERNAL)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	external[external_count].kind = kind;
	external[external_count++].id = id;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivityPopExternalCorrelationId(
	CUpti_ExternalCorrelationKind kind, uint64_t *ret_id)
{
	for (unsigned i = external_count; i-- > 0;) {
		if (external[i].kind != kind)
			continue;
		if (ret_id)
			*ret_id = external[i].id;
		memmove(&external[i], &external[i + 1], (--external_count - i) * sizeof *external);
		return CUPTI_SUCCESS;
	}
	return CUPTI_ERROR_QUEUE_EMPTY;
}

/* ---- records of objects ---- */

static void put_device(uint32_t ordinal)
{
	CUpti_ActivityDevice5 record = {.kind = CUPTI_ACTIVITY_KIND_DEVICE,
		.flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS,
		.globalMemoryBandwidth = 3352320000,
		.constantMemorySize = 65536,
		.l2CacheSize = 52428800,
		.numThreadsPerWarp = 32,
		.coreClockRate = 1980000,
		.numMemcpyEngines = 3,
		.maxIPC = 4,
		.maxWarpsPerMultiprocessor = 64,
		.maxBlocksPerMultiprocessor = 32,
		.maxSharedMemoryPerMultiprocessor = 233472,
		.maxRegistersPerMultiprocessor = 65536,
		.maxRegistersPerBlock = 65536,
		.maxSharedMemoryPerBlock = 49152,
		.maxThreadsPerBlock = 1024,
		.maxBlockDimX = 1024,
		.maxBlockDimY = 1024,
		.maxBlockDimZ = 64,
		.maxGridDimX = 2147483647,
		.maxGridDimY = 65535,
		.maxGridDimZ = 65535,
		.id = ordinal,
		.isCudaVisible = 1};
	struct sim_device_facts facts;

	cupti_driver()->device_facts(ordinal, &facts);
	record.globalMemorySize = facts.memory_bytes;
	record.numMultiprocessors = facts.multiprocessors;
	record.computeCapabilityMajor = facts.major;
	record.computeCapabilityMinor = facts.minor;
	record.name = facts.name;
	memcpy(record.uuid.bytes, facts.uuid, sizeof record.uuid.bytes);
	cupti_put(&record, sizeof record, true);
}

static void put_attribute(uint32_t ordinal, CUdevice_attribute attribute, int32_t value)
{
	CUpti_ActivityDeviceAttribute record = {.kind = CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE,
		.flags = CUPTI_ACTIVITY_FLAG_DEVICE_ATTRIBUTE_CUDEVICE,
		.deviceId = ordinal,
		.attribute.cu = attribute,
		.value.vInt32 = value};

	cupti_put(&record, sizeof record, true);
}

static void put_devices(void)
{
	for (uint32_t i = 0; i < cupti_driver()->device_count(); i++) {
		if (cupti_kind_on(CUPTI_ACTIVITY_KIND_DEVICE))
			put_device(i);
		if (!cupti_kind_on(CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE))
			continue;
		for (int n = 1; n < CU_DEVICE_ATTRIBUTE_MAX; n++)
			put_attribute(
				i, (CUdevice_attribute)n, cupti_driver()->device_attribute(i, n));
	}
}

static void put_context(const struct sim_resource *resource)
{
	CUpti_ActivityContext3 record = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT,
		.contextId = resource->context_id,
		.deviceId = resource->device_id,
		.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA,
		.nullStreamId = (uint16_t)resource->null_stream_id};

	if (cupti_kind_on(record.kind))
		cupti_put(&record, sizeof record, true);
}

/* Record the device memory that CUPTI allocates for itself when a context begins. */
static void put_own_resources(const struct sim_resource *resource)
{
	struct sim_op op = {.kind = SIM_OVERHEAD,
		.start_ns = cupti_driver()->now_ns(),
		.device = resource->device_id,
		.context = resource->context_id,
		.overhead.kind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE};

	op.end_ns = op.start_ns + 20000;
	if (!cupti_kind_on(CUPTI_ACTIVITY_KIND_OVERHEAD))
		return;
	cupti_driver()->note_op(&op);
	cupti_op(&op);
}

static void put_stream(const struct sim_resource *resource)
{
	CUpti_ActivityStream record = {.kind = CUPTI_ACTIVITY_KIND_STREAM,
		.contextId = resource->context_id,
		.streamId = resource->stream_id,
		.priority = resource->stream_priority,
		.flag = (CUpti_ActivityStreamFlag)resource->stream_flag,
		.correlationId = resource->correlation};

	if (cupti_kind_on(record.kind))
		cupti_put(&record, sizeof record, true);
}

static void put_module(const struct sim_resource *resource)
{
	CUpti_ActivityModule record = {.kind = CUPTI_ACTIVITY_KIND_MODULE,
		.contextId = resource->context_id,
		.id = resource->module_id,
		.cubinSize = (uint32_t)resource->cubin_bytes,
		.cubin = resource->cubin};

	if (cupti_kind_on(record.kind))
		cupti_put(&record, sizeof record, true);
}

void cupti_resource_record(const struct sim_resource *resource)
{
	switch (resource->cbid) {
	case CUPTI_CBID_RESOURCE_CU_INIT_FINISHED:
		put_devices();
		break;
	case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
		put_context(resource);
		put_own_resources(resource);
		break;
	case CUPTI_CBID_RESOURCE_STREAM_CREATED:
		put_stream(resource);
		break;
	case CUPTI_CBID_RESOURCE_MODULE_LOADED:
		put_module(resource);
		break;
	default:
		break;
	}
}

/* ---- switches ---- */

CUPTI_EXPORT cuptiActivityEnable(CUpti_ActivityKind kind)
{
	const struct sim_driver *driver = cupti_driver();

	CUPTI_MAY_FAIL();
	if (!driver)
		return CUPTI_ERROR_UNKNOWN;
	if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	if (driver->option(SIM_OPTION_enable_fails) == (uint64_t)kind)
		return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
	if (kind == CUPTI_ACTIVITY_KIND_KERNEL)
		driver->violation("CUPTI_ACTIVITY_KIND_KERNEL serialises kernels");
	__atomic_store_n(&kinds[kind], 1, __ATOMIC_RELAXED);
	driver->set_whole_graphs(cupti_kind_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
	if (driver->initialized() &&
		(kind == CUPTI_ACTIVITY_KIND_DEVICE ||
			kind == CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE))
		put_devices();
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivityDisable(CUpti_ActivityKind kind)
{
	CUPTI_MAY_FAIL();
	if (!cupti_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	__atomic_store_n(&kinds[kind], 0, __ATOMIC_RELAXED);
	cupti_driver()->set_whole_graphs(cupti_kind_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	(void)context;
	return cuptiActivityEnable(kind);
}

CUPTI_EXPORT cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	(void)context;
	return cuptiActivityDisable(kind);
}

static CUptiResult enable_api(enum sim_domain domain, CUpti_CallbackId cbid, uint8_t enable)
{
	if (cbid >= MAX_IDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	silent[domain][cbid] = !enable;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return enable_api(SIM_DRIVER_API, cbid, enable);
}

CUPTI_EXPORT cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return enable_api(SIM_RUNTIME_API, cbid, enable);
}

CUPTI_EXPORT cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	latency_stamps = enable;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	CUPTI_MAY_FAIL();
	system_thread_ids = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiGetThreadIdType(CUpti_ActivityThreadIdType *ret_type)
{
	*ret_type = system_thread_ids ? CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
				      : CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
	return CUPTI_SUCCESS;
}
