// NEEDS: nvtx
/*
 * nvtx_abi - the layouts of inject/nvtx_abi.h against those of NVIDIA's headers, at compile time.
 *
 * Promise: it compiles.
 */
#define NVTX_NO_IMPL
#include "app.h"
#include "inject/nvtx_abi.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
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
	"types of messages and colours");
_Static_assert(NVTX_SLOT_IS_ENABLED == NVTX3EXT_CBID_nvtxDomainIsEnabled, "slot");

int main(void)
{
	return app_result();
}
