/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - a kernel launch as a standard entry of a report.
 */
#include "common/ncu/launch.h"

/* Metrics: name, and the column of the kernel or of its device that has the value. */
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

/* All metrics by number, the computed ones first. */
#define NAME_OF(name, column) name,
#define DEVICE_NAME_OF(name, column) DEVICE_PREFIX name,
#define ATTRIBUTE_NAME_OF(name, text, number) DEVICE_PREFIX text,
const char *const launch_metric_names[] = {"gpu__time_duration.sum", "launch__grid_size",
	"launch__block_size", "launch__thread_count",
	LAUNCH_METRICS(NAME_OF) DEVICE_METRICS(DEVICE_NAME_OF) LAUNCH_ATTRIBUTES(ATTRIBUTE_NAME_OF)
		DEVICE_PREFIX "display_name",
	DEVICE_PREFIX "architecture", DEVICE_PREFIX "implementation"};
#define ATTRIBUTE_COLUMN_OF(name, text, number) LAUNCH_ATTRIBUTE_##name,
#define COLUMN_OF(name, column) COLUMN_##column,
static const uint8_t launch_columns[] = {LAUNCH_METRICS(COLUMN_OF)};
static const uint8_t device_columns[] = {
	DEVICE_METRICS(COLUMN_OF) LAUNCH_ATTRIBUTES(ATTRIBUTE_COLUMN_OF)};
#define INDEX_OF(name, column) METRIC_OF_##column,
#define ATTRIBUTE_INDEX_OF(name, text, number) METRIC_OF_##name,
enum {
	METRIC_DURATION,
	METRIC_GRID_SIZE,
	METRIC_BLOCK_SIZE,
	METRIC_THREAD_COUNT,
	LAUNCH_METRICS(INDEX_OF) DEVICE_METRICS(INDEX_OF) LAUNCH_ATTRIBUTES(ATTRIBUTE_INDEX_OF)
		METRIC_DISPLAY_NAME,
	METRIC_ARCHITECTURE,
	METRIC_IMPLEMENTATION,
	METRICS,
	METRIC_LAUNCH = METRIC_OF_CUDA_KERNEL_GRID_X,
	METRIC_DEVICE = METRIC_OF_CUDA_DEVICE_DEVICE_ID
};
_Static_assert(
	sizeof(launch_metric_names) / sizeof(launch_metric_names[0]) == METRICS, "one name each");

const uint32_t launch_metric_count = METRICS;
_Static_assert(METRICS <= LAUNCH_METRICS_MAX, "an entry has room for its metrics");
_Static_assert(METRICS - METRIC_DEVICE <= LAUNCH_ATTRIBUTES_MAX, "a device has room for them");

static char *text(const char *constant)
{
	return (char *)(uintptr_t)constant; /* the message is only packed, not changed */
}

static Ncu__ProfileMetricValue *metric_add(struct launch_entry *e, uint32_t name)
{
	size_t at = e->result.n_metric_results++;
	ncu__profile_metric_result__init(&e->metrics[at]);
	ncu__profile_metric_value__init(&e->values[at]);
	e->metrics[at].has_name_id = 1;
	e->metrics[at].name_id = name;
	e->metrics[at].metric_value = &e->values[at];
	e->list[at] = &e->metrics[at];
	return &e->values[at];
}

static void metric_u64(struct launch_entry *e, uint32_t name, uint64_t number)
{
	Ncu__ProfileMetricValue *value = metric_add(e, name);
	value->has_uint64_value = 1;
	value->uint64_value = number;
}

static void metric_double(struct launch_entry *e, uint32_t name, double number)
{
	Ncu__ProfileMetricValue *value = metric_add(e, name);
	value->has_double_value = 1;
	value->double_value = number;
}

static uint64_t product(Ncu__Uint64x3 t)
{
	return t.x * t.y * t.z;
}

/* Return true if the device's row has the column, or CUPTI reported the attribute. */
static bool is_known(const uint64_t *device, uint32_t i)
{
	return device_columns[i] <= LAUNCH_ATTRIBUTE_FIRST || device[device_columns[i]];
}

#define ARCHITECTURE_MASK 0xfffffff0u

/* Return the number of the first chip of the device's compute capability, 0 = not known. Nsight
 * Compute knows units of metrics only for a known chip. The numbers are those of NVIDIA's open
 * kernel modules (NV2080_CTRL_MC_ARCH_INFO_*); CUPTI does not report the chip itself. */
static uint32_t chip_of(const uint64_t *device)
{
	static const struct {
		uint8_t major, minor;
		uint16_t chip;
	} chips[] = {{7, 0, 0x140}, {7, 5, 0x162}, {8, 0, 0x170}, {8, 6, 0x172}, {8, 9, 0x192},
		{9, 0, 0x180}, {10, 0, 0x1a0}, {12, 0, 0x1b2}};
	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
		if (device[COLUMN_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR] == chips[i].major &&
			device[COLUMN_CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR] == chips[i].minor)
			return chips[i].chip;
	return 0;
}

static void metrics_fill(struct launch_entry *e, const struct launch_facts *f)
{
	uint64_t grid = product(e->grid), block = product(e->block);
	e->result.metric_results = e->list;
	metric_double(e, METRIC_DURATION, (double)f->duration_ns);
	metric_u64(e, METRIC_GRID_SIZE, grid);
	metric_u64(e, METRIC_BLOCK_SIZE, block);
	metric_u64(e, METRIC_THREAD_COUNT, grid * block);
	for (uint32_t i = 0; i < sizeof(launch_columns); i++)
		metric_u64(e, METRIC_LAUNCH + i, f->kernel[launch_columns[i]]);
	for (uint32_t i = 0; f->device && i < sizeof(device_columns); i++)
		if (is_known(f->device, i))
			metric_u64(e, METRIC_DEVICE + i, f->device[device_columns[i]]);
	if (!f->device)
		return;
	metric_add(e, METRIC_DISPLAY_NAME)->string_value = text(f->device_name);
	uint32_t chip = chip_of(f->device);
	if (chip) {
		metric_u64(e, METRIC_ARCHITECTURE, chip & ARCHITECTURE_MASK);
		metric_u64(e, METRIC_IMPLEMENTATION, chip);
	}
}

static Ncu__Uint64x3 triple(uint64_t x, uint64_t y, uint64_t z)
{
	Ncu__Uint64x3 t = NCU__UINT64X3__INIT;
	t.has_x = t.has_y = t.has_z = 1;
	t.x = x;
	t.y = y;
	t.z = z;
	return t;
}

/* The launch metrics on the details page, with their labels there. */
static const struct {
	uint32_t metric;
	const char *label;
} shown[] = {
	{METRIC_DURATION, "Duration"},
	{METRIC_GRID_SIZE, "Grid Size"},
	{METRIC_BLOCK_SIZE, "Block Size"},
	{METRIC_THREAD_COUNT, "Threads"},
	{METRIC_OF_CUDA_KERNEL_REGISTERS_PER_THREAD, "Registers Per Thread"},
	{METRIC_OF_CUDA_KERNEL_STATIC_SHARED_MEMORY, "Static Shared Memory Per Block"},
	{METRIC_OF_CUDA_KERNEL_DYNAMIC_SHARED_MEMORY, "Dynamic Shared Memory Per Block"},
	{METRIC_OF_CUDA_KERNEL_SHARED_MEMORY_EXECUTED, "Shared Memory Configuration Size"},
};
#define SHOWN (sizeof(shown) / sizeof(shown[0]))
_Static_assert(SHOWN <= LAUNCH_SHOWN_MAX, "an entry has room for them");

static void section_fill(struct launch_entry *e)
{
	ncu__profiler_section__init(&e->section);
	ncu__profiler_section_header__init(&e->header);
	e->section.identifier = text("LaunchStats");
	e->section.display_name = text("Launch Statistics");
	e->section.has_order = 1;
	e->section.order = 70;
	e->section.header = &e->header;
	e->header.n_metrics = SHOWN;
	e->header.metrics = e->shown_list;
	for (uint32_t i = 0; i < SHOWN; i++) {
		ncu__profiler_section_metric__init(&e->shown[i]);
		e->shown[i].name = text(launch_metric_names[shown[i].metric]);
		e->shown[i].label = text(shown[i].label);
		e->shown_list[i] = &e->shown[i];
	}
	e->sections = &e->section;
	e->result.n_sections = 1;
	e->result.sections = &e->sections;
}

void launch_entry_fill(struct launch_entry *e, const struct launch_facts *f)
{
	const uint64_t *v = f->kernel;
	Ncu__ProfileResult *r = &e->result;
	ncu__profile_result__init(r);
	ncu__source_data__init(&e->source);
	e->offset = triple(0, 0, 0);
	e->grid = triple(v[COLUMN_CUDA_KERNEL_GRID_X], v[COLUMN_CUDA_KERNEL_GRID_Y],
		v[COLUMN_CUDA_KERNEL_GRID_Z]);
	e->block = triple(v[COLUMN_CUDA_KERNEL_BLOCK_X], v[COLUMN_CUDA_KERNEL_BLOCK_Y],
		v[COLUMN_CUDA_KERNEL_BLOCK_Z]);
	r->has_thread_id = r->has_api_call_id = r->has_program_handle = r->has_kernel_id =
		r->has_work_dimensions = r->has_api = r->has_context_id = r->has_stream_id = 1;
	r->thread_id = f->tid;
	r->api_call_id = v[COLUMN_CUDA_KERNEL_CORRELATION_ID];
	r->kernel_id = f->kernel_id;
	r->kernel_mangled_name = text(f->mangled);
	r->kernel_function_name = text(f->function);
	r->kernel_demangled_name = text(f->demangled);
	r->work_dimensions = 3;
	r->global_work_offset = &e->offset;
	r->grid_size = &e->grid;
	r->block_size = &e->block;
	metrics_fill(e, f);
	section_fill(e);
	r->source = &e->source;
	e->source.has_reference = 1;
	e->source.reference = f->source;
	r->context_id = (uint32_t)v[COLUMN_CUDA_KERNEL_CONTEXT_ID];
	r->stream_id = (uint32_t)v[COLUMN_CUDA_KERNEL_STREAM_ID];
}

bool launch_metric_add(struct launch_entry *entry, uint32_t name_id, double value)
{
	if (entry->result.n_metric_results == LAUNCH_METRICS_MAX)
		return false;
	metric_double(entry, name_id, value);
	return true;
}

void launch_attribute_note(uint64_t *device, uint64_t attribute, uint64_t value)
{
#define NOTE_ATTRIBUTE(name, text, number) \
	if (attribute == (number))         \
		device[LAUNCH_ATTRIBUTE_##name] = value;
	LAUNCH_ATTRIBUTES(NOTE_ATTRIBUTE)
}

static Ncu__ProfileMetricValue *attribute_add(struct launch_device *d, uint32_t i)
{
	size_t at = d->message.n_attributes++;
	ncu__device_attribute__init(&d->attributes[at]);
	ncu__profile_metric_value__init(&d->values[at]);
	d->attributes[at].name =
		text(launch_metric_names[METRIC_DEVICE + i] + sizeof(DEVICE_PREFIX) - 1);
	d->attributes[at].value = &d->values[at];
	d->list[at] = &d->attributes[at];
	return &d->values[at];
}

void launch_device_fill(struct launch_device *d, const uint64_t *columns, const char *name)
{
	ncu__device_attributes__init(&d->message);
	for (uint32_t i = 0; i < sizeof(device_columns); i++) {
		if (!is_known(columns, i))
			continue;
		Ncu__ProfileMetricValue *value = attribute_add(d, i);
		value->has_uint64_value = 1;
		value->uint64_value = columns[device_columns[i]];
	}
	attribute_add(d, METRIC_DISPLAY_NAME - METRIC_DEVICE)->string_value = text(name);
	d->message.has_id = 1;
	d->message.id = (uint32_t)columns[COLUMN_CUDA_DEVICE_DEVICE_ID];
	d->message.name = text(name);
	d->message.attributes = d->list;
}
