/* SPDX-License-Identifier: Apache-2.0 */
/* tools_memory.c - memory in use for XProf, by device and kind: its use over time, its peak, and
 * the allocations at the peak. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/export/xplane/tools_state.h"

enum {
	PROFILE_ALLOCATOR = 1,
	PROFILE_HOSTS = 2,
	PROFILE_ID = 3,
	PROFILE_VERSION = 5,
	ALLOCATOR_SNAPSHOT = 1,
	ALLOCATOR_SUMMARY = 2,
	ALLOCATOR_ACTIVE = 3,
	ALLOCATOR_SAMPLED = 5,
	SNAPSHOT_PS = 1,
	SNAPSHOT_STATS = 2,
	SNAPSHOT_ACTIVITY = 3,
	STATS_ALLOCATED = 2,
	STATS_PEAK = 5,
	ACTIVITY_KIND = 1,
	ACTIVITY_REQUESTED = 2,
	ACTIVITY_BYTES = 3,
	ACTIVITY_ADDRESS = 4,
	SUMMARY_PEAK = 1,
	SUMMARY_STATS = 2,
	SUMMARY_PS = 3,
	SUMMARY_CAPACITY = 4,
	ACTIVE_SNAPSHOT = 1,
	ACTIVE_SPECIAL = 2,
	ACTIVE_COUNT = 3
};

#define ALLOCATION 1
#define DEALLOCATION 2
#define PROFILE_FORM 1  /* version of the message that XProf reads */
#define DEVICE_MEMORY 3 /* kind of memory as numbered by CUPTI */

static struct tools_allocator *allocator_of(struct tools *t, const struct track *track)
{
	uint32_t found = map_get(&t->allocators, track->number, 0);
	if (!found) {
		if (array_room(
			    &t->memory, t->memory_count, &t->memory_capacity, sizeof(*t->memory)))
			return NULL;
		t->memory[t->memory_count] = (struct tools_allocator){.track = track};
		found = ++t->memory_count;
		if (map_put(&t->allocators, track->number, 0, found))
			return NULL;
	}
	return &t->memory[found - 1];
}

static int snapshot_add(struct tools_allocator *a, const struct tools_snapshot *snapshot)
{
	if (array_room(
		    &a->snapshots, a->snapshot_count, &a->snapshot_capacity, sizeof(*a->snapshots)))
		return -ENOMEM;
	a->snapshots[a->snapshot_count++] = *snapshot;
	return 0;
}

static int allocation_add(struct tools_allocator *a, uint32_t snapshot)
{
	if (array_room(&a->allocations, a->count, &a->capacity, sizeof(*a->allocations)))
		return -ENOMEM;
	a->allocations[a->count++] = (struct tools_allocation){snapshot, UINT64_MAX};
	return map_put(&a->live, a->snapshots[snapshot].address, 0, a->count);
}

int tools_memory_add(struct tools *t, const struct timeline_item *i)
{
	struct tools_allocator *a = allocator_of(t, i->track);
	if (!a)
		return -ENOMEM;
	if (i->integer >= a->peak) {
		a->peak = i->integer;
		a->peak_ns = i->start_ns;
	}
	const struct tools_snapshot snapshot = {.ns = i->start_ns,
		.address = xplane_column(i, FIELD_CUDA_MEMORY_ADDRESS),
		.bytes = xplane_column(i, FIELD_CUDA_MEMORY_BYTES),
		.in_use = i->integer,
		.peak = a->peak,
		.is_new = xplane_column(i, FIELD_CUDA_MEMORY_OPERATION) == ALLOCATION};
	int error = snapshot_add(a, &snapshot);
	if (error || snapshot.is_new)
		return error ? error : allocation_add(a, a->snapshot_count - 1);
	uint32_t live = map_get(&a->live, snapshot.address, 0);
	if (live && a->allocations[live - 1].freed_ns == UINT64_MAX)
		a->allocations[live - 1].freed_ns = i->start_ns;
	return 0;
}

void tools_memory_release(struct tools *t)
{
	for (uint32_t n = 0; n < t->memory_count; n++) {
		map_release(&t->memory[n].live);
		free(t->memory[n].allocations);
		free(t->memory[n].snapshots);
	}
	free(t->memory);
	map_release(&t->allocators);
}

/* ---- messages ---- */

static void snapshot_put(
	const struct tools *t, struct proto *p, uint32_t field, const struct tools_snapshot *s)
{
	size_t snapshot = proto_open(p, field);
	proto_u64(p, SNAPSHOT_PS, tools_ps(t, s->ns));
	size_t stats = proto_open(p, SNAPSHOT_STATS);
	proto_u64(p, STATS_ALLOCATED, (uint64_t)s->in_use);
	proto_u64(p, STATS_PEAK, (uint64_t)s->peak);
	proto_close(p, stats);
	size_t activity = proto_open(p, SNAPSHOT_ACTIVITY);
	proto_u64(p, ACTIVITY_KIND, s->is_new ? ALLOCATION : DEALLOCATION);
	proto_u64(p, ACTIVITY_REQUESTED, s->bytes);
	proto_u64(p, ACTIVITY_BYTES, s->bytes);
	proto_u64(p, ACTIVITY_ADDRESS, s->address);
	proto_close(p, activity);
	proto_close(p, snapshot);
}

/* Write at most TOOLS_SNAPSHOTS_MAX snapshots: from each group of consecutive snapshots, the
 * snapshot with the most memory in use. */
static void sampled_put(const struct tools *t, struct proto *p, const struct tools_allocator *a)
{
	const uint32_t each = (a->snapshot_count + TOOLS_SNAPSHOTS_MAX - 1) / TOOLS_SNAPSHOTS_MAX;
	for (uint32_t n = 0; n < a->snapshot_count; n += each) {
		uint32_t most = n;
		for (uint32_t k = n; k < n + each && k < a->snapshot_count; k++)
			most = a->snapshots[k].in_use > a->snapshots[most].in_use ? k : most;
		snapshot_put(t, p, ALLOCATOR_SAMPLED, &a->snapshots[most]);
	}
}

/* Order by size, the largest first. */
static int by_bytes(const void *one, const void *other)
{
	const struct tools_snapshot *a = one, *b = other;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return (a->ns > b->ns) - (a->ns < b->ns);
}

/* Write the allocations that were in use at the peak; allocations of equal size are combined. */
static int active_put(const struct tools *t, struct proto *p, const struct tools_allocator *a)
{
	uint32_t count = 0, written = 0;
	struct tools_snapshot *active = calloc(a->count + 1, sizeof(*active));
	if (!active)
		return -ENOMEM;
	for (uint32_t n = 0; n < a->count; n++) {
		const struct tools_snapshot *s = &a->snapshots[a->allocations[n].snapshot];
		if (s->ns <= a->peak_ns && a->allocations[n].freed_ns > a->peak_ns)
			active[count++] = *s;
	}
	qsort(active, count, sizeof(*active), by_bytes);
	for (uint32_t n = 0, end; n < count; n = end) {
		for (end = n; end < count && active[end].bytes == active[n].bytes;)
			end++;
		snapshot_put(t, p, ALLOCATOR_SNAPSHOT, &active[n]);
		size_t entry = proto_open(p, ALLOCATOR_ACTIVE);
		proto_u64(p, ACTIVE_SNAPSHOT, written++);
		proto_u64(p, ACTIVE_SPECIAL, (uint64_t)-1);
		proto_u64(p, ACTIVE_COUNT, end - n);
		proto_close(p, entry);
	}
	free(active);
	return 0;
}

/* Return the capacity: for device memory, the capacity of the device; else the peak, because
 * nothing else is known. */
static uint64_t capacity_bytes(const struct tools *t, const struct tools_allocator *a)
{
	const struct ncu_devices *d = t->x.timeline->devices;
	for (uint32_t n = 0; a->track->key.id == DEVICE_MEMORY && n < d->count; n++)
		if (d->rows[n].process == a->track->key.process->id &&
			d->rows[n].columns[FIELD_CUDA_DEVICE_DEVICE_ID] == a->track->key.device)
			return d->rows[n].columns[FIELD_CUDA_DEVICE_GLOBAL_MEMORY_SIZE];
	return (uint64_t)a->peak;
}

static void summary_put(const struct tools *t, struct proto *p, const struct tools_allocator *a)
{
	size_t summary = proto_open(p, ALLOCATOR_SUMMARY);
	proto_u64(p, SUMMARY_PEAK, (uint64_t)a->peak);
	size_t stats = proto_open(p, SUMMARY_STATS);
	proto_u64(p, STATS_ALLOCATED, (uint64_t)a->peak);
	proto_u64(p, STATS_PEAK, (uint64_t)a->peak);
	proto_close(p, stats);
	proto_u64(p, SUMMARY_PS, tools_ps(t, a->peak_ns));
	proto_u64(p, SUMMARY_CAPACITY, capacity_bytes(t, a));
	proto_close(p, summary);
}

void tools_memory_put(struct tools *t, struct proto *p)
{
	char name[XPLANE_ALLOCATOR_BYTES];
	for (uint32_t n = 0; n < t->memory_count; n++) {
		const struct tools_allocator *a = &t->memory[n];
		xplane_allocator(&t->x, a->track, name);
		size_t entry = proto_open(p, PROFILE_ALLOCATOR);
		proto_clean(p, MAP_KEY, name, strlen(name));
		size_t profile = proto_open(p, MAP_VALUE);
		if (active_put(t, p, a))
			p->failed = true;
		summary_put(t, p, a);
		sampled_put(t, p, a);
		proto_close(p, profile);
		proto_close(p, entry);
		proto_clean(p, PROFILE_ID, name, strlen(name));
	}
	proto_u64(p, PROFILE_HOSTS, 1);
	proto_u64(p, PROFILE_VERSION, PROFILE_FORM);
}
