/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus.h - the one number of each GPU in timelines, databases and tables.
 *
 * CUDA numbers the devices of each process anew: with CUDA_VISIBLE_DEVICES two processes may call
 * different GPUs device 0, and one GPU by different numbers. The rule (docs/reading.md):
 *
 * 1. A GPU is identified by its UUID. Devices without a UUID are one GPU if they have the same
 *    number and are of the same report.
 * 2. It asks for the number by which NVML sampled it; otherwise for the least number by which a
 *    process calls it.
 * 3. Of GPUs that ask for the same number, the first one gets it: a sampled one before others, then
 *    in the order of merged reports, then of UUIDs.
 * 4. The others get the numbers after the greatest of these, in the order of (3), in which the
 *    number asked for is before the UUID.
 *
 * So numbers do not depend on the order of processes, rows and blocks. In SQL a number is
 * TARGET_INFO_GPU.id, and reader/reports/shared/devices.sql finds it.
 *
 *   gpus_collect() in the first pass of a report; gpus_enter() after it; for further reports
 *   likewise; gpus_number(); gpus_release(). All zero = empty. One thread; allocates.
 */
#ifndef READER_EXPORT_GPUS_H
#define READER_EXPORT_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/base/map.h"
#include "reader/file/batch.h"
#include "reader/report/contents.h"

struct gpus {
	struct gpu {
		uint64_t report;  /* the first one that has it */
		uint64_t uuid[2]; /* 0: none */
		uint32_t wanted;  /* number that it asks for */
		uint32_t number;
		bool is_sampled;
	} * rows;
	uint32_t count, capacity;
	struct map by_uuid;   /* UUID -> index + 1 */
	struct map by_report; /* report, device without a UUID -> index + 1 */

	/* per-report state */
	struct gpu_mention {
		uint32_t process, device, uuid; /* `uuid`: Strings id */
		bool is_sampled;                /* `device` is NVML's number */
	} * mentions;
	uint32_t mention_count, mention_capacity;
	struct map by_device; /* process, device -> index + 1 */
};

/* Collect the GPUs of a batch of any kind; a damaged batch is ignored. Returns 0 or -ENOMEM. */
int gpus_collect(struct gpus *g, const struct event_batch *batch);

/* Enter the GPUs that were collected of a report, the first of which is 0. Returns 0 or -ENOMEM. */
int gpus_enter(struct gpus *g, uint32_t report, struct contents *contents);

/* Enter a GPU without a UUID that is not in events: *ret_index in g->rows. Returns 0 or -ENOMEM. */
int gpus_add(struct gpus *g, uint32_t report, uint32_t device, uint32_t *ret_index);

/* Number the GPUs. Returns 0 or -ENOMEM. */
int gpus_number(struct gpus *g);

/* Find the GPU that is a device of a process of the report that was entered last, by index in
 * g->rows. Returns false if it is not known. */
bool gpus_index(const struct gpus *g, uint32_t process, uint32_t device, uint32_t *ret_index);

/* Return the number of such a GPU; the device's own if it is not known. */
uint32_t gpus_find(const struct gpus *g, uint32_t process, uint32_t device);

/* Free everything and leave it empty. */
void gpus_release(struct gpus *g);

#endif
