/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_gpu.h - work, devices and memory of GPUs as Perfetto's typed events: gpu_info,
 * gpu_render_stage_event, gpu_counter_event and GpuCorrelation.
 *
 * An event's id joins it with the slice of the call that submitted it. One thread; the buffer of
 * the encoder allocates.
 */
#ifndef READER_EXPORT_TIMELINE_PERFETTO_GPU_H
#define READER_EXPORT_TIMELINE_PERFETTO_GPU_H

#include "reader/export/proto.h"
#include "reader/export/timeline/timeline.h"

/* Write the devices of the timeline, and the names of the kinds of work. */
void perfetto_gpu_start(struct proto *p, struct timeline *t);

/* Describe a stream as a hardware queue, or a counter of memory, before its first event. */
void perfetto_gpu_describe(struct proto *p, struct timeline *t, const struct timeline_item *i);

/* Write work on a stream. */
void perfetto_gpu_stage(struct proto *p, struct timeline *t, const struct timeline_item *i);

/* Write a value of a counter of memory. */
void perfetto_gpu_counter(struct proto *p, const struct timeline_item *i);

/* Return the id by which a call and its work are joined; 0 = none. */
uint64_t perfetto_gpu_event_id(const struct timeline_item *i);

/* Write into the slice of a call that it submitted the work with its id. */
void perfetto_gpu_correlation(struct proto *p, const struct timeline_item *i);

#endif
