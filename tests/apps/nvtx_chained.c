/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
// LINK: -lnvtx_early
/*
 * nvtx_chained.c - NVTX calls that another NVTX tool receives as well: handles, ids, levels.
 *
 * The levels, the ids and the order of the lines that tests/apps/libnvtx_tool.c prints must be the
 * same as without the tracer. The report must contain all of it, preceded by the mark of a
 * library's constructor. The program prints the levels that it got.
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

int nvtx_early_push(void);

int main(int argc, char **argv)
{
	(void)argv;
	setvbuf(stdout, NULL, _IONBF, 0);
	nvtxDomainHandle_t domain = nvtxDomainCreateA("chained");
	nvtxEventAttributes_t e = {0};
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = nvtxDomainRegisterStringA(domain, "a registered one");
	nvtxMarkA("plain");
	nvtxDomainMarkEx(domain, &e);
	int outer = nvtxRangePushA("outer"), inner = nvtxDomainRangePushEx(domain, &e);
	int popped = nvtxDomainRangePop(domain), last = nvtxRangePop();
	nvtxRangeId_t id = nvtxRangeStartA("started"), other = nvtxRangeStartA("open");
	nvtxRangeEnd(id);
	struct {
		nvtxStringHandle_t message;
		int number;
	} v = {e.message.registered, 5};
	nvtxPayloadSchemaEntry_t entries[] = {
		{NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
			NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "message"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "number"}};
	nvtxPayloadSchemaAttr_t a = {0};
	a.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
		NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
	a.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	a.entries = entries;
	a.numEntries = 2;
	nvtxPayloadData_t data = {nvtxPayloadSchemaRegister(domain, &a), sizeof(v), &v};
	nvtxMarkPayload(domain, &data, 1);
	nvtxDomainDestroy(domain);
	printf("levels %d %d %d %d\n", outer, inner, popped, last);
	(void)other;
	if (argc > 1)
		nvtx_early_push(); /* never called: it keeps the library linked */
	return app_result();
}
