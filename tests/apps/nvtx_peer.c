/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_peer.c - NVTX calls that another tool can record as well, for comparison (tests/peers). It
 * runs the same whether traced or not; an argument adds calls for which tools differ:
 *
 *   null        a mark without a text
 *   invalid     a text that is not UTF-8
 *   long        a text of 5,000 bytes
 *   open        ranges still open at the end
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

static nvtxRangeId_t handed;

static nvtxEventAttributes_t event(const char *text)
{
	nvtxEventAttributes_t e = {0};
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_ASCII;
	e.message.ascii = text;
	return e;
}

static void payloads(nvtxDomainHandle_t domain)
{
	nvtxEventAttributes_t e = event("payload");
	for (int type = 1; type <= 6; type++) {
		e.payloadType = type;
		e.payload.ullValue = 0;
		if (type == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64)
			e.payload.ullValue = 1ull << 40;
		else if (type == NVTX_PAYLOAD_TYPE_INT64)
			e.payload.llValue = -5000000000;
		else if (type == NVTX_PAYLOAD_TYPE_DOUBLE)
			e.payload.dValue = -0.125;
		else if (type == NVTX_PAYLOAD_TYPE_UNSIGNED_INT32)
			e.payload.uiValue = 4000000000u;
		else if (type == NVTX_PAYLOAD_TYPE_INT32)
			e.payload.iValue = -7;
		else
			e.payload.fValue = 1.5f;
		nvtxDomainMarkEx(domain, &e);
	}
}

static void nested(nvtxDomainHandle_t domain)
{
	nvtxEventAttributes_t e = event("of a domain");
	nvtxEventAttributes_t registered = event(NULL);
	registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	registered.message.registered = nvtxDomainRegisterStringA(domain, "a registered string");
	e.category = 3;
	e.colorType = NVTX_COLOR_ARGB;
	e.color = 0xff00aa55;
	for (int i = 0; i < 50; i++) {
		nvtxRangePushA("outer");
		nvtxRangePushW(L"wide \x20ac \x1f600");
		nvtxDomainRangePushEx(domain, &e);
		nvtxRangePop(); /* a range of the default domain: the two overlap */
		nvtxDomainRangePushEx(domain, &registered);
		nvtxDomainRangePop(domain);
		nvtxDomainRangePop(domain);
		nvtxRangePop();
	}
	nvtxRangePop(); /* one pop too many */
}

static void names(nvtxDomainHandle_t domain)
{
	nvtxDomainNameCategoryA(domain, 3, "third category");
	nvtxNameCategoryA(4, "fourth, of the default domain");
	nvtxNameOsThreadA((uint32_t)app_tid(), "named by NVTX");
}

static void *other(void *domain)
{
	nvtxEventAttributes_t e = event("started by the other thread");
	nvtxRangePushA("of the other thread");
	nvtxRangePushA("");
	nvtxRangePop();
	nvtxRangeEnd(handed);
	handed = nvtxDomainRangeStartEx(domain, &e);
	nvtxMarkA("mark of the other thread");
	nvtxRangePop();
	return NULL;
}

int main(int argc, char **argv)
{
	static char long_text[5001];
	nvtxDomainHandle_t domain = nvtxDomainCreateA("peer");
	const char *extra = argc > 1 ? argv[1] : "";
	pthread_t thread;
	names(domain);
	nested(domain);
	payloads(domain);
	handed = nvtxRangeStartA("ended by the other thread");
	pthread_create(&thread, NULL, other, domain);
	pthread_join(thread, NULL);
	nvtxDomainRangeEnd(domain, handed);
	nvtxRangeEnd(nvtxRangeStartA("of one thread"));
	memset(long_text, 'x', sizeof(long_text) - 1);
	if (!strcmp(extra, "null"))
		nvtxMarkA(NULL);
	if (!strcmp(extra, "invalid"))
		nvtxMarkA("not \xff UTF-8");
	if (!strcmp(extra, "long"))
		nvtxMarkA(long_text);
	if (!strcmp(extra, "open")) {
		nvtxRangePushA("never popped");
		nvtxRangeStartA("never ended");
	}
	return app_result();
}
