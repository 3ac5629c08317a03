/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_long.c [kill|many] - NVTX texts that are longer than a record has room for.
 *
 * The texts are runs of one letter, with the lengths below; two ranges stay open. Domains, names
 * of layouts, and the texts that payloads contain or refer to are as long. With "many" there are
 * 1000 more, all different, and then a registered string. With "kill" the program ends by SIGKILL.
 */
#include "app.h"

#include <nvtx3/nvToolsExtPayload.h>
#include <signal.h>
#include <wchar.h>

#define MOST 65000u
#define LEVEL (getenv("NVTX_INJECTION64_PATH") ? 0 : NVTX_NO_PUSH_POP_TRACKING)

static char chars[MOST + 2];
static wchar_t wide[MOST];

static const char *run(char letter, unsigned count)
{
	memset(chars, letter, count);
	chars[count] = 0;
	return chars;
}

static const wchar_t *euros(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		wide[i] = 0x20ac;
	wide[count] = 0;
	return wide;
}

static void mark_registered(nvtxStringHandle_t string)
{
	nvtxEventAttributes_t e = {0};
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = string;
	nvtxDomainMarkEx(NULL, &e);
}

static void mark_with_category(const char *text)
{
	nvtxEventAttributes_t e = {0};
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_ASCII;
	e.message.ascii = text;
	e.category = 5;
	nvtxMarkEx(&e);
}

/* A mark in a domain: its message and another text are outside of the payload. */
static void far_texts(nvtxDomainHandle_t domain)
{
	static char name[2001], message[5001];
	static uint16_t other[3001];
	memset(name, 'n', 2000);
	memset(message, 'f', 5000);
	for (unsigned i = 0; i < 3000; i++)
		other[i] = 0x20ac;
	nvtxPayloadSchemaEntry_t entries[] = {
		{NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "message"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16, "other"}};
	nvtxPayloadSchemaAttr_t attributes = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES,
		.name = name,
		.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
		.entries = entries,
		.numEntries = 2};
	struct {
		const char *message;
		const uint16_t *other;
	} v = {message, other};
	nvtxPayloadData_t data = {nvtxPayloadSchemaRegister(domain, &attributes), sizeof(v), &v};
	nvtxMarkPayload(domain, &data, 1);
}

/* A mark whose message is in the payload, in UTF-32. */
static void near_text(nvtxDomainHandle_t domain)
{
	static uint32_t message[2001];
	for (unsigned i = 0; i < 2000; i++)
		message[i] = 'u';
	nvtxPayloadSchemaEntry_t entry = {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE |
			NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED,
		NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32, "message"};
	nvtxPayloadSchemaAttr_t attributes = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES,
		.type = NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC,
		.entries = &entry,
		.numEntries = 1};
	nvtxPayloadData_t data = {
		nvtxPayloadSchemaRegister(domain, &attributes), sizeof(message), message};
	nvtxMarkPayload(domain, &data, 1);
}

static void many(void)
{
	for (unsigned i = 0; i < 1000; i++) {
		run('m', 20000);
		chars[snprintf(chars, 14, "number %06u", i)] = 'm';
		nvtxMarkA(chars);
	}
	mark_registered(nvtxDomainRegisterStringA(NULL, "registered at the end"));
}

int main(int argc, char **argv)
{
	nvtxMarkA(run('a', 928));
	nvtxMarkA(run('b', 929));
	nvtxMarkA(run('c', 5000));
	nvtxMarkA(run('c', 5000));
	nvtxMarkA(run('d', MOST));
	nvtxMarkA(run('e', MOST + 1));
	nvtxMarkW(euros(3000));
	nvtxMarkW(euros(MOST - 1));
	mark_registered(nvtxDomainRegisterStringA(NULL, run('r', 5000)));
	mark_with_category(run('c', 5000));
	check(nvtxRangePushA(run('c', 5000)) == LEVEL && nvtxRangePop() == LEVEL, "levels");
	check(nvtxRangePushA(run('p', MOST + 1)) == LEVEL && nvtxRangePop() == LEVEL, "levels");
	nvtxRangeId_t c = nvtxRangeStartA(run('c', 5000)), s = nvtxRangeStartA(run('s', 5000));
	nvtxRangeEnd(s);
	nvtxRangeEnd(c);
	far_texts(nvtxDomainCreateA(run('D', 5000)));
	near_text(nvtxDomainCreateW(euros(1000)));
	nvtxRangeStartA(run('t', 5000));
	nvtxRangePushA(run('o', 5000));
	if (argc > 1 && !strcmp(argv[1], "many"))
		many();
	if (argc > 1 && !strcmp(argv[1], "kill"))
		raise(SIGKILL);
	return app_result();
}
