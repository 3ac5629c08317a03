/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipelines.h - what a driver says about the creation of pipelines of Vulkan
 * (VkPipelineCreationFeedback).
 *
 * The program's structures are copied, and the copies are extended by one that the driver fills in,
 * where the device may be asked: it has Vulkan 1.3 and the program asked for that, or the program
 * enabled the extension. Calling thread; two system calls for each call that creates pipelines.
 */
#ifndef TRACER_GRAPHICS_PIPELINES_H
#define TRACER_GRAPHICS_PIPELINES_H

#include <stdint.h>

#include "tracer/core/call_hooks.h"

/* Look up, beside vkCreateDevice(), what tells the version of a device. Takes the loader's lock. */
void pipelines_device_found(uint64_t real);

/* Note what the program may use: an instance, or a device, is created; a device was created. */
void pipelines_note_instance(const struct hooked_call *call);
void pipelines_note_device(const struct hooked_call *call);
void pipelines_device_created(const struct hooked_call *call);

/* Ask the driver in a call of vkCreate*Pipelines(). `info_bytes`: size of the structure of one
 * pipeline. */
void pipelines_ask(struct hooked_call *call, uint32_t info_bytes);

/* Record the pipelines of the call, which has returned. */
void pipelines_record(const struct hooked_call *call);

#endif
