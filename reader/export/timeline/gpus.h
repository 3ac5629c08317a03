/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus.h - numbers of GPUs that are the same in all processes of a report.
 *
 * CUDA numbers the devices of each process anew: with CUDA_VISIBLE_DEVICES two processes may call
 * different GPUs device 0. A GPU is told by its UUID. Its number is that of NVML, if it was
 * sampled; else that of the first process that had it, or the next free one. A device without a
 * UUID keeps its number. One thread; allocates.
 */
#ifndef READER_EXPORT_TIMELINE_GPUS_H
#define READER_EXPORT_TIMELINE_GPUS_H

#include <stdint.h>

#include "reader/base/map.h"
#include "reader/export/ncu/ncu.h"

#define GPUS_SAMPLED_MAX 256u

struct gpus {
	struct gpu_sampled {
		uint32_t uuid, number; /* Strings id, and NVML's number */
	} sampled[GPUS_SAMPLED_MAX];
	uint32_t sampled_count;
	uint32_t numbers[NCU_DEVICES_MAX]; /* of the rows of the devices */
	struct map by_device;              /* process, device -> number + 1 */
};

/* Collect the GPUs that were sampled from a batch of any kind, in the first pass; a damaged batch
 * is ignored. Returns 0 or -ENOMEM. */
int gpus_collect(struct gpus *g, const struct event_batch *batch);

/* Number the devices, after the first pass. Returns 0 or -ENOMEM. */
int gpus_number(
	struct gpus *g, const struct ncu_devices *devices, const struct string_table *strings);

/* Return the number of a process's device; the device's own if it is not known. */
uint32_t gpus_find(const struct gpus *g, uint32_t process, uint32_t device);

/* Return the columns of the first device with this number, or NULL. */
const uint64_t *gpus_columns(
	const struct gpus *g, const struct ncu_devices *devices, uint32_t number);

void gpus_release(struct gpus *g);

#endif
