/* Results of kernels: what a report of Nsight Compute holds. */
#include "reader/export/sqlite_results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/export/sqlite_writing.h"
#include "reader/ncu/nvtx_match.h"

/* Their order is that of enum results_table; columns are filled by position. */
static const struct {
	const char *name, *columns;
} tables[RESULTS_TABLES] = {
	[OF_RESULT] = {"LIBTRACE_NCU_RESULT",
		"id INTEGER NOT NULL PRIMARY KEY, kernelId INTEGER, globalTid INTEGER, "
		"deviceId INTEGER, contextId INTEGER, streamId INTEGER, apiCallId INTEGER, "
		"demangledName INTEGER, shortName INTEGER, mangledName INTEGER, gridX INTEGER, "
		"gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, "
		"duration REAL, creationTime INTEGER, workload TEXT NOT NULL"},
	[OF_METRIC] = {"LIBTRACE_NCU_METRIC",
		"id INTEGER NOT NULL PRIMARY KEY, resultId INTEGER NOT NULL, "
		"nameId INTEGER NOT NULL, unitId INTEGER, value, isSeries INTEGER NOT NULL"},
	[OF_INSTANCE] = {"LIBTRACE_NCU_INSTANCE", "metricId INTEGER NOT NULL, key, value"},
	[OF_SECTION] = {"LIBTRACE_NCU_SECTION",
		"resultId INTEGER NOT NULL, identifier TEXT, name TEXT"},
	[OF_RULE] = {"LIBTRACE_NCU_RULE",
		"resultId INTEGER NOT NULL, identifier TEXT, name TEXT, section TEXT, type TEXT, "
		"title TEXT, message TEXT, speedupType TEXT, speedup REAL"},
	[OF_RANGE] = {"LIBTRACE_NCU_RANGE",
		"resultId INTEGER NOT NULL, style TEXT NOT NULL, globalTid INTEGER, domain TEXT, "
		"depth INTEGER, name TEXT"},
	[OF_FRAME] = {"LIBTRACE_NCU_FRAME",
		"resultId INTEGER NOT NULL, stackDepth INTEGER NOT NULL, address INTEGER, "
		"symbol TEXT, module TEXT, file TEXT, line INTEGER"},
};

static const char *const fact_metrics[RESULT_FACTS] = {
	[FACT_DURATION] = "gpu__time_duration.sum",
	[FACT_DEVICE] = "device__attribute_device_index",
	[FACT_REGISTERS] = "launch__registers_per_thread",
	[FACT_STATIC_SHARED] = "launch__shared_mem_per_block_static",
	[FACT_DYNAMIC_SHARED] = "launch__shared_mem_per_block_dynamic",
};

static const char *const kernel_columns[KERNEL_PLACES] = {
	[KERNEL_START] = "start",
	[KERNEL_END] = "end",
	[KERNEL_DEVICE] = "deviceId",
	[KERNEL_CONTEXT] = "contextId",
	[KERNEL_STREAM] = "streamId",
	[KERNEL_PID] = "globalPid",
	[KERNEL_DEMANGLED] = "demangledName",
	[KERNEL_SHORT] = "shortName",
	[KERNEL_MANGLED] = "mangledName",
	[KERNEL_REGISTERS] = "registersPerThread",
	[KERNEL_GRID_X] = "gridX",
	[KERNEL_GRID_Y] = "gridY",
	[KERNEL_GRID_Z] = "gridZ",
	[KERNEL_BLOCK_X] = "blockX",
	[KERNEL_BLOCK_Y] = "blockY",
	[KERNEL_BLOCK_Z] = "blockZ",
	[KERNEL_STATIC_SHARED] = "staticSharedMemory",
	[KERNEL_DYNAMIC_SHARED] = "dynamicSharedMemory",
	[KERNEL_LOCAL_PER_THREAD] = "localMemoryPerThread",
	[KERNEL_LOCAL_TOTAL] = "localMemoryTotal",
	[KERNEL_GRID_ID] = "gridId",
	[KERNEL_TENSOR] = "tensorSizeMinusOneElements",
};

/* ---- tables ---- */

int results_tables_begin(struct writing *w)
{
	struct results_writing *r = &w->results;
	int error = 0;
	for (size_t i = 0; i < KERNEL_PLACES; i++) {
		r->kernel_places[i] =
			nsys_column(NSYS_CUPTI_ACTIVITY_KIND_KERNEL, kernel_columns[i]);
		if (r->kernel_places[i] < 0)
			return -EINVAL;
	}
	for (size_t i = 0; !error && i < RESULTS_TABLES; i++)
		error = writing_table_begin(w, &r->tables[i], tables[i].name, tables[i].columns);
	return error;
}

int results_tables_end(struct writing *w)
{
	int error = 0;
	for (size_t i = 0; !error && i < RESULTS_TABLES; i++)
		error = page_table_end(&w->results.tables[i]);
	return error;
}

int results_drop_empty(struct writing *w)
{
	int error = 0;
	for (size_t i = 0; !error && i < RESULTS_TABLES; i++)
		error = writing_drop_if_empty(w, &w->results.tables[i], tables[i].name);
	return error;
}

void results_tables_release(struct writing *w)
{
	for (size_t i = 0; i < RESULTS_TABLES; i++)
		page_table_release(&w->results.tables[i]);
}

/* ---- a report ---- */

void results_begin(struct writing *w)
{
	struct results_writing *r = &w->results;
	ncu_results_init(&r->results, w->source->report);
	r->is_foreign = false;
	r->next = 0;
	r->end_ns = 0;
}

void results_end(struct writing *w)
{
	struct results_writing *r = &w->results;
	ncu_results_release(&r->results);
	free(r->names);
	free(r->facts_only);
	r->names = NULL;
	r->facts_only = NULL;
}

static void problem(const struct writing *w, uint64_t offset, const char *cause)
{
	const struct contents_visitor *v = &w->source->visitor;
	if (v->problem)
		v->problem(v->user, offset, cause);
}

int results_note(struct writing *w, const struct report_block *block)
{
	const char *cause;
	int error = ncu_results_note(&w->results.results, block, &cause);
	if (error != -EBADMSG)
		return error;
	problem(w, block->offset, cause);
	return 0;
}

static int facts_find(struct results_writing *r, bool only)
{
	struct ncu_results *n = &r->results;
	uint32_t ids[RESULT_FACTS];
	int error = 0;
	for (size_t i = FACT_NONE + 1; !error && i < RESULT_FACTS; i++)
		error = ncu_results_name(n, fact_metrics[i], &ids[i]);
	r->names = error ? NULL : calloc(n->name_count + 1, sizeof(*r->names));
	if (only)
		r->facts_only = calloc(n->name_count / 8 + 1, 1);
	if (!r->names || (only && !r->facts_only))
		return -ENOMEM;
	for (size_t i = FACT_NONE + 1; i < RESULT_FACTS; i++) {
		r->names[ids[i]].fact = (uint8_t)i;
		if (only)
			r->facts_only[ids[i] / 8] |= (uint8_t)(1u << ids[i] % 8);
	}
	return 0;
}

/* ---- devices ---- */

static const struct {
	const char *column, *attribute;
	uint32_t factor;
} device_columns[] = {
	{"isDiscrete", "integrated", 0}, /* the contrary */
	{"l2CacheSize", "l2_cache_size", 1},
	{"totalMemory", "total_memory", 1},
	{"clockRate", "clock_rate", 1000},
	{"smCount", "multiprocessor_count", 1},
	{"cuDevice", "device_index", 1},
	{"constantMemory", "total_constant_memory", 1},
	{"maxIPC", "max_ipc_per_multiprocessor", 1},
	{"maxRegistersPerBlock", "max_registers_per_block", 1},
	{"maxShmemPerBlock", "max_shared_memory_per_block", 1},
	{"maxShmemPerBlockOptin", "max_shared_memory_per_block_optin", 1},
	{"maxShmemPerSm", "max_shared_memory_per_multiprocessor", 1},
	{"maxRegistersPerSm", "max_registers_per_multiprocessor", 1},
	{"threadsPerWarp", "warp_size", 1},
	{"asyncEngines", "async_engine_count", 1},
	{"maxWarpsPerSm", "max_warps_per_multiprocessor", 1},
	{"maxBlocksPerSm", "max_blocks_per_multiprocessor", 1},
	{"maxThreadsPerBlock", "max_threads_per_block", 1},
	{"maxBlockDimX", "max_block_dim_x", 1},
	{"maxBlockDimY", "max_block_dim_y", 1},
	{"maxBlockDimZ", "max_block_dim_z", 1},
	{"maxGridDimX", "max_grid_dim_x", 1},
	{"maxGridDimY", "max_grid_dim_y", 1},
	{"maxGridDimZ", "max_grid_dim_z", 1},
	{"computeMajor", "compute_capability_major", 1},
	{"computeMinor", "compute_capability_minor", 1},
	{"smMajor", "compute_capability_major", 1},
	{"smMinor", "compute_capability_minor", 1},
};

static const Ncu__ProfileMetricValue *attribute_find(
	const Ncu__DeviceAttributes *device, const char *name)
{
	static const char prefix[] = "device__attribute_";
	for (size_t i = 0; i < device->n_attributes; i++) {
		const char *at = device->attributes[i]->name;
		if (at && !strncmp(at, prefix, sizeof(prefix) - 1))
			at += sizeof(prefix) - 1;
		if (at && !strcmp(at, name))
			return device->attributes[i]->value;
	}
	return NULL;
}

static void column_put(struct page_value *values, const char *column, int64_t number)
{
	const int place = nsys_column(NSYS_TARGET_INFO_GPU, column);
	if (place >= 0)
		put_number(&values[place], number);
}

static int device_put(struct writing *w, const Ncu__DeviceAttributes *device)
{
	struct page_value v[NSYS_COLUMNS], name;
	memset(v, 0, sizeof(v));
	int error = results_text(w, device->name, &name);
	column_put(v, "vmId", w->vid);
	column_put(v, "id", w->gpu_count++);
	v[nsys_column(NSYS_TARGET_INFO_GPU, "name")] = name;
	for (size_t i = 0; i < sizeof(device_columns) / sizeof(device_columns[0]); i++) {
		const Ncu__ProfileMetricValue *a =
			attribute_find(device, device_columns[i].attribute);
		const uint32_t factor = device_columns[i].factor;
		const uint64_t number = a && a->has_uint64_value ? a->uint64_value
			: a                                      ? a->uint32_value
								 : 0;
		if (a && !a->string_value && number < INT64_MAX / 1000)
			column_put(v, device_columns[i].column,
				factor ? (int64_t)number * factor : !number);
	}
	if (!error)
		error = page_table_values(&w->tables[NSYS_TARGET_INFO_GPU], 0, v);
	w->output_failed |= error != 0;
	return error;
}

static int devices_put(struct writing *w)
{
	const Libtrace__SessionDetails *d = w->contents.details;
	int error = 0;
	for (size_t i = 0; !error && d && i < d->n_device_attributes; i++)
		error = device_put(w, d->device_attributes[i]);
	return error;
}

/* Only a report in which no process was traced has results and nothing else; in ours launches are
 * events, and rows by these. */
int results_ready(struct writing *w)
{
	struct results_writing *r = &w->results;
	r->is_foreign = !w->contents.session && r->results.count;
	int error = r->is_foreign ? facts_find(r, w->job->kernels_only) : 0;
	return error || !r->is_foreign ? error : devices_put(w);
}

static int entry_put(struct writing *w, size_t i)
{
	struct results_writing *r = &w->results;
	Ncu__ProfileResult *result;
	int error = r->facts_only ? ncu_result_read_some(&r->results, i, r->facts_only, &result)
				  : ncu_result_read(&r->results, i, &result);
	if (error == -EBADMSG)
		problem(w, r->results.entries[i].offset, "broken result");
	if (error)
		return error == -EBADMSG ? 0 : error;
	r->tally.results++;
	if (w->job->nvtx && !ncu_nvtx_passes(w->job->nvtx, result->nvtx, result->thread_id))
		r->tally.left_out++;
	else
		error = results_row(w, i, result);
	ncu__profile_result__free_unpacked(result, NULL);
	return error;
}

int results_rows(struct writing *w, const struct report_block *block)
{
	struct results_writing *r = &w->results;
	const struct ncu_results *n = &r->results;
	int error = 0;
	while (!error && r->is_foreign && r->next < n->count &&
		n->entries[r->next].offset < block->end)
		error = entry_put(w, r->next++);
	return error;
}

int results_facts(struct writing *w)
{
	const struct ncu_results *n = &w->results.results;
	int error = 0;
	for (size_t i = 0; !error && w->results.is_foreign && i < n->process_count; i++) {
		const struct ncu_process *p = &n->processes[i];
		const char *slash = strrchr(p->path, '/'), *back = strrchr(p->path, '\\');
		slash = back && (!slash || back > slash) ? back : slash; /* a path of Windows */
		error = database_row(&w->database, "PROCESSES", "iit",
			w->vid | (int64_t)(p->pid & 0xffffff) << 24, (int64_t)p->pid,
			slash ? slash + 1 : p->path);
	}
	return error;
}
