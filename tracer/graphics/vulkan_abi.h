/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vulkan_abi.h - the structures of Vulkan that the hooks read or extend, on a 64-bit machine (the
 * Vulkan specification, 1.3, published by the Khronos Group).
 */
#ifndef TRACER_GRAPHICS_VULKAN_ABI_H
#define TRACER_GRAPHICS_VULKAN_ABI_H

#include <stdint.h>

#define VULKAN_1_3 0x403000u
#define VULKAN_PROPERTIES_BYTES 824u /* VkPhysicalDeviceProperties; the first word is apiVersion */
#define VULKAN_PERIOD_AT 720u        /* of limits.timestampPeriod in it */

/* How every structure begins that may be extended by a chain of others. */
struct vulkan_link {
	uint32_t type;
	const struct vulkan_link *next;
};

/* VkDebugUtilsLabelEXT, VkDebugMarkerMarkerInfoEXT */
struct vulkan_label {
	struct vulkan_link link;
	const char *text;
	float color[4]; /* red, green, blue, alpha */
};

/* VkApplicationInfo */
struct vulkan_application {
	struct vulkan_link link;
	const char *name;
	uint32_t version;
	const char *engine;
	uint32_t engine_version;
	uint32_t api_version;
};

/* The first members of VkInstanceCreateInfo. */
struct vulkan_instance_info {
	struct vulkan_link link;
	uint32_t flags;
	const struct vulkan_application *application;
};

/* The first members of VkDeviceCreateInfo. */
struct vulkan_device_info {
	struct vulkan_link link;
	uint32_t flags, queue_count;
	const void *queues;
	uint32_t layer_count;
	const char *const *layers;
	uint32_t extension_count;
	const char *const *extensions;
};

/* The first members of VkGraphicsPipelineCreateInfo; VkComputePipelineCreateInfo has no count. */
struct vulkan_pipeline_info {
	struct vulkan_link link;
	uint32_t flags, stage_count;
};
#define VULKAN_GRAPHICS_INFO_BYTES 144u
#define VULKAN_COMPUTE_INFO_BYTES 96u

/* VkPipelineCreationFeedback */
struct vulkan_feedback {
	uint32_t flags;
	uint64_t ns;
};

/* VkPipelineCreationFeedbackCreateInfo */
#define VULKAN_FEEDBACK_TYPE 1000192000u
struct vulkan_feedback_info {
	struct vulkan_link link;
	struct vulkan_feedback *whole;
	uint32_t stage_count;
	struct vulkan_feedback *stages;
};

/* VkDeviceQueueInfo2 */
struct vulkan_queue_info {
	struct vulkan_link link;
	uint32_t flags, family, index;
};

/* VkQueueFamilyProperties */
struct vulkan_family {
	uint32_t flags, count, timestamp_bits, granularity[3];
};
#define VULKAN_QUEUE_WORK 3u /* VK_QUEUE_GRAPHICS_BIT, VK_QUEUE_COMPUTE_BIT */

/* VkSubmitInfo */
struct vulkan_submit {
	struct vulkan_link link;
	uint32_t wait_count;
	const void *waits, *stages;
	uint32_t buffer_count;
	const uint64_t *buffers;
	uint32_t signal_count;
	const void *signals;
};

/* VkCommandBufferSubmitInfo */
#define VULKAN_BUFFER_TYPE 1000314006u
struct vulkan_buffer {
	struct vulkan_link link;
	uint64_t buffer;
	uint32_t device_mask;
};

/* VkSubmitInfo2 */
struct vulkan_submit2 {
	struct vulkan_link link;
	uint32_t flags, wait_count;
	const void *waits;
	uint32_t buffer_count;
	const struct vulkan_buffer *buffers;
	uint32_t signal_count;
	const void *signals;
};

/* VkCommandPoolCreateInfo */
struct vulkan_pool_info {
	struct vulkan_link link;
	uint32_t flags, family;
};

/* VkCommandBufferAllocateInfo */
struct vulkan_allocate_info {
	struct vulkan_link link;
	uint64_t pool;
	uint32_t level, count;
};

/* VkCommandBufferBeginInfo */
struct vulkan_begin_info {
	struct vulkan_link link;
	uint32_t flags;
	const void *inheritance;
};

/* VkQueryPoolCreateInfo */
struct vulkan_query_info {
	struct vulkan_link link;
	uint32_t flags, type, count, statistics;
};

/* VkEventCreateInfo */
struct vulkan_event_info {
	struct vulkan_link link;
	uint32_t flags;
};

/* VkCalibratedTimestampInfoEXT */
struct vulkan_clock_info {
	struct vulkan_link link;
	uint32_t domain;
};

_Static_assert(sizeof(struct vulkan_submit) == 72 && sizeof(struct vulkan_submit2) == 64 &&
		sizeof(struct vulkan_buffer) == 32 && sizeof(struct vulkan_family) == 24,
	"as compilers of C lay them out");
_Static_assert(sizeof(struct vulkan_label) == 40 && sizeof(struct vulkan_application) == 48 &&
		sizeof(struct vulkan_feedback_info) == 40 && sizeof(struct vulkan_feedback) == 16,
	"as compilers of C lay them out");

#endif
