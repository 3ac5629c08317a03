/* SPDX-License-Identifier: Apache-2.0 */
/* details.c - descriptions of device work for XProf: "key:value" pairs in one text. */
#include "reader/export/xplane/details.h"

#include <stdio.h>

#include "reader/export/xplane/texts.h"
#include "reader/stats/occupancy.h"

uint64_t xplane_column(const struct timeline_item *i, uint32_t field)
{
	return (uint64_t)i->row->values[schema_column_index(i->row->event, field)];
}

static uint32_t details(struct xplane *x, const char *text, int bytes)
{
	return bytes < 0 ? 0 : xplane_text(x, text, (size_t)bytes);
}

/* Return the columns of an item's device, as the item's process recorded them; NULL = not known. */
static const uint64_t *device_columns(const struct xplane *x, const struct timeline_item *i)
{
	const struct ncu_devices *d = x->timeline->devices;
	const uint64_t device = (uint64_t)i->row->values[i->kind->device];
	for (uint32_t n = 0; n < d->count; n++)
		if (d->rows[n].process == i->row->process->id &&
			d->rows[n].columns[FIELD_CUDA_DEVICE_DEVICE_ID] == device)
			return d->rows[n].columns;
	return NULL;
}

double xplane_occupancy(const struct xplane *x, const struct timeline_item *i)
{
	const uint64_t *c = device_columns(x, i);
	struct occupancy o;
	if (!c)
		return 0;
#define OF(name) xplane_column(i, FIELD_CUDA_KERNEL_##name)
	const struct occupancy_device d = {
		.major = (uint32_t)c[FIELD_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR],
		.minor = (uint32_t)c[FIELD_CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR],
		.warp_threads = (uint32_t)c[FIELD_CUDA_DEVICE_THREADS_PER_WARP],
		.warps = (uint32_t)c[FIELD_CUDA_DEVICE_MAX_WARPS_PER_MULTIPROCESSOR],
		.blocks = (uint32_t)c[FIELD_CUDA_DEVICE_MAX_BLOCKS_PER_MULTIPROCESSOR],
		.registers = (uint32_t)c[FIELD_CUDA_DEVICE_MAX_REGISTERS_PER_MULTIPROCESSOR],
		.shared_bytes = c[FIELD_CUDA_DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR],
		.reserved_bytes = c[FIELD_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR] >= 8 ? 1024 : 0};
	const struct occupancy_kernel k = {
		.block_threads = (uint32_t)(OF(BLOCK_X) * OF(BLOCK_Y) * OF(BLOCK_Z)),
		.registers = (uint32_t)OF(REGISTERS_PER_THREAD),
		.shared_bytes = OF(STATIC_SHARED_MEMORY) + OF(DYNAMIC_SHARED_MEMORY)};
#undef OF
	return occupancy_of(&d, &k, &o) ? 0 : 100.0 * o.active_warps / d.warps;
}

static uint32_t kernel_details(struct xplane *x, const struct timeline_item *i)
{
	char text[300];
#define OF(name) ((unsigned long long)xplane_column(i, FIELD_CUDA_KERNEL_##name))
	return details(x, text,
		snprintf(text, sizeof(text),
			"regs:%llu static_shared:%llu dynamic_shared:%llu grid:%llu,%llu,%llu "
			"block:%llu,%llu,%llu occ_pct:%.6g",
			OF(REGISTERS_PER_THREAD), OF(STATIC_SHARED_MEMORY),
			OF(DYNAMIC_SHARED_MEMORY), OF(GRID_X), OF(GRID_Y), OF(GRID_Z), OF(BLOCK_X),
			OF(BLOCK_Y), OF(BLOCK_Z), xplane_occupancy(x, i)));
#undef OF
}

static const char *memory_kind(uint64_t kind)
{
	static const char *const names[] = {"unknown", "pageable", "pinned", "device", "array",
		"managed", "device_static", "managed_static"};
	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

/* Describe a copy. The size is included twice, because XProf's statistics and its viewer read
 * different keys. */
static uint32_t memcpy_details(struct xplane *x, const struct timeline_item *i)
{
	char text[300];
	const unsigned long long bytes = xplane_column(i, FIELD_CUDA_MEMCPY_BYTES);
	return details(x, text,
		snprintf(text, sizeof(text),
			"num_bytes:%llu\nkind_src:%s kind_dst:%s size:%llu dest:%llu async:%llu",
			bytes, memory_kind(xplane_column(i, FIELD_CUDA_MEMCPY_SRC_KIND)),
			memory_kind(xplane_column(i, FIELD_CUDA_MEMCPY_DST_KIND)), bytes,
			(unsigned long long)xplane_column(i, FIELD_CUDA_MEMCPY_DEVICE_ID),
			(unsigned long long)(xplane_column(i, FIELD_CUDA_MEMCPY_FLAGS) & 1)));
}

static uint32_t memset_details(struct xplane *x, const struct timeline_item *i)
{
	char text[200];
	return details(x, text,
		snprintf(text, sizeof(text), "kind:%s num_bytes:%llu async:%llu",
			memory_kind(xplane_column(i, FIELD_CUDA_MEMSET_MEMORY_KIND)),
			(unsigned long long)xplane_column(i, FIELD_CUDA_MEMSET_BYTES),
			(unsigned long long)(xplane_column(i, FIELD_CUDA_MEMSET_FLAGS) & 1)));
}

uint32_t xplane_details(struct xplane *x, const struct timeline_item *i)
{
	switch (i->row->event->number) {
	case KIND_CUDA_KERNEL:
		return kernel_details(x, i);
	case KIND_CUDA_MEMCPY:
		return memcpy_details(x, i);
	case KIND_CUDA_MEMSET:
		return memset_details(x, i);
	default:
		return 0;
	}
}
