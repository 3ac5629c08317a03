/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_deferred.c - deferred events of NVTX, with times from clocks of many kinds.
 *
 * The message of an event states what the report must contain. With a path as its argument the
 * program writes a line for each event that has a time: kind, message, and its begin and end by
 * CLOCK_MONOTONIC as the program saw them. With "large" it submits one batch instead, of more
 * events than a payload has room for.
 */
#define _GNU_SOURCE
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include "machine/machine.h"

#include "app.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TICKS_PER_NS 3 /* ticks per second of the program's clock */

static nvtxDomainHandle_t domain;
static FILE *out;

static int64_t clock_ns(clockid_t id)
{
	struct timespec now;
	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t mono(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void expect(const char *kind, const char *message, int64_t begin_ns, int64_t end_ns)
{
	if (out)
		fprintf(out, "%s\t%s\t%lld\t%lld\n", kind, message, (long long)begin_ns,
			(long long)end_ns);
}

/* ---- one event by its own layout: a message, and times of a clock ---- */

struct event {
	int64_t begin, end;
	char message[40];
};

#define BEGIN (NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN | NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP)
#define END (NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END | NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP)
#define TIME NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP
#define NO_CLOCK UINT64_MAX

/* `begin` and `end`: flags of the two times. */
static uint64_t layout_of(uint64_t flags, uint64_t begin, uint64_t end, uint64_t clock)
{
	nvtxSemanticsTime_t time = {
		{sizeof(time), NVTX_SEMANTIC_ID_TIME_V1, NVTX_TIME_SEMANTIC_VERSION, NULL}, clock};
	const nvtxSemanticsHeader_t *semantics = clock == NO_CLOCK ? NULL : &time.header;
	nvtxPayloadSchemaEntry_t entries[] = {
		{begin, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "begin", NULL, 0, 0, semantics, NULL},
		{end, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "end", NULL, 0, 0, semantics, NULL},
		{NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE | NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
			NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8, "message", NULL, 40, 0, NULL, NULL}};
	nvtxPayloadSchemaAttr_t attributes = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
		.name = "event",
		.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
		.flags = flags,
		.entries = entries,
		.numEntries = COUNT(entries),
		.payloadStaticSize = sizeof(struct event)};
	return nvtxPayloadSchemaRegister(domain, &attributes);
}

static void submit(uint64_t layout, const char *message, int64_t begin, int64_t end)
{
	struct event e = {begin, end, ""};
	strncpy(e.message, message, sizeof(e.message) - 1);
	nvtxPayloadData_t data = {layout, sizeof(e), &e};
	nvtxEventSubmit(domain, &data, 1);
}

/* ---- clocks of the system ---- */

static int64_t read_tsc(void)
{
	return (int64_t)machine_counter();
}

static int64_t read_realtime(void)
{
	return clock_ns(CLOCK_REALTIME);
}

static int64_t read_raw(void)
{
	return clock_ns(CLOCK_MONOTONIC_RAW);
}

static int64_t read_boottime(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

/* Submit a range from now to slightly later. */
static void range_by(uint64_t layout, const char *message, int64_t (*clock)(void))
{
	int64_t begin_ns = mono(), begin = clock(), end_ns, end;
	while (mono() < begin_ns + 200000)
		;
	end_ns = mono();
	end = clock();
	submit(layout, message, begin, end);
	expect("nvtx_start_end", message, begin_ns, end_ns);
}

static void clocks_of_the_system(void)
{
	static const struct {
		const char *name;
		uint64_t type;
		int64_t (*read)(void);
	} clocks[] = {{"tool", NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, nvtxTimestampGet},
		{"tsc", 10, read_tsc},
		{"realtime", NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME, read_realtime},
		{"monotonic", NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC, mono},
		{"raw", NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_RAW, read_raw},
		{"boottime", NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_BOOTTIME, read_boottime},
		{"steady", NVTX_TIMESTAMP_TYPE_CPP_STEADY_CLOCK, mono}};
	for (size_t i = 0; i < COUNT(clocks); i++)
		range_by(layout_of(NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_STARTEND, BEGIN, END,
				 clocks[i].type),
			clocks[i].name, clocks[i].read);
}

/* ---- clocks of the program ---- */

static uint64_t clock_new(uint64_t id, uint64_t scope, int64_t ticks_per_second, uint64_t origin)
{
	nvtxTimeDomainAttr_t a = {scope, NVTX_TIMESTAMP_TYPE_NONE,
		id ? NVTX_TIME_DOMAIN_ID_STATIC_START + id : 0, NVTX_TIMER_FLAG_CLOCK_MONOTONIC,
		ticks_per_second, origin};
	return nvtxTimeDomainRegister(domain, &a);
}

static int64_t to_ours(int64_t ns)
{
	return ns * TICKS_PER_NS - 1000000;
}

static int64_t our_clock(void)
{
	return to_ours(mono());
}

static int64_t our_clock_with_data(void *data)
{
	return mono() + *(const int64_t *)data;
}

static int64_t real_us(void)
{
	return clock_ns(CLOCK_REALTIME) / 1000;
}

static int64_t hour_behind(void)
{
	return mono() - INT64_C(3600000000000);
}

static void clocks_of_the_program(void)
{
	static const int64_t hour = INT64_C(3600000000000);
	const uint64_t flags = NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_STARTEND;
	int64_t now = mono(), data = -hour;
	uint64_t asked = clock_new(1, 0, 0, 0), behind = clock_new(2, 0, 0, 0),
		 table = clock_new(3, 0, 0, 0), factor = clock_new(0, 0, 0, 0),
		 chain = clock_new(0, 0, 0, 0), one = clock_new(0, 0, 1000000000, 0),
		 epoch = clock_new(0, 0, 1000000, NVTX_TIMER_START_UNIX_EPOCH);
	nvtxSyncPoint_t points[] = {{now, to_ours(now)}, {now + 1000000, to_ours(now + 1000000)}};
	nvtxTimerSource(domain, asked, 0, our_clock);
	nvtxTimerSourceWithData(domain, behind, 0, our_clock_with_data, &data);
	nvtxTimeSyncPointTable(
		domain, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC, table, points, 2);
	nvtxTimestampConversionFactor(domain, factor, NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED,
		1.0 / TICKS_PER_NS, to_ours(now), now);
	nvtxTimeSyncPoint(domain, chain, table, now - hour, to_ours(now));
	nvtxTimeSyncPoint(domain, chain, table, now - hour + 2000, to_ours(now + 2000));
	nvtxTimeSyncPoint(domain, one, NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, now - hour, now);
	range_by(layout_of(flags, BEGIN, END, asked), "timer source", our_clock);
	range_by(layout_of(flags, BEGIN, END, behind), "timer source with data", hour_behind);
	range_by(layout_of(flags, BEGIN, END, table), "table of points", our_clock);
	range_by(layout_of(flags, BEGIN, END, factor), "factor", our_clock);
	range_by(layout_of(flags, BEGIN, END, chain), "by way of another", hour_behind);
	range_by(layout_of(flags, BEGIN, END, one), "one point and a rate", hour_behind);
	range_by(layout_of(flags, BEGIN, END, epoch), "microseconds since 1970", real_us);
}

/* ---- events without a time ---- */

static void without_place(void)
{
	const uint64_t flags = NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_STARTEND;
	uint64_t alone = clock_new(0, 0, 0, 0), one = clock_new(0, 0, 0, 0), mono_id = 14;
	int64_t now = mono();
	nvtxTimeSyncPoint(domain, one, mono_id, 5, now);
	submit(layout_of(flags, BEGIN, END, alone), "no point", now, now + 1);
	submit(layout_of(flags, BEGIN, END, one), "no rate", 6, 7);
	submit(layout_of(flags, BEGIN, END, NO_CLOCK), "no clock", 1000, 2000);
	submit(layout_of(flags, BEGIN, END, mono_id), "long ago", 1000, 2000);
	submit(layout_of(flags, BEGIN, END, mono_id), "backwards", now, now - 1);
	submit(layout_of(flags, BEGIN, 0, mono_id), "half", now, 0);
	submit(layout_of(flags, 0, 0, mono_id), "no time", now, 0);
}

/* ---- kinds ---- */

static void kinds(void)
{
	const uint64_t clock = NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED;
	int64_t now = nvtxTimestampGet();
	submit(layout_of(NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_PUSHPOP, BEGIN, END, clock), "outer", now,
		now + 100);
	submit(layout_of(NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_PUSHPOP, BEGIN, END, clock), "inner",
		now + 10, now + 20);
	submit(layout_of(NVTX_PAYLOAD_SCHEMA_FLAG_MARK, TIME, 0, clock), "mark", now, 0);
	submit(layout_of(0, NVTX_PAYLOAD_ENTRY_FLAG_MARK | TIME, 0, clock), "mark by its entry",
		now, 0);
	submit(layout_of(0, TIME, 0, clock), "one time", now, 0);
	submit(layout_of(0, TIME, TIME, clock), "two times", now, now + 5);
	submit(layout_of(0, BEGIN, END, clock), "by entries", now, now + 6);
	submit(layout_of(0, BEGIN, END, NO_CLOCK), "clock not told", now, now + 7);
	expect("nvtx_range", "outer", now, now + 100);
	expect("nvtx_range", "inner", now + 10, now + 20);
	expect("nvtx_mark", "mark", now, now);
	expect("nvtx_mark", "mark by its entry", now, now);
	expect("nvtx_mark", "one time", now, now);
	expect("nvtx_start_end", "two times", now, now + 5);
	expect("nvtx_start_end", "by entries", now, now + 6);
	expect("nvtx_start_end", "clock not told", now, now + 7);
}

/* ---- batches ---- */

struct batched {
	int64_t begin, end;
	const char *name;
	uint32_t category, color, tid, detail;
};

/* The layout of a batch; its message has a type and flags. */
static uint64_t batch_layout(uint64_t message_type, uint64_t message_flags, uint64_t flags)
{
	nvtxSemanticsTime_t time = {
		{sizeof(time), NVTX_SEMANTIC_ID_TIME_V1, NVTX_TIME_SEMANTIC_VERSION, NULL},
		NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED};
	nvtxPayloadSchemaEntry_t entries[] = {
		{BEGIN, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "begin", NULL, 0, 0, &time.header, NULL},
		{END, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "end", NULL, 0, 0, &time.header, NULL},
		{NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE | message_flags, message_type, "name"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY, "category"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB, "color"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32, "thread"},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "detail"}};
	nvtxPayloadSchemaAttr_t attributes = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
		.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
		.flags = flags,
		.entries = entries,
		.numEntries = COUNT(entries),
		.payloadStaticSize = sizeof(struct batched)};
	return nvtxPayloadSchemaRegister(domain, &attributes);
}

static void batches(void)
{
	static const char *const names[] = {"batch: a", "batch: b", "batch: a", "batch: \u20ac"};
	static const char flex[] = "#flex: one\0flex: two";
	const uint64_t push_pop = NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_PUSHPOP;
	struct batched v[COUNT(names)], handles[2], offsets[2];
	int64_t now = nvtxTimestampGet();
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	for (size_t i = 0; i < COUNT(names); i++) {
		v[i] = (struct batched){now + 100 * (int64_t)i, now + 100 * (int64_t)i + 50,
			names[i], 3, 0xff00ff00, tid, (uint32_t)i};
		expect("nvtx_range", names[i], v[i].begin, v[i].end);
	}
	nvtxEventBatch_t batch = {batch_layout(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8, 0, push_pop),
		sizeof(v), v, NVTX_SCOPE_CURRENT_SW_PROCESS, NVTX_BATCH_FLAG_TIME_SORTED, NULL, 0,
		0};
	nvtxEventBatchSubmit(domain, &batch);
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "handle: two" : "handle: one";
		handles[i] = (struct batched){now + i, now + 5, NULL, 0, 0, 0, 7};
		nvtxStringHandle_t handle = nvtxDomainRegisterStringA(domain, name);
		memcpy(&handles[i].name, &handle, sizeof(handle));
		expect("nvtx_start_end", name, handles[i].begin, handles[i].end);
		offsets[i] = (struct batched){now + i, now + 9, NULL, 0, 0, 0, 8};
		uint64_t offset = i ? 11 : 1;
		memcpy(&offsets[i].name, &offset, sizeof(offset));
		expect("nvtx_start_end", flex + offset, offsets[i].begin, offsets[i].end);
	}
	batch = (nvtxEventBatch_t){
		batch_layout(NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, 0,
			NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_STARTEND),
		sizeof(handles), handles, NVTX_SCOPE_NONE, NVTX_BATCH_FLAG_UNSORTED, NULL, 0, 0};
	nvtxEventBatchSubmit(domain, &batch);
	batch = (nvtxEventBatch_t){batch_layout(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8,
					   NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
						   NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED,
					   NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_STARTEND),
		sizeof(offsets), offsets, NVTX_SCOPE_NONE, 0, flex, sizeof(flex), 0};
	nvtxEventBatchSubmit(domain, &batch);
}

/* Submit more events than one payload has room for: the rest is not kept. */
static void large_batch(void)
{
	enum { ROOM = 1 << 20, MORE = 10 };
	const size_t count = ROOM / sizeof(struct batched) + MORE;
	struct batched *v = calloc(count, sizeof(*v));
	int64_t now = nvtxTimestampGet();
	for (size_t i = 0; v && i < count; i++)
		v[i] = (struct batched){
			now, now + 1, i % 2 ? "large: odd" : "large: even", 0, 0, 0, (uint32_t)i};
	nvtxEventBatch_t batch = {
		batch_layout(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 0, NVTX_PAYLOAD_SCHEMA_FLAG_MARK),
		count * sizeof(*v), v, NVTX_SCOPE_NONE, 0, NULL, 0, 0};
	nvtxEventBatchSubmit(domain, &batch);
	free(v);
}

/* Submit an event without a thread whose times are those of its scope's clock. */
static void scopes(void)
{
	nvtxScopeAttr_t attributes = {
		sizeof(attributes), "nic[0]", NVTX_SCOPE_CURRENT_HW_MACHINE, NVTX_SCOPE_NONE};
	uint64_t scope = nvtxScopeRegister(domain, &attributes), clock = clock_new(0, scope, 0, 0);
	int64_t now = mono();
	struct event e = {to_ours(now), to_ours(now + 300), "of a scope"};
	nvtxTimerSource(domain, clock, 0, our_clock);
	nvtxEventBatch_t batch = {
		layout_of(NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_PUSHPOP, BEGIN, END, NO_CLOCK), sizeof(e),
		&e, scope, 0, NULL, 0, 0};
	nvtxEventBatchSubmit(domain, &batch);
	expect("nvtx_range", "of a scope", now, now + 300);
}

int main(int argc, char **argv)
{
	domain = nvtxDomainCreateA("deferred");
	if (argc > 1 && !strcmp(argv[1], "large")) {
		large_batch();
		return app_result();
	}
	out = argc > 1 ? fopen(argv[1], "w") : NULL;
	clocks_of_the_system();
	clocks_of_the_program();
	kinds();
	batches();
	scopes();
	without_place();
	if (out)
		fclose(out);
	return app_result();
}
