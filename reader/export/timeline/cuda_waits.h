/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_waits.h - what a wait for a device is for: the device of a context, and the record of the
 * CUDA event that a call or a stream waits for.
 *
 * All zero is empty. cuda_waits_take() for each batch; then the others; cuda_waits_release().
 * Memory grows with the contexts and records of events. One thread; allocates.
 */
#ifndef READER_EXPORT_TIMELINE_CUDA_WAITS_H
#define READER_EXPORT_TIMELINE_CUDA_WAITS_H

#include <stdint.h>

#include "reader/base/map.h"
#include "reader/file/batch.h"

/* A record of an event in a stream. */
struct cuda_record {
	uint32_t process, event, correlation, stream;
};

struct cuda_waits {
	struct map devices; /* process, context -> 1 + number of the device */
	struct cuda_record *records;
	uint32_t count, capacity;
	bool is_sorted;
};

/* Take contexts and records of events from a batch; others, and damaged ones, are ignored. Returns
 * 0 or -ENOMEM. */
int cuda_waits_take(struct cuda_waits *w, const struct event_batch *b);
void cuda_waits_release(struct cuda_waits *w);

/* Return the number of the device of a context; 0 if that is not known. */
uint32_t cuda_waits_device(const struct cuda_waits *w, uint32_t process, uint32_t context);

/* Find the last record of an event that was made before the call with this correlation id: CUPTI
 * counts calls of a process. NULL = none is known. */
const struct cuda_record *cuda_waits_record(
	struct cuda_waits *w, uint32_t process, uint32_t event, uint32_t correlation);

#endif
