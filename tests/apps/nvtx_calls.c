/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_calls.c - calls every NVTX function that the tracer records, from C, with the header alone.
 *
 * Push and pop must return the level that NVTX documents, per domain; the report must contain the
 * rows that tests/e2e/nvtx.py lists. Without a tool, push and pop return
 * NVTX_NO_PUSH_POP_TRACKING, and the output is the same.
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>

#define TRACED (getenv("NVTX_INJECTION64_PATH") != NULL)

static int level(int got, int wanted)
{
	return got == (TRACED ? wanted : NVTX_NO_PUSH_POP_TRACKING);
}

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
		e.payload.ullValue = ~0ull;
		if (type == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64)
			e.payload.ullValue = 1ull << 63;
		else if (type == NVTX_PAYLOAD_TYPE_INT64)
			e.payload.llValue = -5000000000;
		else if (type == NVTX_PAYLOAD_TYPE_DOUBLE)
			e.payload.dValue = -0.1;
		else if (type == NVTX_PAYLOAD_TYPE_UNSIGNED_INT32)
			e.payload.uiValue = 4000000000u;
		else if (type == NVTX_PAYLOAD_TYPE_INT32)
			e.payload.iValue = -7;
		else
			e.payload.fValue = 1.5f;
		nvtxDomainMarkEx(domain, &e);
	}
}

static void texts(nvtxDomainHandle_t domain)
{
	static char longest[2000];
	nvtxEventAttributes_t e = event("plain");
	e.category = 9;
	e.colorType = NVTX_COLOR_ARGB;
	e.color = 0xff00aa55;
	nvtxDomainMarkEx(domain, &e);
	e = event(NULL);
	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = nvtxDomainRegisterStringA(domain, "registered");
	nvtxDomainMarkEx(domain, &e);
	check(e.message.registered == nvtxDomainRegisterStringW(domain, L"registered"),
		"a string that is registered twice has the same handle");
	memset(longest, 'x', sizeof(longest) - 1);
	nvtxMarkA(longest);
	nvtxMarkA("");
	nvtxMarkA("not \xff UTF-8");
	nvtxMarkW(L"wide \x20ac \x1f600");
	nvtxMarkA(NULL);
}

static void names(nvtxDomainHandle_t domain)
{
	nvtxResourceAttributes_t r = {0};
	r.version = NVTX_VERSION;
	r.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
	r.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
	r.identifier.ullValue = 0x1234;
	r.messageType = NVTX_MESSAGE_TYPE_ASCII;
	r.message.ascii = "a resource";
	nvtxResourceHandle_t handle = nvtxDomainResourceCreate(domain, &r);
	nvtxDomainResourceDestroy(handle);
	nvtxDomainNameCategoryA(domain, 9, "nine");
	nvtxNameCategoryW(3, L"three");
	nvtxNameOsThreadA((uint32_t)app_tid(), "the main thread");
}

static void *end_elsewhere(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	nvtxRangeEnd(*(nvtxRangeId_t *)id); /* ended already: ignored */
	check(level(nvtxRangePushA("of another thread"), 0), "levels are counted by thread");
	nvtxRangePop();
	nvtxRangePushA("open at the thread's end");
	return NULL;
}

int main(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("test domain");
	nvtxEventAttributes_t inner = event("inner");
	check(domain == nvtxDomainCreateA("test domain"),
		"a second domain with the same name is the same domain");
	check(!TRACED || nvtxDomainIsEnabled(domain), "the domain is enabled");
	check(level(nvtxRangePushA("outer"), 0), "first push");
	check(level(nvtxRangePushW(L"middle"), 1), "second push");
	check(level(nvtxDomainRangePushEx(domain, &inner), 0), "push in another domain");
	check(level(nvtxRangePop(), 1), "pop ignores ranges of another domain");
	check(level(nvtxDomainRangePop(domain), 0), "pop in another domain");
	check(level(nvtxRangePop(), 0), "last pop");
	check(!TRACED || nvtxRangePop() < 0, "a pop too many fails");
	payloads(domain);
	texts(domain);
	names(domain);
	nvtxRangeId_t id = nvtxRangeStartA("started");
	nvtxEventAttributes_t e = event("same thread");
	nvtxRangeId_t other = nvtxDomainRangeStartEx(domain, &e);
	check(!TRACED || (id && other && id != other), "ids of ranges differ");
	pthread_t thread;
	pthread_create(&thread, NULL, end_elsewhere, &id);
	pthread_join(thread, NULL);
	nvtxDomainRangeEnd(domain, other);
	nvtxRangeEnd(12345);
	nvtxRangeStartA("never ended");
	nvtxRangePushA("never popped");
	nvtxDomainDestroy(domain);
	return app_result();
}
