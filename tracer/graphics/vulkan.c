/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vulkan.c - debug labels, pipelines and workloads of Vulkan.
 */
#include "common/schema/libraries.h"
#include "common/text.h"
#include "tracer/core/call_hooks.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/state.h"
#include "tracer/graphics/hooks.h"
#include "tracer/graphics/labels.h"
#include "tracer/graphics/pipelines.h"
#include "tracer/graphics/vulkan_abi.h"
#include "tracer/graphics/workloads.h"

enum vulkan_hook {
	NONE = 0,
	INSTANCE_CREATE,
	DEVICE_CREATE,
	GRAPHICS_PIPELINES,
	COMPUTE_PIPELINES,
	LABEL_BEGIN,
	LABEL_END,
	LABEL_MARK,
	/* With workloads only: */
	WORKLOADS,
	QUEUE = WORKLOADS,
	QUEUE_BY_INFO,
	SUBMIT,
	SUBMIT_2,
	QUEUE_WAIT,
	DEVICE_WAIT,
	DEVICE_DESTROY
};

static const struct {
	const char *name;
	uint32_t hook;
} hooked[] = {{"vkCreateInstance", INSTANCE_CREATE}, {"vkCreateDevice", DEVICE_CREATE},
	{"vkCreateGraphicsPipelines", GRAPHICS_PIPELINES},
	{"vkCreateComputePipelines", COMPUTE_PIPELINES},
	{"vkCmdBeginDebugUtilsLabelEXT", LABEL_BEGIN}, {"vkCmdEndDebugUtilsLabelEXT", LABEL_END},
	{"vkCmdInsertDebugUtilsLabelEXT", LABEL_MARK},
	{"vkQueueBeginDebugUtilsLabelEXT", LABEL_BEGIN},
	{"vkQueueEndDebugUtilsLabelEXT", LABEL_END},
	{"vkQueueInsertDebugUtilsLabelEXT", LABEL_MARK}, {"vkCmdDebugMarkerBeginEXT", LABEL_BEGIN},
	{"vkCmdDebugMarkerEndEXT", LABEL_END}, {"vkCmdDebugMarkerInsertEXT", LABEL_MARK},
	{"vkGetDeviceQueue", QUEUE}, {"vkGetDeviceQueue2", QUEUE_BY_INFO},
	{"vkQueueSubmit", SUBMIT}, {"vkQueueSubmit2", SUBMIT_2}, {"vkQueueSubmit2KHR", SUBMIT_2},
	{"vkQueueWaitIdle", QUEUE_WAIT}, {"vkDeviceWaitIdle", DEVICE_WAIT},
	{"vkWaitForFences", DEVICE_WAIT}, {"vkWaitSemaphores", DEVICE_WAIT},
	{"vkWaitSemaphoresKHR", DEVICE_WAIT}, {"vkDestroyDevice", DEVICE_DESTROY}};
#define HOOKED (sizeof(hooked) / sizeof(hooked[0]))

/* A hook is 1 + the index of its row. */
static uint32_t hook_find(const char *name)
{
	for (uint32_t i = 0; i < HOOKED; i++)
		if (text_equal(name, hooked[i].name))
			return hooked[i].hook >= WORKLOADS && !session.config.vulkan_workload
				? 0
				: i + 1;
	return 0;
}

/* ---- labels ---- */

static uint32_t color_byte(float part)
{
	return part <= 0 ? 0 : part >= 1 ? 255 : (uint32_t)(part * 255 + 0.5F);
}

/* Return the color as alpha, red, green, blue; 0 = the program gave none. */
static uint32_t color_of(const float color[4])
{
	return color_byte(color[3]) << 24 | color_byte(color[0]) << 16 | color_byte(color[1]) << 8 |
		color_byte(color[2]);
}

static struct graphics_label label_of(const struct hooked_call *call, const char *function)
{
	const struct vulkan_label *given = (const void *)(uintptr_t)call->words[1];
	return (struct graphics_label){.function = function,
		.text = given ? given->text : NULL,
		.text_bytes = -1,
		.form = VULKAN_RANGE,
		.object = call->words[0],
		.color = given ? color_of(given->color) : 0};
}

/* ---- hooks ---- */

static void found(uint32_t hook, uint64_t real)
{
	if (hooked[hook - 1].hook == INSTANCE_CREATE && session.config.vulkan_workload)
		workloads_instance_found(real);
	if (hooked[hook - 1].hook != DEVICE_CREATE)
		return;
	pipelines_device_found(real);
	if (session.config.vulkan_workload)
		workloads_device_found(real);
}

static void before(uint32_t hook, struct hooked_call *call)
{
	const uint64_t tick = call->is_recorded ? call->begin_tick : 0;
	struct graphics_label label;
	switch (hooked[hook - 1].hook) {
	case INSTANCE_CREATE:
		pipelines_note_instance(call);
		workloads_note_instance(call);
		break;
	case DEVICE_CREATE:
		pipelines_note_device(call);
		workloads_note_device(call);
		break;
	case QUEUE:
		workloads_note_queue(call, false);
		break;
	case QUEUE_BY_INFO:
		workloads_note_queue(call, true);
		break;
	case SUBMIT:
	case SUBMIT_2:
		workloads_submit(call, hooked[hook - 1].name, hooked[hook - 1].hook == SUBMIT_2);
		break;
	case QUEUE_WAIT:
	case DEVICE_WAIT:
		workloads_note_wait(call);
		break;
	case DEVICE_DESTROY:
		workloads_device_end(call->words[0]);
		break;
	case GRAPHICS_PIPELINES:
		pipelines_ask(call, VULKAN_GRAPHICS_INFO_BYTES);
		break;
	case COMPUTE_PIPELINES:
		pipelines_ask(call, VULKAN_COMPUTE_INFO_BYTES);
		break;
	case LABEL_BEGIN:
		label = label_of(call, hooked[hook - 1].name);
		label_begin(&label, tick);
		break;
	case LABEL_MARK:
		label = label_of(call, hooked[hook - 1].name);
		label.form = VULKAN_MARK;
		label_mark(&label, tick);
		break;
	default:
		label_end(VULKAN_RANGE, call->words[0], tick);
		break;
	}
}

static void after(uint32_t hook, struct hooked_call *call)
{
	switch (hooked[hook - 1].hook) {
	case GRAPHICS_PIPELINES:
	case COMPUTE_PIPELINES:
		pipelines_record(call);
		break;
	case INSTANCE_CREATE:
		workloads_instance_created(call);
		break;
	case DEVICE_CREATE:
		pipelines_device_created(call);
		workloads_device_created(call);
		break;
	case QUEUE:
	case QUEUE_BY_INFO:
		workloads_queue_got(call);
		break;
	case SUBMIT:
	case SUBMIT_2:
		workloads_submitted(call);
		break;
	case QUEUE_WAIT:
	case DEVICE_WAIT:
		workloads_waited(call);
		break;
	default:
		break;
	}
}

void vulkan_start(void)
{
	static const struct call_hooks hooks = {.row = LIBRARY_vulkan,
		.find = hook_find,
		.found = found,
		.before = before,
		.after = after,
		.is_plain = true};
	if (!session.config.vulkan)
		return;
	if (labels_start())
		call_hooks[CALL_HOOKS_VULKAN] = &hooks;
	else
		diagnostic_line("no memory for debug labels of Vulkan; only its calls are "
				"recorded");
}
