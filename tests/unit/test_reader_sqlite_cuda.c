/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_sqlite_cuda.c - tests of CUDA events of a generated report as rows of nsys's tables,
 * read by SQL.
 */
#define _GNU_SOURCE
#include "tests/unit/tap.h"

#ifndef HAVE_SQLITE

int main(void)
{
	printf("1..0 # SKIP no SQLite in this build\n");
	return 0;
}

#else

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "common/spool.h"
#include "reader/export/sqlite/export.h"
#include "reader/file/schema.h"
#include "tests/unit/make_report.h"

#define START UINT64_C(1000000) /* of the session */
#define PID 4321
#define TID 4322

static char folder[] = "/tmp/test_reader_sqlite_cuda.XXXXXX";
static char path[80];
static sqlite3 *base;

/* Return the text that a query gives: blanks between columns, semicolons between rows. */
static const char *query(const char *sql)
{
	static char out[4096];
	sqlite3_stmt *s = NULL;
	size_t used = 0;
	if (sqlite3_prepare_v2(base, sql, -1, &s, NULL)) {
		snprintf(out, sizeof(out), "%s", sqlite3_errmsg(base));
		return out;
	}
	*out = 0;
	while (sqlite3_step(s) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			const char *text = (const char *)sqlite3_column_text(s, i);
			used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s",
				!used       ? ""
					: i ? " "
					    : "; ",
				text ? text : "-");
		}
	sqlite3_finalize(s);
	return out;
}

static void same(const char *what, const char *sql, const char *wanted)
{
	const char *got = query(sql);
	check(!strcmp(got, wanted), "%s: %s", what, got);
	if (strcmp(got, wanted))
		printf("# wanted %s\n", wanted);
}

/* Add a row of a kind: pairs of field and value, ended by field 0; all other fields are 0. */
static void row(struct make_report *m, uint32_t kind, uint32_t tid, const int64_t *pairs)
{
	int64_t values[SCHEMA_FIELDS] = {0};
	uint32_t fields = 0;
	for (; *pairs; pairs += 2) {
		values[*pairs - 1] = pairs[1];
		fields = *pairs > fields ? (uint32_t)*pairs : fields;
	}
	make_batch(m, kind, 1, tid, 1, fields, values);
}

#define ROW(kind, tid, ...) row(m, KIND_##kind, tid, (const int64_t[]){__VA_ARGS__, 0, 0})
#define F(kind, field) FIELD_##kind##_##field

static void apis(struct make_report *m)
{
	const uint32_t launch = make_string(m, "cudaLaunchKernel_v7000"),
		       driver = make_string(m, "cuLaunchKernel"),
		       sync = make_string(m, "cudaDeviceSynchronize_v3020");
	ROW(CUDA_API, TID, 1, START + 1000, 2, 500, 3, launch, 4, 0, 5, 7, 6, 1, 7, 0, 8, 211, 11,
		2, 12, CALLCHAIN_RULES);
	ROW(CUDA_API, TID, 1, START + 1100, 2, 300, 3, driver, 5, 7, 7, 1, 9, 1);
	ROW(CUDA_API, TID, 1, START + 2000, 2, 9000, 3, sync, 4, 700, 5, 8);
	ROW(CUDA_API, TID, 1, START + 20000, 2, 10, 3, sync, 5, 9, 10, RECORD_UNFINISHED);
}

static void kernels(struct make_report *m)
{
	const uint32_t add = make_string(m, "_ZN2ns3addIfEEviPfPKT_"),
		       plain = make_string(m, "volta_sgemm_128x32_nn");
	ROW(CUDA_KERNEL, 0, 1, START + 3000, 2, 4000, 3, add, 4, 1, 5, 2, 6, 7, 7, 7, 8, 10, 9, 11,
		10, 12, 11, 256, 12, 2, 13, 1, 14, 1024, 15, 2048, 16, 4096, 17, 32, 18, 16, 19, 99,
		20, 5, 21, 1, 22, 2, 23, 3, 24, 77, 25, 78, 26, 1, 27, 2, 28, 1, 29, 1, 30, 2, 31,
		8, 32, 9, 33, 51, 34, 6);
	ROW(CUDA_KERNEL, 0, 1, START + 8000, 2, 1000, 3, plain, 7, 8);
}

static void copies(struct make_report *m)
{
	ROW(CUDA_MEMCPY, 0, 1, START + 100, 2, 50, 3, 1, 4, 2, 5, 7, 6, 5, 7, 4096, 8, 1, 9, 1, 10,
		3, 11, 1);
	ROW(CUDA_MEMCPY, 0, 1, START + 200, 2, 60, 3, 1, 4, 2, 5, 7, 6, 6, 7, 8192, 8, 10, 9, 3, 10,
		3, 14, 1, 15, 0, 16, 2, 17, 1, 18, 3);
	ROW(CUDA_MEMSET, 0, 1, START + 300, 2, 20, 3, 1, 4, 2, 5, 7, 6, 4, 7, 64, 8, 255, 9, 2);
	/* unified memory: two migrations, a fault of each side, and something else */
	ROW(CUDA_UNIFIED_MEMORY, 0, 1, START + 400, 2, 30, 3, 1, 4, 65536, 5, 0x7f0000000000, 6, 0,
		7, 1, 9, 2);
	ROW(CUDA_UNIFIED_MEMORY, 0, 1, START + 500, 2, 30, 3, 2, 4, 4096, 5, 0x7f0000000000, 6, 1,
		9, 3);
	ROW(CUDA_UNIFIED_MEMORY, 0, 1, START + 600, 3, 3, 4, 1, 5, 0x7f0000001000, 10, 0x401fff);
	ROW(CUDA_UNIFIED_MEMORY, 0, 1, START + 700, 2, 5, 3, 4, 4, 12, 5, 0x7f0000002000, 6, 1, 9,
		2);
	ROW(CUDA_UNIFIED_MEMORY, 0, 1, START + 800, 2, 5, 3, 5, 4, 1);
}

static void waits(struct make_report *m)
{
	for (int type = 1; type <= 4; type++)
		ROW(CUDA_SYNC, 0, 1, START + 5000 + type, 2, 10, 3, 2, 4, 4294967295, 5, 8, 6, type,
			7, 4294967295);
	ROW(CUDA_EVENT, 0, 1, START + 5100, 2, 1, 3, 2, 4, 7, 5, 9, 6, 33, 7, 2);
	ROW(CUDA_GRAPH, TID, 1, START + 5200, 2, 40, 5, 1);
	ROW(CUDA_GRAPH, TID, 1, START + 5300, 3, 40, 4, 41, 5, 3);
	ROW(CUDA_GRAPH_NODE, TID, 1, START + 5250, 2, 500, 3, 499, 4, 40);
	ROW(CUDA_GRAPH_TRACE, 0, 1, START + 5400, 2, 70, 3, 1, 4, 2, 5, 7, 6, 10, 7, 41);
	ROW(CUDA_OVERHEAD, 0, 1, START + 5500, 2, 9, 3, 1 << 16, 4, 1, 5, PID);
	ROW(CUDA_OVERHEAD, 0, 1, START + 5600, 2, 9, 3, 5 << 16, 4, 2, 5, TID, 6, 7);
	ROW(CUDA_OVERHEAD, 0, 1, START + 5700, 2, 9, 3, 1, 4, 2, 5, TID, 6, 7);
}

static void memory(struct make_report *m)
{
	const uint32_t name = make_string(m, "table");
	ROW(CUDA_MEMORY, 0, 1, START + 10, 2, 1, 3, 3, 4, 1, 5, 0x7f0000000000, 6, 4096, 8, 1, 9, 2,
		10, 7, 11, name, 13, 1, 14, 0xabc, 15, 1, 16, 2, 17, 3);
	ROW(CUDA_MEMORY, 0, 1, START + 20, 2, 2, 3, 3, 5, 0x7f0000000000, 6, 4096, 8, 1, 9, 2, 10,
		4294967295, 13, 2, 14, 0xdef, 16, 99);
	ROW(CUDA_POOL, 0, 1, START + 5, 2, 1, 3, 1, 5, 1, 6, 0xabc, 7, 1, 8, 2, 9, 3, 10, 4);
}

static void device(struct make_report *m)
{
	const uint32_t name = make_string(m, "NVIDIA Test"),
		       uuid = make_string(m, "FA2A1D7D9A69162780A1BF74AE1E9493");
	for (int id = 0; id < 2; id++) {
		ROW(CUDA_DEVICE, 0, 1, START + 1, 2, 1, 3, name, 4, uuid, 5, 616000000, 6, 1 << 30,
			8, 5 << 20, 9, 32, 10, 1575000, 12, 68, 27, 7, 28, 5);
	}
	ROW(CUDA_DEVICE_ATTRIBUTE, 0, 1, START + 1, 2, 1, 3, 33, F(CUDA_DEVICE_ATTRIBUTE, VALUE),
		3);
	ROW(CUDA_DEVICE_ATTRIBUTE, 0, 1, START + 1, 2, 1, 3, 34, F(CUDA_DEVICE_ATTRIBUTE, VALUE),
		10);
	ROW(CUDA_DEVICE_ATTRIBUTE, 0, 1, START + 1, 2, 1, 3, 18, F(CUDA_DEVICE_ATTRIBUTE, VALUE),
		0);
	ROW(CUDA_DEVICE_ATTRIBUTE, 0, 1, START + 1, 2, 1, 3, 97, F(CUDA_DEVICE_ATTRIBUTE, VALUE),
		65536);
	ROW(CUDA_CONTEXT, 0, 1, START + 2, 2, 2, 3, 1, 5, 7);
	ROW(CUDA_STREAM, 0, 1, START + 3, 2, 2, 3, 13, 4, -5, 5, 2);
}

static void exported(enum nsys_generation generation)
{
	struct make_report m;
	struct report report;
	const char *cause;
	const uint32_t parents[] = {0, 1};
	const uint64_t addresses[] = {0x401010, 0x402000};
	const struct make_symbol symbols[] = {
		{0x401010, 0x10, "/bin/app", "", 1, {{"main", "", 0}}},
		{0x402000, 0x20, "/bin/app", "", 1, {{"touch", "", 0}}}};
	struct sqlite_result result;
	sqlite3_close(base);
	make_init(&m, false);
	make_session(&m, START);
	make_process(&m, 1, PID, 1, "/bin/app");
	make_callchains(&m, 1, 1, 2, parents, addresses);
	make_module(&m, 1, START, 0x400000, 0x410000, 0, "/bin/app", "aa");
	make_symbols(&m, 1, 2, symbols);
	apis(&m);
	kernels(&m);
	copies(&m);
	waits(&m);
	memory(&m);
	device(&m);
	make_block_end(&m);
	report_open_memory(&report, m.data, m.bytes, &cause);
	const struct sqlite_source source = {&report, {NULL, NULL, NULL, NULL}, NULL};
	snprintf(path, sizeof(path), "%s/cuda.sqlite", folder);
	const struct sqlite_job job = {.output = path,
		.overwrite = true,
		.generation = generation,
		.sources = &source,
		.count = 1};
	check(!sqlite_export(&job, &result) && !result.impossible, "exported %s", result.cause);
	report_close(&report);
	make_release(&m);
	if (sqlite3_open(path, &base))
		exit(1);
	same("the database passes SQLite's integrity check", "SELECT * FROM pragma_integrity_check",
		"ok");
}

/* Check the rows for NULL, since SQLite checks NOT NULL only when it writes rows. */
static void not_null(void)
{
	sqlite3_stmt *s = NULL;
	int columns = 0;
	sqlite3_prepare_v2(base,
		"SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
		"WHERE m.type = 'table' AND c.\"notnull\" AND m.name NOT LIKE 'ENUM%'",
		-1, &s, NULL);
	while (sqlite3_step(s) == SQLITE_ROW) {
		char sql[200];
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM \"%s\" WHERE \"%s\" IS NULL",
			(const char *)sqlite3_column_text(s, 0),
			(const char *)sqlite3_column_text(s, 1));
		columns++;
		if (strcmp(query(sql), "0"))
			same(sql, sql, "0");
	}
	sqlite3_finalize(s);
	check(columns > 100, "%d columns that must not be NULL hold no NULL", columns);
}

static void api_rows(void)
{
	same("outermost API calls are in CUPTI_ACTIVITY_KIND_RUNTIME",
		"SELECT start, end, eventClass, globalTid & 0xffffff, correlationId, value, "
		"returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId",
		"1000 1500 0 4322 7 cudaLaunchKernel_v7000 0; "
		"2000 11000 0 4322 8 cudaDeviceSynchronize_v3020 700");
	same("nested API calls, and those that never returned, are in a table of their own",
		"SELECT value, level, flags FROM LIBTRACE_CUDA_API_OTHER JOIN StringIds ON id = "
		"nameId",
		"cuLaunchKernel 1 0; cudaDeviceSynchronize_v3020 0 4");
	same("callchains",
		"SELECT stackDepth, s.value, m.value, unresolved FROM CUPTI_ACTIVITY_KIND_RUNTIME "
		"r "
		"JOIN CUDA_CALLCHAINS c ON c.id = r.callchainId JOIN StringIds s ON s.id = symbol "
		"JOIN StringIds m ON m.id = module ORDER BY stackDepth",
		"0 touch /bin/app -; 1 main /bin/app -");
	same("a call without callchain has NULL",
		"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE callchainId IS NULL", "1");
	same("fields without a column of nsys are in LIBTRACE_CUDA_API",
		"SELECT r.correlationId, f.contextId, f.cbid "
		"FROM LIBTRACE_CUDA_API f JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.rowid = f.id",
		"7 1 211");
}

static void kernel_rows(void)
{
	same("a kernel has its columns and the correlation id of its call",
		"SELECT k.start, k.end, deviceId, contextId, streamId, r.correlationId, "
		"launchType, "
		"cacheConfig, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, "
		"staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, "
		"gridId, sharedMemoryExecuted, graphNodeId, sharedMemoryLimitConfig, graphId, "
		"clusterX, clusterSchedulingPolicy, maxPotentialClusterSize, maxActiveClusters, "
		"sharedMemoryRequestedPercentage, tensorSizeMinusOneElements "
		"FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
		"ON r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24 "
		"WHERE k.start = 3000",
		"3000 7000 1 2 7 7 2 3 32 10 11 12 256 2 1 1024 2048 16 99 5 4096 77 1 78 2 2 8 9 "
		"50 "
		"[]");
	same("a kernel has its demangled, short and mangled name",
		"SELECT d.value, s.value, m.value FROM CUPTI_ACTIVITY_KIND_KERNEL "
		"JOIN StringIds d ON d.id = demangledName JOIN StringIds s ON s.id = shortName "
		"JOIN StringIds m ON m.id = mangledName ORDER BY start",
		"void ns::add<float>(int, float*, float const*) add _ZN2ns3addIfEEviPfPKT_; "
		"volta_sgemm_128x32_nn volta_sgemm_128x32_nn volta_sgemm_128x32_nn");
	same("absent references are NULL",
		"SELECT graphNodeId, graphId, sharedMemoryRequestedPercentage "
		"FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start = 8000",
		"- - -");
}

static void copy_rows(void)
{
	same("copies have nsys's numbers for kinds of memory, and devices only for peers",
		"SELECT start, end, bytes, copyKind, srcKind, dstKind, srcDeviceId, srcContextId, "
		"dstDeviceId, dstContextId, correlationId FROM CUPTI_ACTIVITY_KIND_MEMCPY "
		"WHERE virtualAddress IS NULL ORDER BY start",
		"100 150 4096 1 0 2 - - - - 5; 200 260 8192 10 2 2 0 2 1 3 6");
	same("labels of the ENUM tables fit the numbers of copies",
		"SELECT k.label, s.label, d.label FROM CUPTI_ACTIVITY_KIND_MEMCPY "
		"JOIN ENUM_CUDA_MEMCPY_OPER k ON k.id = copyKind "
		"JOIN ENUM_CUDA_MEM_KIND s ON s.id = srcKind JOIN ENUM_CUDA_MEM_KIND d "
		"ON d.id = dstKind WHERE start = 100",
		"Host-to-Device Pageable Device");
	same("migrations of unified memory are rows of copies",
		"SELECT start, copyKind, bytes, deviceId, contextId, streamId, correlationId, "
		"srcKind, "
		"dstKind, migrationCause, virtualAddress FROM CUPTI_ACTIVITY_KIND_MEMCPY "
		"WHERE virtualAddress IS NOT NULL ORDER BY start",
		"400 11 65536 1 0 0 0 7 7 2 139637976727552; 500 12 4096 1 0 0 0 7 7 3 "
		"139637976727552");
	same("a page fault of the CPU has its table",
		"SELECT start, address, originalFaultPc, i.value, m.value "
		"FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS JOIN StringIds i ON i.id = CpuInstruction "
		"JOIN StringIds m ON m.id = module",
		"600 139637976731648 4202495 touch /bin/app");
	same("a page fault of the device has its table",
		"SELECT start, end, deviceId, numberOfPageFaults, faultAccessType "
		"FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS",
		"700 705 1 12 2");
	same("counters of unified memory without a table of nsys are kept",
		"SELECT start, counterKind "
		"FROM LIBTRACE_CUDA_UNIFIED_MEMORY_OTHER",
		"800 5");
	same("sets", "SELECT start, end, value, bytes, memKind FROM CUPTI_ACTIVITY_KIND_MEMSET",
		"300 320 255 64 1");
}

static void other_rows(void)
{
	same("waits have the device of their context",
		"SELECT syncType, deviceId, streamId, eventId FROM "
		"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION ORDER BY start",
		"1 1 4294967295 4294967295; 2 1 4294967295 4294967295; 3 1 4294967295 4294967295; "
		"4 1 4294967295 4294967295");
	same("events",
		"SELECT deviceId, contextId, streamId, correlationId, eventId, "
		"f.timestamp, f.eventSyncId FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT e "
		"JOIN LIBTRACE_CUDA_EVENT f ON f.id = e.rowid",
		"1 2 7 9 33 5100 2");
	same("graphs",
		"SELECT start, eventClass, graphId, originalGraphId, graphExecId "
		"FROM CUDA_GRAPH_EVENTS",
		"5200 95 40 - -; 5300 94 - 40 41");
	same("nodes",
		"SELECT start, end, eventClass, graphNodeId, originalGraphNodeId, value "
		"FROM CUDA_GRAPH_NODE_EVENTS JOIN StringIds ON id = nameId",
		"5250 5250 77 500 499 Graph Node Creation");
	same("a graph that ran is in its table",
		"SELECT start, end, graphId, graphExecId "
		"FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
		"5400 5470 40 41");
	same("overhead of the profiler is in its table",
		"SELECT start, overheadType, globalTid & 0xffffff "
		"FROM PROFILER_OVERHEAD",
		"5500 3 4321");
	same("overhead of CUDA is in its table",
		"SELECT start, overheadType, eventClass, correlationId, "
		"globalTid & 0xffffff FROM CUPTI_ACTIVITY_KIND_OVERHEAD",
		"5600 7 103 7 4322; "
		"5700 2 103 7 4322");
	same("allocations of device memory are in their table",
		"SELECT start, memoryOperationType, bytes, memKind, name, "
		"correlationId, streamId, localMemoryPoolAddress, localMemoryPoolSize, "
		"importedMemoryPoolAddress, importedMemoryPoolProcessId "
		"FROM CUDA_GPU_MEMORY_USAGE_EVENTS",
		"10 0 4096 2 table 1 7 2748 2 - -; "
		"20 1 4096 2 - 0 4294967295 - - 3567 99");
	same("pools",
		"SELECT operationType, poolType, minBytesToKeep, localMemoryPoolSize, "
		"localMemoryPoolReleaseThreshold, localMemoryPoolUtilizedSize "
		"FROM CUDA_GPU_MEMORY_POOL_EVENTS",
		"1 1 1 2 3 4");
}

static void target_rows(void)
{
	same("a device that is recorded twice has one row",
		"SELECT vmId, id, name, busLocation, isDiscrete, totalMemory, memoryBandwidth, "
		"clockRate, smCount, uuid, cuDevice, computeMajor, smMinor, maxShmemPerBlockOptin "
		"FROM TARGET_INFO_GPU",
		"281474976710656 1 NVIDIA Test 0000:03:0a.0 1 1073741824 616000000000 1575000000 "
		"68 "
		"fa2a1d7d-9a69-1627-80a1-bf74ae1e9493 1 7 5 65536");
	same("a device has its number in the process",
		"SELECT gpuId, cudaId, pid, uuid, numMultiprocessors FROM TARGET_INFO_CUDA_DEVICE",
		"1 1 4321 fa2a1d7d-9a69-1627-80a1-bf74ae1e9493 68");
	same("contexts",
		"SELECT nullStreamId, hwId, vmId, processId, deviceId, contextId "
		"FROM TARGET_INFO_CUDA_CONTEXT_INFO",
		"7 0 1 4321 1 2");
	same("contexts have their null streams",
		"SELECT streamId, processId, contextId "
		"FROM TARGET_INFO_CUDA_NULL_STREAM",
		"7 4321 2");
	same("streams",
		"SELECT streamId, hwId, vmId, processId, contextId, priority, flag "
		"FROM TARGET_INFO_CUDA_STREAM",
		"13 0 1 4321 2 4294967291 2");
	same("one row of ThreadNames for each thread that rows name",
		"SELECT count(*), count(DISTINCT globalTid), min(globalTid & 0xffffff) "
		"FROM ThreadNames WHERE globalTid & 0xffffff > 1",
		"2 2 4321");
}

/* Check the rows of an older generation, and ids that scripts of 2022 compute. */
static void older_rows(void)
{
	same("a callchain is found by its id and, as in older databases, by the id after it",
		"SELECT (SELECT group_concat(symbol) FROM CUDA_CALLCHAINS WHERE id = callchainId) "
		"= "
		"(SELECT group_concat(symbol) FROM CUDA_CALLCHAINS WHERE id = callchainId + 1) "
		"FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE callchainId IS NOT NULL",
		"1");
	same("an older generation has older numbers for waits",
		"SELECT syncType FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION ORDER BY start",
		"2; 3; 3; 1");
	same("an older generation has nodes of graphs in CUDA_GRAPH_EVENTS",
		"SELECT eventClass, graphNodeId FROM CUDA_GRAPH_EVENTS", "77 500");
	same("an older generation lacks columns that were added later",
		"SELECT count(*) FROM pragma_table_info('CUPTI_ACTIVITY_KIND_KERNEL')", "27");
	same("overhead of an older generation has a return value",
		"SELECT returnValue FROM PROFILER_OVERHEAD", "0");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	exported(NSYS_3_24);
	not_null();
	api_rows();
	kernel_rows();
	copy_rows();
	other_rows();
	target_rows();
	exported(NSYS_3_4);
	not_null();
	exported(NSYS_2_9);
	not_null();
	older_rows();
	sqlite3_close(base);
	remove(path);
	remove(folder);
	return tap_done();
}

#endif
