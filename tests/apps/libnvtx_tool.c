/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
// CFLAGS: -DNVTX_NO_IMPL
/*
 * libnvtx_tool.c - a small NVTX tool of its own, for tests: it implements every call of the core
 * and the payload extension, returns handles and ids that no other tool would return, and prints
 * the arguments that it received.
 *
 * With NVTX_TOOL=refuse in the environment it refuses to start. With NVTX_TOOL=part it provides
 * functions for marks only. With NVTX_TOOL=differ the second object that uses NVTX gets a different
 * function for marks than the first.
 */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#define NVTX_EXT_TYPES_GUARD
#include <nvtx3/nvtxDetail/nvtxExtTypes.h>
#undef NVTX_EXT_TYPES_GUARD
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct nvtxDomainRegistration_st {
	char text[64];
};
struct nvtxStringRegistration_st {
	char text[64];
};

static struct nvtxDomainRegistration_st domains[16];
static struct nvtxStringRegistration_st strings[16];
static int domain_count, string_count;
static int depth;

static const char *name(nvtxDomainHandle_t domain)
{
	return domain ? domain->text : "-";
}

static const char *message(const nvtxEventAttributes_t *e)
{
	return e->messageType == NVTX_MESSAGE_TYPE_REGISTERED ? e->message.registered->text
							      : e->message.ascii;
}

static nvtxDomainHandle_t domain_create(const char *text)
{
	printf("tool: domain %s\n", text);
	snprintf(domains[domain_count].text, sizeof(domains[0].text), "%s", text);
	return &domains[domain_count++];
}

static nvtxDomainHandle_t domain_create_wide(const wchar_t *text)
{
	(void)text;
	return domain_create("wide");
}

static nvtxStringHandle_t string_register(nvtxDomainHandle_t domain, const char *text)
{
	printf("tool: string %s %s\n", name(domain), text);
	snprintf(strings[string_count].text, sizeof(strings[0].text), "%s", text);
	return &strings[string_count++];
}

static nvtxStringHandle_t string_register_wide(nvtxDomainHandle_t domain, const wchar_t *text)
{
	(void)text;
	return string_register(domain, "wide");
}

static void mark(const char *text)
{
	printf("tool: mark %s\n", text);
}

static void mark_of_another(const char *text)
{
	printf("tool: mark %s of another object\n", text);
}

static void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *e)
{
	printf("tool: mark %s %s\n", name(domain), message(e));
}

static int push(const char *text)
{
	printf("tool: push %s\n", text);
	return 40 + depth++;
}

static int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *e)
{
	printf("tool: push %s %s\n", name(domain), message(e));
	return 40 + depth++;
}

static int pop(void)
{
	printf("tool: pop\n");
	return 40 + --depth;
}

static int domain_pop(nvtxDomainHandle_t domain)
{
	printf("tool: pop %s\n", name(domain));
	return 40 + --depth;
}

static nvtxRangeId_t start(const char *text)
{
	printf("tool: start %s\n", text);
	return 4711;
}

static void end(nvtxRangeId_t id)
{
	printf("tool: end %d\n", (int)id);
}

static uint64_t schema_register(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t *a)
{
	printf("tool: schema %s %d entries\n", name(domain), (int)a->numEntries);
	return NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + 99;
}

static void mark_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *data, size_t count)
{
	printf("tool: payload %s %d of schema %d\n", name(domain), (int)count,
		(int)(data->schemaId - NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START));
}

static int wants(const char *what)
{
	const char *value = getenv("NVTX_TOOL");
	return value && !strcmp(value, what);
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
	const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
	NvtxFunctionTable core = NULL, core2 = NULL;
	unsigned size;
	static int objects;
	callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &size);
	callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &size);
	if (wants("refuse"))
		return 0;
	*core[NVTX_CBID_CORE_MarkA] = wants("differ") && objects++
		? (NvtxFunctionPointer)mark_of_another
		: (NvtxFunctionPointer)mark;
	*core2[NVTX_CBID_CORE2_DomainMarkEx] = (NvtxFunctionPointer)domain_mark;
	if (wants("part"))
		return 1;
	*core[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
	*core[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
	*core[NVTX_CBID_CORE_RangeStartA] = (NvtxFunctionPointer)start;
	*core[NVTX_CBID_CORE_RangeEnd] = (NvtxFunctionPointer)end;
	*core2[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)domain_push;
	*core2[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)domain_pop;
	*core2[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)domain_create;
	*core2[NVTX_CBID_CORE2_DomainCreateW] = (NvtxFunctionPointer)domain_create_wide;
	*core2[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)string_register;
	*core2[NVTX_CBID_CORE2_DomainRegisterStringW] = (NvtxFunctionPointer)string_register_wide;
	return 1;
}

/* Return the time of the tool's own clock: half as fast as the tracer's, with another origin. */
static int64_t timestamp_get(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec) / 2 + 1000;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
	nvtxExtModuleInfo_t *module)
{
	if (module->moduleId == NVTX_EXT_PAYLOAD_MODULEID) {
		module->segments->functionSlots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] =
			(intptr_t)schema_register;
		module->segments->functionSlots[NVTX3EXT_CBID_nvtxMarkPayload] =
			(intptr_t)mark_payload;
		module->segments->functionSlots[NVTX3EXT_CBID_nvtxTimestampGet] =
			(intptr_t)timestamp_get;
	}
	return 1;
}
