/*
 * results.c - launches of kernels as the standard entries of a report: NVIDIA's reader lists them.
 *
 * They repeat what events say, so only the first launches of a process get one, and of those places
 * the second half is for kernels and shapes that had none. They are made when the process has
 * ended: then its devices are known. A writer that takes over makes none of those before it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cuda_spool.h"
#include "common/schema/cuda_columns.h"
#include "ncu.pb-c.h"
#include "writer/segment.h"

#define LAUNCHES_MAX 1000u
#define LAUNCHES_ANY (LAUNCHES_MAX / 2) /* whatever they are */
#define DEVICES_MAX 32u
#define NAMES_MAX LAUNCHES_MAX

#define COLUMNS (CUDA_COLUMNS_MAX + 1)

struct launch {
	uint32_t tid;
	uint32_t name; /* in results.names */
	uint64_t duration_ns;
	uint64_t values[COLUMNS]; /* by number of the column */
};

struct kernel_name {
	uint32_t ref;
	char *text;
};

struct results {
	struct launch *launches;
	uint32_t launch_count, launch_capacity;
	struct kernel_name names[NAMES_MAX];
	uint32_t name_count;
	uint64_t devices[DEVICES_MAX][COLUMNS];
	char *device_names[DEVICES_MAX];
	uint32_t device_count;
};

static struct results *results_of(struct spool *spool)
{
	if (!spool->results)
		spool->results = calloc(1, sizeof(*spool->results));
	return spool->results;
}

void results_free(struct results *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->name_count; i++)
		free(r->names[i].text);
	for (uint32_t i = 0; i < r->device_count; i++)
		free(r->device_names[i]);
	free(r->launches);
	free(r);
}

/* ---- what comes by ---- */

static char *text_of(struct spool *spool, uint32_t ref)
{
	const char *text;
	uint32_t bytes = nvtx_name_text(spool, ref, &text);
	return strndup(bytes ? text : "?", bytes ? bytes : 1);
}

/* Fields of type string must be UTF-8. */
static char *ascii_only(char *text)
{
	for (char *p = text; p && *p; p++)
		if (*p & 0x80)
			*p = '?';
	return text;
}

/* Its place in names, or -1. */
static int name_keep(struct results *r, struct spool *spool, uint32_t ref)
{
	for (uint32_t i = r->name_count; i-- > 0;)
		if (r->names[i].ref == ref)
			return (int)i;
	if (r->name_count == NAMES_MAX)
		return -1;
	char *text = ascii_only(text_of(spool, ref));
	if (!text)
		return -1;
	r->names[r->name_count] = (struct kernel_name){ref, text};
	return (int)r->name_count++;
}

static bool is_same_shape(const uint64_t *a, const uint64_t *b)
{
	static const uint8_t columns[] = {CUDA_KERNEL_NAME, CUDA_KERNEL_GRID_X, CUDA_KERNEL_GRID_Y,
		CUDA_KERNEL_GRID_Z, CUDA_KERNEL_BLOCK_X, CUDA_KERNEL_BLOCK_Y, CUDA_KERNEL_BLOCK_Z};
	for (size_t i = 0; i < sizeof(columns); i++)
		if (a[columns[i] + 1] != b[columns[i] + 1])
			return false;
	return true;
}

static bool is_wanted(const struct results *r, const uint64_t *values)
{
	if (r->launch_count < LAUNCHES_ANY)
		return true;
	if (r->launch_count == LAUNCHES_MAX)
		return false;
	for (uint32_t i = 0; i < r->launch_count; i++)
		if (is_same_shape(r->launches[i].values, values))
			return false;
	return true;
}

void results_note_kernel(
	struct spool *spool, const uint64_t *values, uint64_t duration_ns, uint32_t tid)
{
	struct results *r = results_of(spool);
	if (!r || !is_wanted(r, values))
		return;
	if (r->launch_count == r->launch_capacity) {
		uint32_t more = r->launch_capacity ? r->launch_capacity * 2 : 16;
		struct launch *launches = realloc(r->launches, more * sizeof(*launches));
		if (!launches)
			return;
		r->launches = launches;
		r->launch_capacity = more;
	}
	int name = name_keep(r, spool, (uint32_t)values[CUDA_KERNEL_NAME + 1]);
	if (name < 0)
		return;
	struct launch *l = &r->launches[r->launch_count++];
	*l = (struct launch){.tid = tid, .name = (uint32_t)name, .duration_ns = duration_ns};
	memcpy(l->values, values, sizeof(l->values));
}

void results_note_device(struct spool *spool, const uint64_t *values)
{
	struct results *r = results_of(spool);
	if (!r || r->device_count == DEVICES_MAX)
		return;
	for (uint32_t i = 0; i < r->device_count; i++)
		if (r->devices[i][CUDA_DEVICE_DEVICE_ID + 1] == values[CUDA_DEVICE_DEVICE_ID + 1])
			return;
	char *name = ascii_only(text_of(spool, (uint32_t)values[CUDA_DEVICE_NAME + 1]));
	if (!name)
		return;
	memcpy(r->devices[r->device_count], values, sizeof(r->devices[0]));
	r->device_names[r->device_count++] = name;
}

/* ---- metrics ---- */

/* Name; where its number comes from: a column of the kernel, or of its device. */
#define LAUNCH_METRICS(METRIC)                                                               \
	METRIC("launch__grid_dim_x", CUDA_KERNEL_GRID_X)                                     \
	METRIC("launch__grid_dim_y", CUDA_KERNEL_GRID_Y)                                     \
	METRIC("launch__grid_dim_z", CUDA_KERNEL_GRID_Z)                                     \
	METRIC("launch__block_dim_x", CUDA_KERNEL_BLOCK_X)                                   \
	METRIC("launch__block_dim_y", CUDA_KERNEL_BLOCK_Y)                                   \
	METRIC("launch__block_dim_z", CUDA_KERNEL_BLOCK_Z)                                   \
	METRIC("launch__registers_per_thread", CUDA_KERNEL_REGISTERS_PER_THREAD)             \
	METRIC("launch__shared_mem_per_block_static", CUDA_KERNEL_STATIC_SHARED_MEMORY)      \
	METRIC("launch__shared_mem_per_block_dynamic", CUDA_KERNEL_DYNAMIC_SHARED_MEMORY)    \
	METRIC("launch__shared_mem_config_size", CUDA_KERNEL_SHARED_MEMORY_EXECUTED)         \
	METRIC("launch__func_cache_config", CUDA_KERNEL_CACHE_CONFIG_EXECUTED)               \
	METRIC("launch__cluster_dim_x", CUDA_KERNEL_CLUSTER_X)                               \
	METRIC("launch__cluster_dim_y", CUDA_KERNEL_CLUSTER_Y)                               \
	METRIC("launch__cluster_dim_z", CUDA_KERNEL_CLUSTER_Z)                               \
	METRIC("launch__cluster_max_potential_size", CUDA_KERNEL_MAX_POTENTIAL_CLUSTER_SIZE) \
	METRIC("launch__cluster_max_active", CUDA_KERNEL_MAX_ACTIVE_CLUSTERS)                \
	METRIC("launch__context_id", CUDA_KERNEL_CONTEXT_ID)                                 \
	METRIC("launch__stream_id", CUDA_KERNEL_STREAM_ID)                                   \
	METRIC("launch__device_id", CUDA_KERNEL_DEVICE_ID)
#define DEVICE_METRICS(METRIC)                                                                   \
	METRIC("device_index", CUDA_DEVICE_DEVICE_ID)                                            \
	METRIC("compute_capability_major", CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR)                 \
	METRIC("compute_capability_minor", CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR)                 \
	METRIC("multiprocessor_count", CUDA_DEVICE_MULTIPROCESSORS)                              \
	METRIC("warp_size", CUDA_DEVICE_THREADS_PER_WARP)                                        \
	METRIC("clock_rate", CUDA_DEVICE_CORE_CLOCK_RATE)                                        \
	METRIC("l2_cache_size", CUDA_DEVICE_L2_CACHE_SIZE)                                       \
	METRIC("total_constant_memory", CUDA_DEVICE_CONSTANT_MEMORY_SIZE)                        \
	METRIC("async_engine_count", CUDA_DEVICE_MEMCPY_ENGINES)                                 \
	METRIC("max_threads_per_block", CUDA_DEVICE_MAX_THREADS_PER_BLOCK)                       \
	METRIC("max_registers_per_block", CUDA_DEVICE_MAX_REGISTERS_PER_BLOCK)                   \
	METRIC("max_registers_per_multiprocessor", CUDA_DEVICE_MAX_REGISTERS_PER_MULTIPROCESSOR) \
	METRIC("max_shared_memory_per_block", CUDA_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK)           \
	METRIC("max_shared_memory_per_multiprocessor",                                           \
		CUDA_DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)                                \
	METRIC("max_blocks_per_multiprocessor", CUDA_DEVICE_MAX_BLOCKS_PER_MULTIPROCESSOR)       \
	METRIC("max_block_dim_x", CUDA_DEVICE_MAX_BLOCK_DIM_X)                                   \
	METRIC("max_block_dim_y", CUDA_DEVICE_MAX_BLOCK_DIM_Y)                                   \
	METRIC("max_block_dim_z", CUDA_DEVICE_MAX_BLOCK_DIM_Z)                                   \
	METRIC("max_grid_dim_x", CUDA_DEVICE_MAX_GRID_DIM_X)                                     \
	METRIC("max_grid_dim_y", CUDA_DEVICE_MAX_GRID_DIM_Y)                                     \
	METRIC("max_grid_dim_z", CUDA_DEVICE_MAX_GRID_DIM_Z)
#define DEVICE_PREFIX "device__attribute_"

/* The whole table: what is computed comes first. */
#define NAME_OF(name, column) name,
#define DEVICE_NAME_OF(name, column) DEVICE_PREFIX name,
static const char *const metric_names[] = {"gpu__time_duration.sum", "launch__grid_size",
	"launch__block_size", "launch__thread_count",
	LAUNCH_METRICS(NAME_OF) DEVICE_METRICS(DEVICE_NAME_OF) DEVICE_PREFIX "display_name"};
#define COLUMN_OF(name, column) column + 1,
static const uint8_t launch_columns[] = {LAUNCH_METRICS(COLUMN_OF)};
static const uint8_t device_columns[] = {DEVICE_METRICS(COLUMN_OF)};
enum {
	METRIC_DURATION,
	METRIC_GRID_SIZE,
	METRIC_BLOCK_SIZE,
	METRIC_THREAD_COUNT,
	METRIC_LAUNCH,
	METRIC_DEVICE = METRIC_LAUNCH + sizeof(launch_columns),
	METRIC_DISPLAY_NAME = METRIC_DEVICE + sizeof(device_columns),
	METRICS
};
_Static_assert(sizeof(metric_names) / sizeof(metric_names[0]) == METRICS, "one name each");

struct metrics {
	Ncu__ProfileMetricResult results[METRICS], *list[METRICS];
	Ncu__ProfileMetricValue values[METRICS];
	size_t count;
};

static Ncu__ProfileMetricValue *metric_add(struct metrics *m, uint32_t name)
{
	Ncu__ProfileMetricResult *result = &m->results[m->count];
	Ncu__ProfileMetricValue *value = &m->values[m->count];
	ncu__profile_metric_result__init(result);
	ncu__profile_metric_value__init(value);
	result->has_name_id = 1;
	result->name_id = name;
	result->metric_value = value;
	m->list[m->count++] = result;
	return value;
}

static void metric_u64(struct metrics *m, uint32_t name, uint64_t number)
{
	Ncu__ProfileMetricValue *value = metric_add(m, name);
	value->has_uint64_value = 1;
	value->uint64_value = number;
}

static void metric_double(struct metrics *m, uint32_t name, double number)
{
	Ncu__ProfileMetricValue *value = metric_add(m, name);
	value->has_double_value = 1;
	value->double_value = number;
}

static void metrics_fill(
	struct metrics *m, const struct launch *l, const uint64_t *device, char *device_name)
{
	const uint64_t *v = l->values;
	uint64_t grid =
		v[CUDA_KERNEL_GRID_X + 1] * v[CUDA_KERNEL_GRID_Y + 1] * v[CUDA_KERNEL_GRID_Z + 1];
	uint64_t block = v[CUDA_KERNEL_BLOCK_X + 1] * v[CUDA_KERNEL_BLOCK_Y + 1] *
		v[CUDA_KERNEL_BLOCK_Z + 1];
	m->count = 0;
	metric_double(m, METRIC_DURATION, (double)l->duration_ns);
	metric_u64(m, METRIC_GRID_SIZE, grid);
	metric_u64(m, METRIC_BLOCK_SIZE, block);
	metric_u64(m, METRIC_THREAD_COUNT, grid * block);
	for (uint32_t i = 0; i < sizeof(launch_columns); i++)
		metric_u64(m, METRIC_LAUNCH + i, v[launch_columns[i]]);
	for (uint32_t i = 0; device && i < sizeof(device_columns); i++)
		metric_u64(m, METRIC_DEVICE + i, device[device_columns[i]]);
	if (device)
		metric_add(m, METRIC_DISPLAY_NAME)->string_value = device_name;
}

/* ---- entries ---- */

/* `_Z3addPf` is add, `_ZN2ns3addE...` is add; any other is its own. Returns its length. */
static size_t base_name(const char *mangled, const char **ret_name)
{
	const char *p = mangled, *name = mangled;
	size_t bytes = strlen(mangled), left;
	*ret_name = mangled;
	if (strncmp(p, "_Z", 2))
		return bytes;
	for (p += p[2] == 'N' ? 3 : 2; *p >= '1' && *p <= '9'; p += left) {
		char *end;
		left = strtoul(p, &end, 10);
		p = end;
		if (left > strlen(p))
			return bytes;
		name = p;
		bytes = left;
	}
	*ret_name = name;
	return bytes;
}

static Ncu__Uint64x3 triple(const uint64_t *v, uint32_t column)
{
	Ncu__Uint64x3 t = NCU__UINT64X3__INIT;
	t.has_x = t.has_y = t.has_z = 1;
	t.x = v ? v[column + 1] : 0;
	t.y = v ? v[column + 2] : 0;
	t.z = v ? v[column + 3] : 0;
	return t;
}

static void launch_put(struct writer *w, const struct results *r, const struct launch *l)
{
	static struct metrics metrics;
	const uint64_t *v = l->values, *device = NULL;
	char *device_name = NULL, *mangled = r->names[l->name].text;
	for (uint32_t i = 0; i < r->device_count; i++)
		if (r->devices[i][CUDA_DEVICE_DEVICE_ID + 1] == v[CUDA_KERNEL_DEVICE_ID + 1]) {
			device = r->devices[i];
			device_name = r->device_names[i];
		}
	metrics_fill(&metrics, l, device, device_name);
	const char *base;
	size_t bytes = base_name(mangled, &base);
	char *function = strndup(base, bytes);
	Ncu__ProfileResult result = NCU__PROFILE_RESULT__INIT;
	Ncu__SourceData source = NCU__SOURCE_DATA__INIT;
	Ncu__Uint64x3 offset = triple(NULL, 0), grid = triple(v, CUDA_KERNEL_GRID_X),
		      block = triple(v, CUDA_KERNEL_BLOCK_X);
	result.has_thread_id = result.has_api_call_id = result.has_program_handle =
		result.has_kernel_id = result.has_work_dimensions = result.has_api =
			result.has_context_id = result.has_stream_id = 1;
	result.thread_id = l->tid;
	result.api_call_id = v[CUDA_KERNEL_CORRELATION_ID + 1];
	result.kernel_id = l->name + 1;
	result.kernel_mangled_name = mangled;
	result.kernel_function_name = function ? function : mangled;
	/* Names of templates and parameters are found by the reader; "" would show the mangled one.
	 */
	result.kernel_demangled_name = base == mangled ? "" : result.kernel_function_name;
	result.work_dimensions = 3;
	result.global_work_offset = &offset;
	result.grid_size = &grid;
	result.block_size = &block;
	result.n_metric_results = metrics.count;
	result.metric_results = metrics.list;
	result.source = &source;
	result.context_id = (uint32_t)v[CUDA_KERNEL_CONTEXT_ID + 1];
	result.stream_id = (uint32_t)v[CUDA_KERNEL_STREAM_ID + 1];
	source.has_reference = 1;
	block_put_result(&w->block, &result, metric_names, METRICS);
	free(function);
}

#define ATTRIBUTES (sizeof(device_columns) + 1)

/* What a device has, as the details of a session hold it; one at a time. */
static const Libtrace__SessionDetails *device_details(const struct results *r, uint32_t number)
{
	static Ncu__ProfileMetricValue values[ATTRIBUTES];
	static Ncu__DeviceAttribute attributes[ATTRIBUTES], *list[ATTRIBUTES];
	static Ncu__DeviceAttributes device, *devices = &device;
	static Libtrace__SessionDetails details;
	libtrace__session_details__init(&details);
	ncu__device_attributes__init(&device);
	for (uint32_t i = 0; i < ATTRIBUTES; i++) {
		ncu__device_attribute__init(&attributes[i]);
		ncu__profile_metric_value__init(&values[i]);
		attributes[i].name = (char *)(uintptr_t)metric_names[METRIC_DEVICE + i] +
			sizeof(DEVICE_PREFIX) - 1;
		attributes[i].value = &values[i];
		values[i].has_uint64_value = i < sizeof(device_columns);
		if (i < sizeof(device_columns))
			values[i].uint64_value = r->devices[number][device_columns[i]];
		else
			values[i].string_value = r->device_names[number];
		list[i] = &attributes[i];
	}
	device.has_id = 1;
	device.id = (uint32_t)r->devices[number][CUDA_DEVICE_DEVICE_ID + 1];
	device.name = r->device_names[number];
	device.n_attributes = ATTRIBUTES;
	device.attributes = list;
	details.n_device_attributes = 1;
	details.device_attributes = &devices;
	return &details;
}

int results_put(struct writer *w, struct spool *spool)
{
	struct results *r = spool->results;
	int error = 0;
	bool any = r && r->launch_count;
	for (uint32_t i = 0; any && i < r->launch_count && !error; i++) {
		launch_put(w, r, &r->launches[i]);
		error = writer_make_room(w);
	}
	/* One block for each: its header is made before the next one's details are. */
	for (uint32_t i = 0; any && i < r->device_count && !error; i++) {
		block_put_session(&w->block, device_details(r, i));
		error = writer_flush(w, false);
	}
	results_free(r);
	spool->results = NULL;
	return error;
}
