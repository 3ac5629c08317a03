/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools_writing.h - what the parts of the writer of XProf's messages share. Not for others.
 *
 * One thread.
 */
#ifndef READER_EXPORT_XPLANE_TOOLS_WRITING_H
#define READER_EXPORT_XPLANE_TOOLS_WRITING_H

#include "reader/export/xplane/tools.h"
#include "reader/export/xplane/details.h"
#include "reader/export/xplane/state.h"
#include "reader/export/xplane/stats.h"
#include "reader/export/xplane/texts.h"

#define TOOLS_PS_PER_NS 1000u
#define TOOLS_SNAPSHOTS_MAX 1000u /* of memory in use, as XProf draws them */

/* What XProf calls kinds of time of a step; a greater number wins where two are at once. */
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

/* What was done in ranges of a text: by the host (the range itself), or a device. */
struct tools_operation {
	uint32_t operation; /* number of the text "name:domain" */
	uint32_t name;      /* of the device's event; 0 = of the host */
	uint64_t count, total_ns, self_ns, min_ns;
};

struct tools_operations {
	struct map places; /* operation, name -> place + 1 */
	struct tools_operation *rows;
	uint32_t count, capacity;
};

/* Ranges of a lane that are open. */
struct tools_open {
	struct tools_span {
		uint64_t end_ns;
		uint32_t row; /* of the host's operations */
	} * spans;
	uint32_t count, capacity;
};

struct tools_device {
	uint64_t first_ns, last_ns, busy_ns; /* busy: with anything at all */
};

struct tools_transfer {
	uint64_t count, ns, bytes;
};

/* A step: from the first thing that the device did for it to the last before another step. */
struct tools_step {
	uint32_t name;
	uint32_t outer;            /* place + 1 of the step before it on its thread */
	uint64_t start_ns, end_ns; /* of the range */
	bool has_begun;
	uint64_t begin_ns, last_ns;              /* on the device */
	uint64_t device_ns;                      /* until it ended there */
	uint64_t times_ns[TOOLS_TIMES / 10 + 1]; /* by kind / 10 */
	struct tools_transfer transfers[3];      /* to a device, from one, between them */
};

/* Work that is under way on devices, for steps. */
struct tools_sweep {
	struct tools_work {
		uint64_t end_ns;
		uint32_t time;
	} * work;
	uint32_t count, capacity;
	uint64_t now_ns;
	uint32_t step; /* place + 1 of the one at hand */
};

struct tools_allocation {
	uint32_t snapshot; /* place of its own */
	uint64_t freed_ns; /* UINT64_MAX: not seen */
};

struct tools_snapshot {
	uint64_t ns, address, bytes;
	int64_t in_use, peak;
	bool is_new;
};

/* Memory of a kind on a device, of a process: what XProf calls an allocator. */
struct tools_allocator {
	const struct lane *lane;
	int64_t peak;
	uint64_t peak_ns;
	struct map live; /* address -> place + 1 */
	struct tools_allocation *allocations;
	uint32_t count, capacity;
	struct tools_snapshot *snapshots;
	uint32_t snapshot_count, snapshot_capacity;
};

struct tools {
	struct xplane x; /* texts, and the ranges that calls were made in */
	FILE *trace;
	struct map kernel_places; /* name and operation, details -> place + 1 */
	struct tools_kernel *kernels;
	uint32_t kernel_count, kernel_capacity;
	struct tools_operations host, device;
	struct tools_open *open; /* by number of the lane - 1 */
	uint32_t open_room;
	struct tools_device devices[NCU_DEVICES_MAX];
	uint32_t devices_used; /* the greatest number + 1 */
	struct tools_step *steps;
	uint32_t step_count, step_capacity;
	struct map last_steps;          /* process, thread -> place + 1 */
	struct xplane_call *step_calls; /* the last ones; their range is the place + 1 of a step */
	struct tools_sweep sweep;
	struct map allocators; /* number of the lane -> place + 1 */
	struct tools_allocator *memory;
	uint32_t memory_count, memory_capacity;
	struct proto message; /* the event at hand */
};

/* Nanoseconds since the session began, as picoseconds. */
static inline uint64_t tools_ps(const struct tools *t, uint64_t ns)
{
	return (ns - t->x.origin_ns) * TOOLS_PS_PER_NS;
}

/* The text of a number. */
static inline const char *tools_text(const struct tools *t, uint32_t number)
{
	return t->x.by_number[number - 1];
}

/* A range that is a step; a call, which may lie in one; what a device did, by its name. 0 or
 * -ENOMEM. */
int tools_step_add(struct tools *t, const struct timeline_item *i);
int tools_step_call(struct tools *t, const struct timeline_item *i);
int tools_step_work(struct tools *t, const struct timeline_item *i, uint32_t name);
void tools_steps_end(struct tools *t);
void tools_steps_release(struct tools *t);

/* Memory that was allocated or freed. 0 or -ENOMEM. */
int tools_memory_add(struct tools *t, const struct timeline_item *i);
void tools_memory_put(struct tools *t, struct proto *p);
void tools_memory_release(struct tools *t);

/* The fields of a message. */
void tools_kernels_put(const struct tools *t, struct proto *p);
void tools_steps_put(const struct tools *t, struct proto *p);
void tools_host_put(const struct tools *t, struct proto *p);
void tools_device_put(const struct tools *t, struct proto *p);
void tools_op_stats_put(const struct tools *t, struct proto *p);

/* An event of Trace, and its devices behind the last one. 0 or a negative errno. */
int tools_event_write(struct tools *t, const struct timeline_item *i, uint32_t text);
int tools_lanes_write(struct tools *t);

#endif
