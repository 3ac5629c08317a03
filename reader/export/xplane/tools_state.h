/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools_state.h - state shared by tools.c and tools_*.c. Used only inside reader/export/xplane/.
 *
 * One thread.
 */
#ifndef READER_EXPORT_XPLANE_TOOLS_STATE_H
#define READER_EXPORT_XPLANE_TOOLS_STATE_H

#include "reader/export/xplane/tools.h"
#include "reader/export/xplane/details.h"
#include "reader/export/xplane/state.h"
#include "reader/export/xplane/stats.h"
#include "reader/export/xplane/texts.h"

#define TOOLS_PS_PER_NS 1000u
#define TOOLS_SNAPSHOTS_MAX 1000u /* snapshots of memory in use that XProf draws */

/* XProf's kinds of time of a step; if several overlap, the greatest number counts. */
enum tools_time {
	TOOLS_UNKNOWN = 0,
	TOOLS_HOST_TO_HOST = 70,
	TOOLS_HOST_TO_DEVICE = 80,
	TOOLS_COLLECTIVES = 100,
	TOOLS_DEVICE_TO_DEVICE = 120,
	TOOLS_DEVICE_TO_HOST = 130,
	TOOLS_COMPUTE_32 = 140,
	TOOLS_COMPUTE_16 = 150,
	TOOLS_TIMES = 151
};

struct tools_kernel {
	uint32_t name, operation; /* numbers of texts */
	uint32_t grid[3], block[3];
	uint64_t registers, static_shared, dynamic_shared; /* bytes */
	double occupancy;                                  /* percent; 0 = not known */
	uint64_t count, total_ns, min_ns, max_ns;
};

/* Sums over ranges with one text: of the host (the ranges themselves), or of a device. */
struct tools_operation {
	uint32_t operation; /* number of the text "name:domain" */
	uint32_t name;      /* name of the device event; 0 = the range itself */
	uint64_t count, total_ns, self_ns, min_ns;
};

struct tools_operations {
	struct map places; /* operation, name -> index + 1 */
	struct tools_operation *rows;
	uint32_t count, capacity;
};

/* Open ranges of a track. */
struct tools_open {
	struct tools_span {
		uint64_t end_ns;
		uint32_t row; /* row in the operations of the host */
	} * spans;
	uint32_t count, capacity;
};

struct tools_device {
	uint64_t first_ns, last_ns, busy_ns; /* `busy`: at least one event is active */
};

struct tools_transfer {
	uint64_t count, ns, bytes;
};

/* A step: from its first work on the device to its last work before another step. */
struct tools_step {
	uint32_t name;
	uint32_t outer;            /* index + 1 of the previous step of its thread */
	uint64_t start_ns, end_ns; /* times of the NVTX range */
	bool has_begun;
	uint64_t begin_ns, last_ns; /* times of the first and last work on the device */
	uint64_t device_ns;         /* duration on the device */
	uint64_t times_ns[TOOLS_TIMES / 10 + 1]; /* indexed by kind / 10 */
	struct tools_transfer transfers[3];      /* host to device, device to host, device to
						  * device */
};

/* Active work on devices, from which the times of steps are computed. */
struct tools_sweep {
	struct tools_work {
		uint64_t end_ns;
		uint32_t time;
	} * work;
	uint32_t count, capacity;
	uint64_t now_ns;
	uint32_t step; /* index + 1 of the current step */
};

struct tools_allocation {
	uint32_t snapshot; /* index of its snapshot */
	uint64_t freed_ns; /* UINT64_MAX = not freed */
};

struct tools_snapshot {
	uint64_t ns, address, bytes;
	int64_t in_use, peak;
	bool is_new;
};

/* Memory of one kind, on one device, of one process: an allocator in XProf's terms. */
struct tools_allocator {
	const struct track *track;
	int64_t peak;
	uint64_t peak_ns;
	struct map live; /* address -> index + 1 */
	struct tools_allocation *allocations;
	uint32_t count, capacity;
	struct tools_snapshot *snapshots;
	uint32_t snapshot_count, snapshot_capacity;
};

struct tools {
	struct xplane x; /* texts, and the ranges that were open during calls */
	FILE *trace;
	struct map kernel_places; /* name and operation, details -> index + 1 */
	struct tools_kernel *kernels;
	uint32_t kernel_count, kernel_capacity;
	struct tools_operations host, device;
	struct tools_open *open; /* indexed by number of the track - 1 */
	uint32_t open_room;
	struct tools_device devices[NCU_DEVICES_MAX];
	uint32_t devices_used; /* greatest number + 1 */
	struct tools_step *steps;
	uint32_t step_count, step_capacity;
	struct map last_steps;          /* process, thread -> index + 1 */
	struct xplane_call *step_calls; /* recent calls; their `range` is the index + 1 of a step */
	struct tools_sweep sweep;
	struct map allocators; /* number of the track -> index + 1 */
	struct tools_allocator *memory;
	uint32_t memory_count, memory_capacity;
	struct proto message; /* current event */
};

/* Convert a time to picoseconds since the start of the session. */
static inline uint64_t tools_ps(const struct tools *t, uint64_t ns)
{
	return (ns - t->x.origin_ns) * TOOLS_PS_PER_NS;
}

/* Return the text with a number. */
static inline const char *tools_text(const struct tools *t, uint32_t number)
{
	return t->x.by_number[number - 1];
}

/* Add a range that is a step; a call, which may be inside a step; or device work, with the number
 * of its name. Return 0 or -ENOMEM. */
int tools_step_add(struct tools *t, const struct timeline_item *i);
int tools_step_call(struct tools *t, const struct timeline_item *i);
int tools_step_work(struct tools *t, const struct timeline_item *i, uint32_t name);
void tools_steps_end(struct tools *t);
void tools_steps_release(struct tools *t);

/* Add an allocation or a release of memory. Returns 0 or -ENOMEM. */
int tools_memory_add(struct tools *t, const struct timeline_item *i);
void tools_memory_put(struct tools *t, struct proto *p);
void tools_memory_release(struct tools *t);

/* Write the fields of a message. */
void tools_kernels_put(const struct tools *t, struct proto *p);
void tools_steps_put(const struct tools *t, struct proto *p);
void tools_host_put(const struct tools *t, struct proto *p);
void tools_device_put(const struct tools *t, struct proto *p);
void tools_op_stats_put(const struct tools *t, struct proto *p);

/* Write an event of the Trace message; write its devices, after the last event. Return 0 or a
 * negative errno. */
int tools_event_write(struct tools *t, const struct timeline_item *i, uint32_t text);
int tools_tracks_write(struct tools *t);

#endif
