/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_abi.c - compares the layouts of inject/nvtx_abi.h and common/nvtx/ext.h with NVIDIA's
 * headers, at compile time.
 *
 * The file must compile.
 */
#define NVTX_NO_IMPL
#include "app.h"
#include "common/nvtx/ext.h"
#include "inject/nvtx_abi.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsScope.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <nvtx3/nvToolsExtSync.h>
#define NVTX_EXT_TYPES_GUARD
#include <nvtx3/nvtxDetail/nvtxExtTypes.h>
#undef NVTX_EXT_TYPES_GUARD

#define SAME(ours, our_field, theirs, their_field)                                        \
	_Static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field), \
		#theirs "." #their_field)

SAME(nvtx_event_attributes, size, nvtxEventAttributes_t, size);
SAME(nvtx_event_attributes, category, nvtxEventAttributes_t, category);
SAME(nvtx_event_attributes, color_type, nvtxEventAttributes_t, colorType);
SAME(nvtx_event_attributes, color, nvtxEventAttributes_t, color);
SAME(nvtx_event_attributes, payload_type, nvtxEventAttributes_t, payloadType);
SAME(nvtx_event_attributes, payload, nvtxEventAttributes_t, payload);
SAME(nvtx_event_attributes, message_type, nvtxEventAttributes_t, messageType);
SAME(nvtx_event_attributes, message, nvtxEventAttributes_t, message);
SAME(nvtx_resource_attributes, type, nvtxResourceAttributes_t, identifierType);
SAME(nvtx_resource_attributes, identifier, nvtxResourceAttributes_t, identifier);
SAME(nvtx_resource_attributes, message_type, nvtxResourceAttributes_t, messageType);
SAME(nvtx_resource_attributes, message, nvtxResourceAttributes_t, message);
SAME(nvtx_callback_table, module_table, NvtxExportTableCallbacks, GetModuleFunctionTable);
SAME(nvtx_version_table, set_tool_version, NvtxExportTableVersionInfo, SetInjectionNvtxVersion);
SAME(nvtx_extension, module, nvtxExtModuleInfo_t, moduleId);
SAME(nvtx_extension, segments, nvtxExtModuleInfo_t, segments);
SAME(nvtx_extension_segment, slots, nvtxExtModuleSegment_t, functionSlots);

_Static_assert((int)NVTX_CORE == (int)NVTX_CB_MODULE_CORE &&
		(int)NVTX_CUDA == (int)NVTX_CB_MODULE_CUDA &&
		(int)NVTX_CUDART == (int)NVTX_CB_MODULE_CUDART &&
		(int)NVTX_CORE2 == (int)NVTX_CB_MODULE_CORE2,
	"modules");
_Static_assert((int)NVTX_TABLE_CALLBACKS == (int)NVTX_ETID_CALLBACKS &&
		(int)NVTX_TABLE_VERSION == (int)NVTX_ETID_VERSIONINFO,
	"tables");
_Static_assert((int)NVTX_MESSAGE_CHARS == (int)NVTX_MESSAGE_TYPE_ASCII &&
		(int)NVTX_MESSAGE_WIDE == (int)NVTX_MESSAGE_TYPE_UNICODE &&
		(int)NVTX_MESSAGE_REGISTERED == (int)NVTX_MESSAGE_TYPE_REGISTERED &&
		(int)NVTX_COLORED_ARGB == (int)NVTX_COLOR_ARGB,
	"types of messages and colors");

_Static_assert(sizeof(struct nvtx_data) == sizeof(nvtxPayloadData_t), "nvtxPayloadData_t");
SAME(nvtx_data, schema, nvtxPayloadData_t, schemaId);
SAME(nvtx_data, bytes, nvtxPayloadData_t, size);
SAME(nvtx_data, data, nvtxPayloadData_t, payload);
_Static_assert(
	sizeof(struct nvtx_semantics) == sizeof(nvtxSemanticsHeader_t), "nvtxSemanticsHeader_t");
SAME(nvtx_semantics, struct_bytes, nvtxSemanticsHeader_t, structSize);
SAME(nvtx_semantics, semantic, nvtxSemanticsHeader_t, semanticId);
SAME(nvtx_semantics, next, nvtxSemanticsHeader_t, next);
_Static_assert(
	sizeof(struct nvtx_semantics_id) == sizeof(nvtxSemanticsScope_t), "nvtxSemanticsScope_t");
SAME(nvtx_semantics_id, id, nvtxSemanticsScope_t, scopeId);
_Static_assert(
	sizeof(struct nvtx_semantics_id) == sizeof(nvtxSemanticsTime_t), "nvtxSemanticsTime_t");
SAME(nvtx_semantics_id, id, nvtxSemanticsTime_t, timeDomainId);
_Static_assert(sizeof(struct nvtx_semantics_counter) == sizeof(nvtxSemanticsCounter_t),
	"nvtxSemanticsCounter_t");
SAME(nvtx_semantics_counter, flags, nvtxSemanticsCounter_t, flags);
SAME(nvtx_semantics_counter, unit, nvtxSemanticsCounter_t, unit);
SAME(nvtx_semantics_counter, numerator, nvtxSemanticsCounter_t, unitScaleNumerator);
SAME(nvtx_semantics_counter, denominator, nvtxSemanticsCounter_t, unitScaleDenominator);
SAME(nvtx_semantics_counter, limit_type, nvtxSemanticsCounter_t, limitType);
SAME(nvtx_semantics_counter, minimum, nvtxSemanticsCounter_t, min);
SAME(nvtx_semantics_counter, maximum, nvtxSemanticsCounter_t, max);
_Static_assert(sizeof(struct nvtx_schema_entry) == sizeof(nvtxPayloadSchemaEntry_t),
	"nvtxPayloadSchemaEntry_t");
SAME(nvtx_schema_entry, flags, nvtxPayloadSchemaEntry_t, flags);
SAME(nvtx_schema_entry, type, nvtxPayloadSchemaEntry_t, type);
SAME(nvtx_schema_entry, name, nvtxPayloadSchemaEntry_t, name);
SAME(nvtx_schema_entry, description, nvtxPayloadSchemaEntry_t, description);
SAME(nvtx_schema_entry, detail, nvtxPayloadSchemaEntry_t, arrayOrUnionDetail);
SAME(nvtx_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset);
SAME(nvtx_schema_entry, semantics, nvtxPayloadSchemaEntry_t, semantics);
_Static_assert(sizeof(struct nvtx_schema_attributes) == sizeof(nvtxPayloadSchemaAttr_t),
	"nvtxPayloadSchemaAttr_t");
SAME(nvtx_schema_attributes, mask, nvtxPayloadSchemaAttr_t, fieldMask);
SAME(nvtx_schema_attributes, name, nvtxPayloadSchemaAttr_t, name);
SAME(nvtx_schema_attributes, layout, nvtxPayloadSchemaAttr_t, type);
SAME(nvtx_schema_attributes, flags, nvtxPayloadSchemaAttr_t, flags);
SAME(nvtx_schema_attributes, entries, nvtxPayloadSchemaAttr_t, entries);
SAME(nvtx_schema_attributes, entry_count, nvtxPayloadSchemaAttr_t, numEntries);
SAME(nvtx_schema_attributes, static_bytes, nvtxPayloadSchemaAttr_t, payloadStaticSize);
SAME(nvtx_schema_attributes, pack_bytes, nvtxPayloadSchemaAttr_t, packAlign);
SAME(nvtx_schema_attributes, id, nvtxPayloadSchemaAttr_t, schemaId);
_Static_assert(sizeof(struct nvtx_enum_value) == sizeof(nvtxPayloadEnum_t), "nvtxPayloadEnum_t");
SAME(nvtx_enum_value, name, nvtxPayloadEnum_t, name);
SAME(nvtx_enum_value, value, nvtxPayloadEnum_t, value);
SAME(nvtx_enum_value, is_flag, nvtxPayloadEnum_t, isFlag);
_Static_assert(sizeof(struct nvtx_enum_attributes) == sizeof(nvtxPayloadEnumAttr_t),
	"nvtxPayloadEnumAttr_t");
SAME(nvtx_enum_attributes, mask, nvtxPayloadEnumAttr_t, fieldMask);
SAME(nvtx_enum_attributes, name, nvtxPayloadEnumAttr_t, name);
SAME(nvtx_enum_attributes, values, nvtxPayloadEnumAttr_t, entries);
SAME(nvtx_enum_attributes, value_count, nvtxPayloadEnumAttr_t, numEntries);
SAME(nvtx_enum_attributes, value_bytes, nvtxPayloadEnumAttr_t, sizeOfEnum);
SAME(nvtx_enum_attributes, id, nvtxPayloadEnumAttr_t, schemaId);
_Static_assert(sizeof(struct nvtx_scope_attributes) == sizeof(nvtxScopeAttr_t), "nvtxScopeAttr_t");
SAME(nvtx_scope_attributes, path, nvtxScopeAttr_t, path);
SAME(nvtx_scope_attributes, parent, nvtxScopeAttr_t, parentScope);
SAME(nvtx_scope_attributes, id, nvtxScopeAttr_t, scopeId);
_Static_assert(sizeof(struct nvtx_time_domain_attributes) == sizeof(nvtxTimeDomainAttr_t),
	"nvtxTimeDomainAttr_t");
SAME(nvtx_time_domain_attributes, scope, nvtxTimeDomainAttr_t, scopeId);
SAME(nvtx_time_domain_attributes, clock, nvtxTimeDomainAttr_t, timestampTypeId);
SAME(nvtx_time_domain_attributes, id, nvtxTimeDomainAttr_t, timeDomainId);
SAME(nvtx_time_domain_attributes, flags, nvtxTimeDomainAttr_t, timerFlags);
SAME(nvtx_time_domain_attributes, ticks_per_second, nvtxTimeDomainAttr_t, timerResolution);
SAME(nvtx_time_domain_attributes, origin, nvtxTimeDomainAttr_t, timerStart);
_Static_assert(sizeof(struct nvtx_sync_point) == sizeof(nvtxSyncPoint_t), "nvtxSyncPoint_t");
SAME(nvtx_sync_point, source, nvtxSyncPoint_t, src);
SAME(nvtx_sync_point, target, nvtxSyncPoint_t, dst);
_Static_assert(sizeof(struct nvtx_event_batch) == sizeof(nvtxEventBatch_t), "nvtxEventBatch_t");
SAME(nvtx_event_batch, schema, nvtxEventBatch_t, eventSchemaId);
SAME(nvtx_event_batch, bytes, nvtxEventBatch_t, size);
SAME(nvtx_event_batch, events, nvtxEventBatch_t, events);
SAME(nvtx_event_batch, scope, nvtxEventBatch_t, scope);
SAME(nvtx_event_batch, flags, nvtxEventBatch_t, flags);
SAME(nvtx_event_batch, flex, nvtxEventBatch_t, flexData);
SAME(nvtx_event_batch, flex_bytes, nvtxEventBatch_t, flexDataSize);
SAME(nvtx_event_batch, flex_offset, nvtxEventBatch_t, flexDataOffset);
_Static_assert(
	sizeof(struct nvtx_counter_attributes) == sizeof(nvtxCounterAttr_t), "nvtxCounterAttr_t");
SAME(nvtx_counter_attributes, schema, nvtxCounterAttr_t, schemaId);
SAME(nvtx_counter_attributes, name, nvtxCounterAttr_t, name);
SAME(nvtx_counter_attributes, description, nvtxCounterAttr_t, description);
SAME(nvtx_counter_attributes, scope, nvtxCounterAttr_t, scopeId);
SAME(nvtx_counter_attributes, semantics, nvtxCounterAttr_t, semantics);
SAME(nvtx_counter_attributes, id, nvtxCounterAttr_t, counterId);
_Static_assert(
	sizeof(struct nvtx_counter_batch) == sizeof(nvtxCounterBatch_t), "nvtxCounterBatch_t");
SAME(nvtx_counter_batch, counter, nvtxCounterBatch_t, counterId);
SAME(nvtx_counter_batch, values, nvtxCounterBatch_t, counters);
SAME(nvtx_counter_batch, value_bytes, nvtxCounterBatch_t, countersSize);
SAME(nvtx_counter_batch, flags, nvtxCounterBatch_t, flags);
SAME(nvtx_counter_batch, times, nvtxCounterBatch_t, timestamps);
SAME(nvtx_counter_batch, time_bytes, nvtxCounterBatch_t, timestampsSize);
_Static_assert(sizeof(struct nvtx_virtual_range) == sizeof(nvtxMemVirtualRangeDesc_t),
	"nvtxMemVirtualRangeDesc_t");
SAME(nvtx_virtual_range, bytes, nvtxMemVirtualRangeDesc_t, size);
SAME(nvtx_virtual_range, address, nvtxMemVirtualRangeDesc_t, ptr);
_Static_assert(
	sizeof(struct nvtx_heap_attributes) == sizeof(nvtxMemHeapDesc_t), "nvtxMemHeapDesc_t");
SAME(nvtx_heap_attributes, struct_bytes, nvtxMemHeapDesc_t, structSize);
SAME(nvtx_heap_attributes, usage, nvtxMemHeapDesc_t, usage);
SAME(nvtx_heap_attributes, type, nvtxMemHeapDesc_t, type);
SAME(nvtx_heap_attributes, descriptor_bytes, nvtxMemHeapDesc_t, typeSpecificDescSize);
SAME(nvtx_heap_attributes, descriptor, nvtxMemHeapDesc_t, typeSpecificDesc);
SAME(nvtx_heap_attributes, category, nvtxMemHeapDesc_t, category);
SAME(nvtx_heap_attributes, message_type, nvtxMemHeapDesc_t, messageType);
SAME(nvtx_heap_attributes, message, nvtxMemHeapDesc_t, message);
_Static_assert(sizeof(struct nvtx_regions_register) == sizeof(nvtxMemRegionsRegisterBatch_t),
	"nvtxMemRegionsRegisterBatch_t");
SAME(nvtx_regions_register, struct_bytes, nvtxMemRegionsRegisterBatch_t, structSize);
SAME(nvtx_regions_register, type, nvtxMemRegionsRegisterBatch_t, regionType);
SAME(nvtx_regions_register, heap, nvtxMemRegionsRegisterBatch_t, heap);
SAME(nvtx_regions_register, count, nvtxMemRegionsRegisterBatch_t, regionCount);
SAME(nvtx_regions_register, element_bytes, nvtxMemRegionsRegisterBatch_t, regionDescElementSize);
SAME(nvtx_regions_register, elements, nvtxMemRegionsRegisterBatch_t, regionDescElements);
SAME(nvtx_regions_register, handles, nvtxMemRegionsRegisterBatch_t, regionHandleElementsOut);
_Static_assert(sizeof(struct nvtx_regions) == sizeof(nvtxMemRegionsResizeBatch_t),
	"nvtxMemRegionsResizeBatch_t");
SAME(nvtx_regions, type, nvtxMemRegionsResizeBatch_t, regionType);
SAME(nvtx_regions, count, nvtxMemRegionsResizeBatch_t, regionDescCount);
SAME(nvtx_regions, element_bytes, nvtxMemRegionsResizeBatch_t, regionDescElementSize);
SAME(nvtx_regions, elements, nvtxMemRegionsResizeBatch_t, regionDescElements);
_Static_assert(sizeof(struct nvtx_regions) == sizeof(nvtxMemRegionsUnregisterBatch_t),
	"nvtxMemRegionsUnregisterBatch_t");
SAME(nvtx_regions, type, nvtxMemRegionsUnregisterBatch_t, refType);
SAME(nvtx_regions, count, nvtxMemRegionsUnregisterBatch_t, refCount);
SAME(nvtx_regions, element_bytes, nvtxMemRegionsUnregisterBatch_t, refElementSize);
SAME(nvtx_regions, elements, nvtxMemRegionsUnregisterBatch_t, refElements);
_Static_assert(sizeof(struct nvtx_region_name) == sizeof(nvtxMemRegionNameDesc_t),
	"nvtxMemRegionNameDesc_t");
SAME(nvtx_region_name, reference_type, nvtxMemRegionNameDesc_t, regionRefType);
SAME(nvtx_region_name, message_type, nvtxMemRegionNameDesc_t, nameType);
SAME(nvtx_region_name, region, nvtxMemRegionNameDesc_t, region);
SAME(nvtx_region_name, message, nvtxMemRegionNameDesc_t, name);
SAME(nvtx_region_name, category, nvtxMemRegionNameDesc_t, category);
_Static_assert(sizeof(struct nvtx_regions_name) == sizeof(nvtxMemRegionsNameBatch_t),
	"nvtxMemRegionsNameBatch_t");
SAME(nvtx_regions_name, count, nvtxMemRegionsNameBatch_t, regionCount);
SAME(nvtx_regions_name, element_bytes, nvtxMemRegionsNameBatch_t, regionElementSize);
SAME(nvtx_regions_name, elements, nvtxMemRegionsNameBatch_t, regionElements);
_Static_assert(sizeof(struct nvtx_permission) == sizeof(nvtxMemPermissionsAssignRegionDesc_t),
	"nvtxMemPermissionsAssignRegionDesc_t");
SAME(nvtx_permission, flags, nvtxMemPermissionsAssignRegionDesc_t, flags);
SAME(nvtx_permission, reference_type, nvtxMemPermissionsAssignRegionDesc_t, regionRefType);
SAME(nvtx_permission, region, nvtxMemPermissionsAssignRegionDesc_t, region);
_Static_assert(sizeof(struct nvtx_permissions_assign) == sizeof(nvtxMemPermissionsAssignBatch_t),
	"nvtxMemPermissionsAssignBatch_t");
SAME(nvtx_permissions_assign, permissions, nvtxMemPermissionsAssignBatch_t, permissions);
SAME(nvtx_permissions_assign, count, nvtxMemPermissionsAssignBatch_t, regionCount);
SAME(nvtx_permissions_assign, element_bytes, nvtxMemPermissionsAssignBatch_t, regionElementSize);
SAME(nvtx_permissions_assign, elements, nvtxMemPermissionsAssignBatch_t, regionElements);
_Static_assert(sizeof(struct nvtx_sync_attributes) == sizeof(nvtxSyncUserAttributes_t),
	"nvtxSyncUserAttributes_t");
SAME(nvtx_sync_attributes, size, nvtxSyncUserAttributes_t, size);
SAME(nvtx_sync_attributes, message_type, nvtxSyncUserAttributes_t, messageType);
SAME(nvtx_sync_attributes, message, nvtxSyncUserAttributes_t, message);
_Static_assert(
	(uint64_t)(uint32_t)NVTX_PAYLOAD_EXTENDED == (uint64_t)(uint32_t)NVTX_PAYLOAD_TYPE_EXT,
	"extended payloads");
#define TYPE(ours, theirs) \
	_Static_assert((int)NVTX_TYPE_##ours == NVTX_PAYLOAD_ENTRY_TYPE_##theirs, #theirs)
TYPE(CHAR, CHAR);
TYPE(UCHAR, UCHAR);
TYPE(SHORT, SHORT);
TYPE(USHORT, USHORT);
TYPE(INT, INT);
TYPE(UINT, UINT);
TYPE(LONG, LONG);
TYPE(ULONG, ULONG);
TYPE(LONGLONG, LONGLONG);
TYPE(ULONGLONG, ULONGLONG);
TYPE(INT8, INT8);
TYPE(UINT8, UINT8);
TYPE(INT16, INT16);
TYPE(UINT16, UINT16);
TYPE(INT32, INT32);
TYPE(UINT32, UINT32);
TYPE(INT64, INT64);
TYPE(UINT64, UINT64);
TYPE(FLOAT, FLOAT);
TYPE(DOUBLE, DOUBLE);
TYPE(LONGDOUBLE, LONGDOUBLE);
TYPE(SIZE, SIZE);
TYPE(ADDRESS, ADDRESS);
TYPE(WCHAR, WCHAR);
TYPE(CHAR8, CHAR8);
TYPE(CHAR16, CHAR16);
TYPE(CHAR32, CHAR32);
TYPE(BYTE, BYTE);
TYPE(INT128, INT128);
TYPE(UINT128, UINT128);
TYPE(FLOAT16, FLOAT16);
TYPE(FLOAT32, FLOAT32);
TYPE(FLOAT64, FLOAT64);
TYPE(FLOAT128, FLOAT128);
TYPE(BF16, BF16);
TYPE(TF32, TF32);
TYPE(CATEGORY, CATEGORY);
TYPE(CSTRING, CSTRING);
TYPE(COLOR, COLOR_ARGB);
TYPE(SCOPE, SCOPE_ID);
TYPE(PID32, PID_UINT32);
TYPE(PID64, PID_UINT64);
TYPE(TID32, TID_UINT32);
TYPE(TID64, TID_UINT64);
TYPE(UTF8, CSTRING_UTF8);
TYPE(UTF16, CSTRING_UTF16);
TYPE(UTF32, CSTRING_UTF32);
TYPE(STRING_HANDLE, NVTX_REGISTERED_STRING_HANDLE);
TYPE(SELECTOR, UNION_SELECTOR);
_Static_assert((uint64_t)NVTX_TYPE_REFERENCED == (uint64_t)NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED,
	"NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED");
_Static_assert((uint64_t)NVTX_TYPE_RAW == (uint64_t)NVTX_TYPE_PAYLOAD_SCHEMA_RAW,
	"NVTX_TYPE_PAYLOAD_SCHEMA_RAW");
_Static_assert((uint64_t)NVTX_ENTRY_POINTER == (uint64_t)NVTX_PAYLOAD_ENTRY_FLAG_POINTER,
	"NVTX_PAYLOAD_ENTRY_FLAG_POINTER");
_Static_assert((uint64_t)NVTX_ENTRY_FROM_BASE == (uint64_t)NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE,
	"NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE");
_Static_assert((uint64_t)NVTX_ENTRY_FROM_HERE == (uint64_t)NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE,
	"NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE");
_Static_assert((uint64_t)NVTX_ARRAY_FIXED == (uint64_t)NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
	"NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE");
_Static_assert(
	(uint64_t)NVTX_ARRAY_TERMINATED == (uint64_t)NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED,
	"NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED");
_Static_assert(
	(uint64_t)NVTX_ARRAY_LENGTH_ENTRY == (uint64_t)NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX,
	"NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX");
_Static_assert((uint64_t)NVTX_ARRAY_LENGTH_PAYLOAD ==
		(uint64_t)NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX,
	"NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX");
_Static_assert((uint64_t)NVTX_ENTRY_DEEP_COPY == (uint64_t)NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY,
	"NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY");
_Static_assert((uint64_t)NVTX_ENTRY_MESSAGE == (uint64_t)NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
	"NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE");
_Static_assert((uint64_t)NVTX_LAYOUT_STATIC == (uint64_t)NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
	"NVTX_PAYLOAD_SCHEMA_TYPE_STATIC");
_Static_assert((uint64_t)NVTX_LAYOUT_DYNAMIC == (uint64_t)NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC,
	"NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC");
_Static_assert((uint64_t)NVTX_LAYOUT_UNION == (uint64_t)NVTX_PAYLOAD_SCHEMA_TYPE_UNION,
	"NVTX_PAYLOAD_SCHEMA_TYPE_UNION");
_Static_assert((uint64_t)NVTX_LAYOUT_UNION_SELECTED ==
		(uint64_t)NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR,
	"NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR");
_Static_assert((uint64_t)NVTX_ID_STATIC == (uint64_t)NVTX_PAYLOAD_SCHEMA_ID_STATIC_START,
	"NVTX_PAYLOAD_SCHEMA_ID_STATIC_START");
_Static_assert((uint64_t)NVTX_ID_DYNAMIC == (uint64_t)NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START,
	"NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START");
_Static_assert((uint64_t)NVTX_COUNTER_HAS_MINIMUM == (uint64_t)NVTX_COUNTER_FLAG_LIMIT_MIN,
	"NVTX_COUNTER_FLAG_LIMIT_MIN");
_Static_assert((uint64_t)NVTX_COUNTER_HAS_MAXIMUM == (uint64_t)NVTX_COUNTER_FLAG_LIMIT_MAX,
	"NVTX_COUNTER_FLAG_LIMIT_MAX");
_Static_assert((uint64_t)NVTX_SCHEMA_HAS_NAME == (uint64_t)NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME,
	"NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME");
_Static_assert((uint64_t)NVTX_SCHEMA_HAS_TYPE == (uint64_t)NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE,
	"NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE");
_Static_assert((uint64_t)NVTX_SCHEMA_HAS_FLAGS == (uint64_t)NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS,
	"NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS");
_Static_assert(
	(uint64_t)NVTX_SCHEMA_HAS_ENTRIES == (uint64_t)NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES,
	"NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES");
_Static_assert(
	(uint64_t)NVTX_SCHEMA_HAS_COUNT == (uint64_t)NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES,
	"NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES");
_Static_assert(
	(uint64_t)NVTX_SCHEMA_HAS_SIZE == (uint64_t)NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
	"NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE");
_Static_assert(
	(uint64_t)NVTX_SCHEMA_HAS_ALIGNMENT == (uint64_t)NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT,
	"NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT");
_Static_assert((uint64_t)NVTX_SCHEMA_HAS_ID == (uint64_t)NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
	"NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID");
_Static_assert((uint64_t)NVTX_ENUM_HAS_NAME == (uint64_t)NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME,
	"NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME");
_Static_assert((uint64_t)NVTX_ENUM_HAS_ENTRIES == (uint64_t)NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES,
	"NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES");
_Static_assert((uint64_t)NVTX_ENUM_HAS_COUNT == (uint64_t)NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES,
	"NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES");
_Static_assert((uint64_t)NVTX_ENUM_HAS_SIZE == (uint64_t)NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
	"NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE");
_Static_assert((uint64_t)NVTX_ENUM_HAS_ID == (uint64_t)NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
	"NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID");
_Static_assert((uint64_t)NVTX_CLOCK_TOOL == (uint64_t)NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED,
	"NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED");
_Static_assert(
	(uint64_t)NVTX_CLOCK_MONOTONIC == (uint64_t)NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC,
	"NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC");
_Static_assert((uint64_t)NVTX_MEMORY_VIRTUAL == (uint64_t)NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
	"NVTX_MEM_TYPE_VIRTUAL_ADDRESS");
_Static_assert((uint64_t)NVTX_EXTENSION_MEMORY == (uint64_t)NVTX_EXT_MODULEID_MEM,
	"NVTX_EXT_MODULEID_MEM");
_Static_assert((uint64_t)NVTX_EXTENSION_PAYLOAD == (uint64_t)NVTX_EXT_PAYLOAD_MODULEID,
	"NVTX_EXT_PAYLOAD_MODULEID");
_Static_assert((uint64_t)NVTX_EXTENSION_COUNTERS == (uint64_t)NVTX_EXT_COUNTERS_MODULEID,
	"NVTX_EXT_COUNTERS_MODULEID");
_Static_assert((uint64_t)NVTX_EXTENSION_MAJOR == (uint64_t)(NVTX_EXT_PAYLOAD_COMPATID >> 8),
	"(NVTX_EXT_PAYLOAD_COMPATID >> 8)");
_Static_assert((uint64_t)NVTX_SYNC == (uint64_t)NVTX_CB_MODULE_SYNC, "NVTX_CB_MODULE_SYNC");
_Static_assert((uint64_t)NVTX_OPENCL == (uint64_t)NVTX_CB_MODULE_OPENCL, "NVTX_CB_MODULE_OPENCL");

int main(void)
{
	return app_result();
}
