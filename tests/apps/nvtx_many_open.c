/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_many_open.c - one thread leaves more ranges open than the writer has rows in a batch.
 *
 * All of them must be in the report, each with its own values.
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>

#define RANGES 3000

int main(void)
{
	for (uint64_t i = 0; i < RANGES; i++) {
		nvtxEventAttributes_t e = {0};
		e.version = NVTX_VERSION;
		e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
		e.category = (uint32_t)i + 1;
		e.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
		e.payload.ullValue = i;
		e.messageType = NVTX_MESSAGE_TYPE_ASCII;
		e.message.ascii = "left open";
		nvtxRangeStartEx(&e);
	}
	say("pass: %d ranges are open", RANGES);
	return 0;
}
