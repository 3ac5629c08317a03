/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workloads.h - the times of a device in which it ran what the program submitted to a queue of
 * Vulkan (LIBTRACE_VULKAN_GPU_WORKLOAD=batch).
 *
 * A command buffer of ours that writes a timestamp goes in front of the first command buffer of a
 * call, and one behind its last. Their results are read when the program submits or waits, and
 * never waited for. A call that cannot be extended passes as it is, and is counted. Calling thread;
 * the program holds a queue while it submits to it.
 */
#ifndef TRACER_GRAPHICS_WORKLOADS_H
#define TRACER_GRAPHICS_WORKLOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/core/call_hooks.h"

/* Look up, beside vkCreateInstance() and vkCreateDevice(), what else is called of the loader. Takes
 * the loader's lock. */
void workloads_instance_found(uint64_t real);
void workloads_device_found(uint64_t real);

/* Note what the program creates: before and after the calls. */
void workloads_note_instance(const struct hooked_call *call);
void workloads_instance_created(const struct hooked_call *call);
void workloads_note_device(const struct hooked_call *call);
void workloads_device_created(const struct hooked_call *call);
void workloads_note_queue(const struct hooked_call *call, bool by_info);
void workloads_queue_got(const struct hooked_call *call);

/* Extend what the call submits, `function` being a constant; and what follows the call. */
void workloads_submit(struct hooked_call *call, const char *function, bool is_new);
void workloads_submitted(const struct hooked_call *call);

/* Before and after a call that waits for a queue or a device: record what has ended. */
void workloads_note_wait(const struct hooked_call *call);
void workloads_waited(const struct hooked_call *call);

/* Destroy what is ours of a device that the program is about to destroy. */
void workloads_device_end(uint64_t device);

#endif
