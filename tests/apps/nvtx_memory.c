/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_memory.c - calls every function of NVTX's memory extension except those that need CUDA's
 * headers.
 *
 * Handles must be addresses where NVTX says so; the report must contain what tests/e2e/nvtx_ext.py
 * lists. Without a tool the same calls do nothing.
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtMem.h>

#define TRACED (getenv("NVTX_INJECTION64_PATH") != NULL)

static char memory[8192];

static nvtxMemHeapHandle_t heap_make(nvtxDomainHandle_t domain)
{
	nvtxMemVirtualRangeDesc_t range = {sizeof(memory), memory};
	nvtxMemHeapDesc_t heap = {0};
	heap.extCompatID = NVTX_EXT_COMPATID_MEM;
	heap.structSize = sizeof(heap);
	heap.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
	heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
	heap.typeSpecificDescSize = sizeof(range);
	heap.typeSpecificDesc = &range;
	heap.category = 6;
	heap.messageType = NVTX_MESSAGE_TYPE_ASCII;
	heap.message.ascii = "a heap";
	nvtxMemHeapHandle_t handle = nvtxMemHeapRegister(domain, &heap);
	check(handle == (TRACED ? (nvtxMemHeapHandle_t)memory : NULL),
		"a heap's handle is its address");
	return handle;
}

static void regions(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap)
{
	nvtxMemVirtualRangeDesc_t ranges[] = {{256, memory}, {512, memory + 4096}};
	nvtxMemRegionHandle_t handles[2] = {NULL, NULL};
	nvtxMemRegionsRegisterBatch_t made = {NVTX_EXT_COMPATID_MEM, sizeof(made),
		NVTX_MEM_TYPE_VIRTUAL_ADDRESS, heap, 2, sizeof(ranges[0]), ranges, handles};
	nvtxMemRegionsRegister(domain, &made);
	check(!TRACED || handles[1] == (nvtxMemRegionHandle_t)(memory + 4096),
		"a region's handle is its address");
	ranges[1].size = 1024;
	nvtxMemRegionsResizeBatch_t resized = {NVTX_EXT_COMPATID_MEM, sizeof(resized),
		NVTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, sizeof(ranges[0]), &ranges[1]};
	nvtxMemRegionsResize(domain, &resized);
	nvtxMemRegionNameDesc_t name = {0};
	name.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER;
	name.nameType = NVTX_MESSAGE_TYPE_REGISTERED;
	name.region.pointer = memory;
	name.name.registered = nvtxDomainRegisterStringA(domain, "a region");
	name.category = 7;
	nvtxMemRegionsNameBatch_t names = {
		NVTX_EXT_COMPATID_MEM, sizeof(names), 0, 1, sizeof(name), &name, 0};
	nvtxMemRegionsName(domain, &names);
	nvtxMemPermissionsHandle_t set = nvtxMemPermissionsCreate(
		domain, NVTX_MEM_PERMISSIONS_CREATE_FLAGS_EXCLUDE_GLOBAL_WRITE);
	nvtxMemPermissionsAssignRegionDesc_t assigned = {
		NVTX_MEM_PERMISSIONS_REGION_FLAGS_READ, NVTX_MEM_REGION_REF_TYPE_POINTER, {memory}};
	nvtxMemPermissionsAssignBatch_t assign = {
		NVTX_EXT_COMPATID_MEM, sizeof(assign), 0, set, 1, sizeof(assigned), &assigned, 0};
	nvtxMemPermissionsAssign(domain, &assign);
	nvtxMemPermissionsBind(domain, set, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD,
		NVTX_MEM_PERMISSIONS_BIND_FLAGS_STRICT_WRITE);
	nvtxMemPermissionsUnbind(domain, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD);
	nvtxMemPermissionsReset(domain, set);
	nvtxMemPermissionsDestroy(domain, set);
	nvtxMemRegionRef_t reference = {memory};
	nvtxMemRegionsUnregisterBatch_t gone = {NVTX_EXT_COMPATID_MEM, sizeof(gone),
		NVTX_MEM_REGION_REF_TYPE_POINTER, 1, sizeof(reference), &reference};
	nvtxMemRegionsUnregister(domain, &gone);
}

int main(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("memory");
	nvtxMemHeapHandle_t heap = heap_make(domain);
	regions(domain, heap);
	nvtxMemHeapReset(domain, heap);
	nvtxMemHeapUnregister(domain, heap);
	printf("memory %p\n", (void *)memory);
	return app_result();
}
