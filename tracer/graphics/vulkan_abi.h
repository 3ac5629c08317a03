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

_Static_assert(sizeof(struct vulkan_label) == 40 && sizeof(struct vulkan_application) == 48 &&
		sizeof(struct vulkan_feedback_info) == 40 && sizeof(struct vulkan_feedback) == 16,
	"as compilers of C lay them out");

#endif
