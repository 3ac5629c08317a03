/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_payloads.c - extended payloads of every layout, with the header alone.
 *
 * Levels must be as NVTX documents them; the report must contain what tests/e2e/nvtx_ext.py lists.
 * Without a tool the same calls do nothing.
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <uchar.h>

#define TRACED (getenv("NVTX_INJECTION64_PATH") != NULL)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static nvtxDomainHandle_t domain;

static uint64_t layout(const char *name, uint64_t type, const nvtxPayloadSchemaEntry_t *entries,
	size_t count, size_t bytes)
{
	nvtxPayloadSchemaAttr_t a = {0};
	a.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
		NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
		NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
		NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
	a.name = name;
	a.type = type;
	a.entries = entries;
	a.numEntries = count;
	a.payloadStaticSize = bytes;
	uint64_t id = nvtxPayloadSchemaRegister(domain, &a);
	check(!TRACED || id >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START, name);
	return id;
}

static void mark(const char *text, const nvtxPayloadData_t *data, size_t count)
{
	nvtxEventAttributes_t e = {0};
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_ASCII;
	e.message.ascii = text;
	e.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	e.reserved0 = (int32_t)count;
	e.payload.ullValue = (uint64_t)(uintptr_t)data;
	nvtxDomainMarkEx(domain, &e);
}

static void mark_one(const char *text, uint64_t schema, const void *bytes, size_t size)
{
	nvtxPayloadData_t data = {schema, size, bytes};
	mark(text, &data, 1);
}

/* A struct: every kind of number, implicit and explicit offsets. */
static uint64_t structs(void)
{
	struct numbers {
		int8_t i8;
		uint16_t u16;
		int32_t i32;
		uint64_t u64;
		float f;
		double d;
		char name[6];
		uint8_t raw[3];
		int32_t three[3];
		void *address;
	} v = {-1, 65535, -2000000000, ~0ull, 0.5f, -0.1, "abcd", {0, 17, 255}, {1, -2, 3},
		(void *)0x1234};
	nvtxPayloadSchemaEntry_t entries[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_INT8, "i8"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "u16"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "i32", "a description"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG, "u64"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "f"}, {0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "d"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "name", NULL, 6},
		{NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_BYTE, "raw",
			NULL, 3},
		{NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "three",
			NULL, 3},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS, "address", NULL, 0,
			offsetof(struct numbers, address)}};
	uint64_t id = layout(
		"numbers", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, entries, COUNT(entries), sizeof(v));
	mark_one("struct", id, &v, sizeof(v));
	mark_one("struct cut short", id, &v, offsetof(struct numbers, f) + 2);
	return id;
}

static void enums(void)
{
	enum color { RED = 1, BLUE = 7 };
	struct {
		enum color color;
		uint8_t bits;
	} v = {BLUE, 5};
	nvtxPayloadEnum_t colors[] = {{"RED", RED, 0}, {"BLUE", BLUE, 0}},
			  flags[] = {{"ONE", 1, 1}, {"TWO", 2, 1}};
	nvtxPayloadEnumAttr_t a = {0};
	a.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME | NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
		NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
		NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
	a.name = "color";
	a.entries = colors;
	a.numEntries = 2;
	a.sizeOfEnum = sizeof(v.color);
	a.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1;
	uint64_t color = nvtxPayloadEnumRegister(domain, &a);
	check(!TRACED || color == a.schemaId, "an id that the program chooses is kept");
	a.name = "bits";
	a.entries = flags;
	a.sizeOfEnum = 1;
	a.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 2;
	uint64_t bits = nvtxPayloadEnumRegister(domain, &a);
	nvtxPayloadSchemaEntry_t entries[] = {{0, color, "color"}, {0, bits, "bits"}};
	uint64_t id = layout("enums", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, entries, 2, sizeof(v));
	mark_one("enums", id, &v, sizeof(v));
	v.color = 3;
	v.bits = 9;
	mark_one("values without a name", id, &v, sizeof(v));
}

static void nested_and_unions(uint64_t numbers)
{
	struct point {
		int32_t x, y;
	};
	union either {
		double real;
		int64_t whole;
	};
	struct {
		struct point points[2];
		uint8_t which;
		union either either;
	} v = {{{1, 2}, {3, 4}}, 1, {.whole = -5}};
	nvtxPayloadSchemaEntry_t point[] = {
		{0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "x"}, {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "y"}};
	nvtxPayloadSchemaEntry_t either[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "real"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "whole"}};
	uint64_t p = layout("point", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, point, 2, 0),
		 e = layout("either", NVTX_PAYLOAD_SCHEMA_TYPE_UNION, either, 2, sizeof(v.either));
	nvtxPayloadSchemaEntry_t entries[] = {
		{NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, p, "points", NULL, 2},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "which"}, {0, e, "either", NULL, 1}};
	uint64_t id = layout("nested", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, entries, 3, sizeof(v));
	mark_one("nested", id, &v, sizeof(v));
	struct {
		uint8_t selector;
		union {
			uint32_t number;
			char text[4];
		} is;
	} own = {2, {.text = "hey"}};
	nvtxPayloadSchemaEntry_t selected[] = {
		{0, NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR, "selector"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "number", NULL, 0, 4},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", NULL, 4, 4}};
	id = layout("selected", NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR, selected, 3,
		sizeof(own));
	mark_one("union with selector", id, &own, sizeof(own));
	(void)numbers;
}

/* Lengths that the payload contains, texts in it and outside of it. */
static void dynamic(void)
{
	struct {
		uint16_t count;
		int16_t values[3];
		char text[6];
	} v = {3, {10, -20, 30}, "words"};
	nvtxPayloadSchemaEntry_t entries[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "count"},
		{NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX, NVTX_PAYLOAD_ENTRY_TYPE_INT16,
			"values", NULL, 0},
		{NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
			"text"}};
	uint64_t id = layout("dynamic", NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC, entries, 3, 0);
	mark_one("dynamic", id, &v, sizeof(v));
	v.count = 60000;
	mark_one("a length that lies", id, &v, sizeof(v));

	struct {
		const char *far, *nowhere, *near;
		nvtxStringHandle_t handle;
		uint64_t no_handle;
	} texts = {"a text elsewhere", (const char *)8, NULL,
		nvtxDomainRegisterStringA(domain, "a registered one"), 0xdeadbeef};
	static const char other[] = "in another payload";
	nvtxPayloadSchemaEntry_t text_entries[] = {
		{NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY |
				NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED,
			NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "far"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "nowhere"},
		{NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED,
			NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "near"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "handle"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "no_handle"}};
	id = layout("texts", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, text_entries, 5, sizeof(texts));
	texts.near = other + 3;
	nvtxPayloadData_t data[] = {{id, sizeof(texts), &texts},
		{NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED, sizeof(other), other}};
	mark("texts", data, 2);
}

static void predefined(void)
{
	static const int32_t two[] = {7, -8};
	nvtxPayloadData_t data[] = {{NVTX_PAYLOAD_ENTRY_TYPE_INT32, sizeof(two), two},
		{NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, SIZE_MAX, "measured"},
		{NVTX_TYPE_PAYLOAD_SCHEMA_RAW, 2, "\001\377"},
		{NVTX_PAYLOAD_ENTRY_TYPE_INT64, SIZE_MAX, two},
		{NVTX_PAYLOAD_ENTRY_TYPE_INT64, 8, NULL}};
	mark("types of NVTX", data, COUNT(data));
}

/* Payloads larger than one record, than the limit, and than the readable memory. */
static void large(void)
{
	size_t page = 4096, bytes = 64 * page;
	uint8_t *memory = mmap(
		NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < bytes; i++)
		memory[i] = (uint8_t)(i / 256);
	munmap(memory + bytes, page);
	mark_one("of 10000 bytes", NVTX_TYPE_PAYLOAD_SCHEMA_RAW, memory, 10000);
	mark_one("longer than memory", NVTX_TYPE_PAYLOAD_SCHEMA_RAW, memory, 65 * page);
	munmap(memory, bytes);
	memory = mmap(NULL, 2 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mark_one("of 2 MiB", NVTX_TYPE_PAYLOAD_SCHEMA_RAW, memory, 2 << 20);
	munmap(memory, 2 << 20);
}

/* Messages in UTF-16 and UTF-32, also of events that have no other text. */
static void messages(const nvtxPayloadData_t *event)
{
	static const char16_t narrow[] = {'1', '6', 0x20ac, 0xd83d, 0xde00, 0xd800, '.', 0, '!'};
	static const char32_t wide[] = {'3', '2', 0x20ac, 0x1f600, 0x110000, 0};
	struct far {
		const char32_t *text;
	} far = {wide};
	nvtxPayloadSchemaEntry_t entry = {
		NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE | NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
		NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16, "near", NULL, sizeof(narrow) / 2};
	nvtxPayloadData_t data = {
		layout("UTF-16", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, &entry, 1, sizeof(narrow)),
		sizeof(narrow), narrow};
	nvtxMarkPayload(domain, &data, 1);
	entry = (nvtxPayloadSchemaEntry_t){NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
		NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32, "far"};
	data = (nvtxPayloadData_t){
		layout("UTF-32", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, &entry, 1, sizeof(far)),
		sizeof(far), &far};
	nvtxMarkPayload(domain, &data, 1);
	mark(NULL, &data, 1);
	mark(NULL, event, 1);
	mark("a text of its own", &data, 1);
	mark_one(NULL, NVTX_PAYLOAD_ENTRY_TYPE_INT32, &(int32_t){5}, sizeof(int32_t));
}

/* Events that consist only of payloads. */
static void events(void)
{
	struct event {
		nvtxStringHandle_t message;
		uint32_t category, color;
		int64_t number;
	} v = {nvtxDomainRegisterStringA(domain, "message of a payload"), 4, 0xff00ff00, 1};
	nvtxPayloadSchemaEntry_t entries[] = {
		{NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
			NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "message"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY, "category"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB, "color"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "number"}};
	uint64_t id = layout("event", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, entries, 4, sizeof(v));
	nvtxPayloadData_t data = {id, sizeof(v), &v};
	nvtxMarkPayload(domain, &data, 1);
	v.number = 2;
	int level = nvtxRangePushPayload(domain, &data, 1);
	check(level == (TRACED ? 0 : NVTX_NO_PUSH_POP_TRACKING), "level of a push");
	v.number = 3;
	nvtxRangeId_t range = nvtxRangeStartPayload(domain, &data, 1);
	v = (struct event){
		nvtxDomainRegisterStringA(domain, "another one at the end"), 5, 0xff0000ff, 4};
	level = nvtxRangePopPayload(domain, &data, 1);
	check(level == (TRACED ? 0 : NVTX_NO_PUSH_POP_TRACKING), "level of a pop");
	nvtxRangeEndPayload(domain, range, &data, 1);
	nvtxRangePushPayload(domain, &data, 1); /* never popped */
	char inside[] = "its message is in it";
	nvtxPayloadSchemaEntry_t text = {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE |
			NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED,
		NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text"};
	data = (nvtxPayloadData_t){layout("text", NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC, &text, 1, 0),
		sizeof(inside), inside};
	nvtxMarkPayload(domain, &data, 1);
	nvtxMarkPayload(NULL, NULL, 3);
	messages(&(nvtxPayloadData_t){id, sizeof(v), &v});
}

static void deferred(void)
{
	struct event {
		int64_t begin, end;
		uint32_t name;
	} v[2] = {{nvtxTimestampGet(), 0, 0}, {0, 0, 6}};
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	check(!TRACED || (v[0].begin <= ns && v[0].begin > ns - 60000000000),
		"timestamps are of CLOCK_MONOTONIC");
	v[0].begin = 1000;
	v[0].end = 2000;
	v[1].begin = 3000;
	v[1].end = 4000;
	nvtxPayloadSchemaEntry_t entries[] = {
		{NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN | NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP,
			NVTX_PAYLOAD_ENTRY_TYPE_INT64, "begin"},
		{NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END | NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP,
			NVTX_PAYLOAD_ENTRY_TYPE_INT64, "end"},
		{NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "unused",
			NULL, 0, 24}};
	uint64_t id = layout("deferred", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, entries, 2, sizeof(v[0]));
	nvtxPayloadData_t data = {id, sizeof(v[0]), &v[0]};
	nvtxEventSubmit(domain, &data, 1);
	nvtxEventBatch_t batch = {id, sizeof(v), v, NVTX_SCOPE_CURRENT_SW_THREAD,
		NVTX_BATCH_FLAG_UNSORTED, "first\0second", 13, 0};
	nvtxEventBatchSubmit(domain, &batch);
}

static int64_t clock_of_ours(void *data)
{
	return *(int64_t *)data;
}

/* Lengths that no payload has: the tracer does not count that far. */
static void endless(void)
{
	const uint64_t length = UINT64_C(1) << 40;
	nvtxPayloadSchemaEntry_t number = {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "number"};
	uint64_t id = layout("element", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, &number, 1, 4);
	nvtxPayloadSchemaEntry_t array = {
		NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, id, "elements", NULL, length};
	layout("endless", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, &array, 1, 0);
	array.type = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE;
	layout("endless texts", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, &array, 1, 0);
	struct empty_rows {
		uint64_t lengths[2];
		int32_t more;
	} v = {{length, 0}, 1};
	nvtxPayloadSchemaEntry_t rows[] = {
		{NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_UINT64,
			"lengths", NULL, 2},
		{NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "rows"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "more"}};
	mark_one("empty rows without end",
		layout("empty rows", NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC, rows, COUNT(rows), 0), &v,
		sizeof(v));
}

static void scopes_and_clocks(void)
{
	nvtxScopeAttr_t scope = {sizeof(scope), "node[1]/gpu", NVTX_SCOPE_ROOT, NVTX_SCOPE_NONE};
	uint64_t id = nvtxScopeRegister(domain, &scope);
	check(!TRACED || id >= NVTX_SCOPE_ID_DYNAMIC_START, "id of a scope");
	nvtxTimeDomainAttr_t clock = {id, NVTX_TIMESTAMP_TYPE_NONE,
		NVTX_TIME_DOMAIN_ID_STATIC_START + 9, NVTX_TIMER_FLAG_CLOCK_MONOTONIC, 1000,
		NVTX_TIMER_START_UNIX_EPOCH};
	check(!TRACED || nvtxTimeDomainRegister(domain, &clock) == clock.timeDomainId,
		"id of a time domain");
	int64_t now = 77;
	nvtxTimerSourceWithData(domain, clock.timeDomainId, 0, clock_of_ours, &now);
	nvtxTimeSyncPoint(domain, clock.timeDomainId, NVTX_TIMESTAMP_TYPE_CPU_TSC, 5, -6);
	nvtxSyncPoint_t points[] = {{1, 2}, {3, 4}};
	nvtxTimeSyncPointTable(domain, clock.timeDomainId, 14, points, 2);
	nvtxTimestampConversionFactor(domain, clock.timeDomainId, 14, 2.5, 10, 20);
}

int main(int argc, char **argv)
{
	(void)argv;
	domain = nvtxDomainCreateA("payloads");
	uint64_t numbers = structs();
	enums();
	nested_and_unions(numbers);
	dynamic();
	predefined();
	large();
	events();
	deferred();
	endless();
	scopes_and_clocks();
	if (argc > 1) /* any word as argument: the process is killed */
		kill(getpid(), SIGKILL);
	return app_result();
}
