/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_counters.c - counters of NVTX with every way to give a sample, and user defined
 * synchronization objects.
 *
 * The report must contain what tests/e2e/nvtx_ext.py lists; ids that the program chooses must be
 * kept. Without a tool the same calls do nothing.
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsScope.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <nvtx3/nvToolsExtSync.h>

#define TRACED (getenv("NVTX_INJECTION64_PATH") != NULL)

static nvtxDomainHandle_t domain;

static uint64_t counter(const char *name, uint64_t schema, const void *semantics, uint64_t id)
{
	nvtxCounterAttr_t a = {0};
	a.structSize = sizeof(a);
	a.schemaId = schema;
	a.name = name;
	a.description = "for a test";
	a.scopeId = NVTX_SCOPE_CURRENT_SW_THREAD;
	a.semantics = semantics;
	a.counterId = id;
	uint64_t got = nvtxCounterRegister(domain, &a);
	check(!TRACED || (id ? got == id : got >= NVTX_COUNTER_ID_DYNAMIC_START), name);
	return got;
}

static void single(void)
{
	nvtxSemanticsTime_t time = {
		{sizeof(time), NVTX_SEMANTIC_ID_TIME_V1, NVTX_TIME_SEMANTIC_VERSION, NULL},
		NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED};
	nvtxSemanticsCounter_t meaning = {{sizeof(meaning), NVTX_SEMANTIC_ID_COUNTERS_V1,
						  NVTX_COUNTER_SEMANTIC_VERSION, &time.header},
		NVTX_COUNTER_FLAG_LIMITS | NVTX_COUNTER_FLAG_INTERPOLATION_LINEAR, "bytes", 1024, 1,
		NVTX_COUNTER_LIMIT_I64, {.i64 = -5}, {.i64 = 500}};
	uint64_t whole = counter("whole", NVTX_PAYLOAD_ENTRY_TYPE_INT64, &meaning, 0);
	uint64_t real = counter(
		"real", NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, NULL, NVTX_COUNTER_ID_STATIC_START + 3);
	uint64_t small = counter("small", NVTX_PAYLOAD_ENTRY_TYPE_UINT16, NULL, 0);
	nvtxCounterSampleInt64(domain, whole, -4);
	nvtxCounterSampleInt64(domain, whole, INT64_MAX);
	nvtxCounterSampleFloat64(domain, real, 0.25);
	uint16_t value = 65535;
	nvtxCounterSample(domain, small, &value, sizeof(value));
	nvtxCounterSampleNoValue(domain, whole, NVTX_COUNTER_SAMPLE_ZERO);
	nvtxCounterSampleNoValue(domain, whole, NVTX_COUNTER_SAMPLE_UNCHANGED);
	nvtxCounterSampleNoValue(domain, whole, NVTX_COUNTER_SAMPLE_UNAVAILABLE);
	int64_t batch[] = {1, 2, 3}, times[] = {100, 200, 300};
	nvtxCounterBatch_t b = {
		whole, batch, sizeof(batch), NVTX_BATCH_FLAG_UNSORTED, times, sizeof(times)};
	nvtxCounterBatchSubmit(domain, &b);
}

static void groups(void)
{
	struct group {
		int32_t used;
		float load;
	} v = {7, 0.5f}, batch[] = {{1, 1.5f}, {2, 2.5f}};
	nvtxSemanticsScope_t scope = {
		{sizeof(scope), NVTX_SEMANTIC_ID_SCOPE_V1, 1, NULL}, NVTX_SCOPE_CURRENT_SW_PROCESS};
	nvtxPayloadSchemaEntry_t entries[] = {
		{NVTX_PAYLOAD_ENTRY_FLAG_COUNTER, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "used", "of all",
			0, 0, &scope.header},
		{NVTX_PAYLOAD_ENTRY_FLAG_COUNTER, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "load"}};
	nvtxPayloadSchemaAttr_t a = {0};
	a.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS |
		NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
		NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
		NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
	a.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	a.flags = NVTX_PAYLOAD_SCHEMA_FLAG_COUNTER_GROUP;
	a.entries = entries;
	a.numEntries = 2;
	a.payloadStaticSize = sizeof(v);
	uint64_t group = counter("group", nvtxPayloadSchemaRegister(domain, &a), NULL, 0);
	nvtxCounterSample(domain, group, &v, sizeof(v));
	nvtxCounterBatch_t b = {group, batch, sizeof(batch), 0, NULL, 0};
	nvtxCounterBatchSubmit(domain, &b);
}

static void objects(void)
{
	nvtxSyncUserAttributes_t a = {0};
	a.version = NVTX_VERSION;
	a.size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
	a.message.unicode = L"spin \x20ac";
	nvtxSyncUser_t object = nvtxDomainSyncUserCreate(domain, &a);
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = "other";
	nvtxSyncUser_t other = nvtxDomainSyncUserCreate(domain, &a);
	check(!TRACED || !nvtxDomainIsEnabled(domain) || (object && other && object != other),
		"objects have handles of their own");
	nvtxDomainSyncUserAcquireStart(object);
	nvtxDomainSyncUserAcquireFailed(object);
	nvtxDomainSyncUserAcquireStart(object);
	nvtxDomainSyncUserAcquireSuccess(object);
	nvtxDomainSyncUserReleasing(object);
	nvtxDomainSyncUserDestroy(object);
}

int main(void)
{
	domain = nvtxDomainCreateA("counters");
	single();
	groups();
	objects();
	return app_result();
}
