#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Vulkan and OpenGL: calls of programs, also of functions that they look up, pipelines, debug labels and groups; databases with tables of DX12, ETW, SLI and WDDM, made from NVIDIA's schema."""
import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _made_database as made  # noqa: E402
from _documented_tables import filled, tables_of  # noqa: E402
from lib import Report, clean_env, folder, main, run, tap, trace  # noqa: E402

PLACE = folder()
MADE = os.path.join(PLACE, "made.sqlite")
SOURCE = """
#include <vulkan/vulkan.h>
#include <stdio.h>
int main(void)
{
	VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_0};
	VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
	VkInstance instance;
	VkPhysicalDevice physical;
	uint32_t count = 1;
	float one = 1;
	VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &one};
	VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues};
	VkFenceCreateInfo fences = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	VkDevice device;
	VkQueue queue;
	VkFence fence;
	if (vkCreateInstance(&info, 0, &instance) || vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || !count ||
		vkCreateDevice(physical, &create, 0, &device))
		return 77;
	vkGetDeviceQueue(device, 0, 0, &queue);
	if (vkCreateFence(device, &fences, 0, &fence))
		return 1;
	for (int i = 0; i < 5; i++)
		if (vkQueueSubmit(queue, 0, 0, fence) || vkWaitForFences(device, 1, &fence, 1, UINT64_MAX) || vkResetFences(device, 1, &fence))
			return 1;
	printf("done\\n");
	vkDestroyFence(device, fence, 0);
	vkDestroyDevice(device, 0);
	vkDestroyInstance(instance, 0);
	return 0;
}
"""

# Takes everything from the loader by name, as engines do: labels on a command buffer and a queue, pipelines with and without feedback of its own.
LOOKED_UP = """
#define _GNU_SOURCE
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>
#include <dlfcn.h>
#include <stdio.h>
#define I(name) PFN_##name name = (PFN_##name)vkGetInstanceProcAddr(instance, #name)
#define D(name) PFN_##name name = (PFN_##name)vkGetDeviceProcAddr(device, #name)
static const uint32_t code[] = {0x07230203, 0x10000, 0, 5, 0, 0x20011, 1, 0x3000e, 0, 1, 0x5000f, 5, 1, 0x6e69616d, 0, 0x60010, 1, 17, 1, 1, 1,
	0x20013, 2, 0x30021, 3, 2, 0x50036, 2, 1, 0, 3, 0x200f8, 4, 0x100fd, 0x10038};
int main(int argc, char **argv)
{
	void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
	PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = library ? (PFN_vkGetInstanceProcAddr)dlsym(library, "vkGetInstanceProcAddr") : 0;
	VkInstance instance = 0;
	if (!vkGetInstanceProcAddr)
		return 77;
	I(vkCreateInstance);
	VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = argc > 1 ? VK_API_VERSION_1_0 : VK_API_VERSION_1_3};
	const char *extensions[] = {"VK_EXT_debug_utils"};
	VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app, .enabledExtensionCount = 1,
		.ppEnabledExtensionNames = extensions};
	VkPhysicalDevice physical;
	uint32_t count = 1;
	float one = 1;
	VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &one};
	VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues};
	VkDevice device;
	if (vkCreateInstance(&info, 0, &instance))
		return 77;
	I(vkEnumeratePhysicalDevices); I(vkCreateDevice); I(vkGetDeviceProcAddr); I(vkDestroyInstance);
	if (vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || !count || vkCreateDevice(physical, &create, 0, &device))
		return 77;
	D(vkGetDeviceQueue); D(vkCreateShaderModule); D(vkCreatePipelineLayout); D(vkCreateComputePipelines); D(vkCreateCommandPool); D(vkAllocateCommandBuffers);
	D(vkBeginCommandBuffer); D(vkCmdBindPipeline); D(vkCmdDispatch); D(vkEndCommandBuffer); D(vkQueueSubmit); D(vkQueueWaitIdle); D(vkDestroyDevice);
	D(vkDestroyPipeline); D(vkDestroyShaderModule); D(vkDestroyPipelineLayout); D(vkDestroyCommandPool);
	D(vkCmdBeginDebugUtilsLabelEXT); D(vkCmdEndDebugUtilsLabelEXT); D(vkCmdInsertDebugUtilsLabelEXT); D(vkQueueBeginDebugUtilsLabelEXT);
	D(vkQueueEndDebugUtilsLabelEXT);
	if (vkGetDeviceProcAddr(device, "vkCmdDispatch") != (PFN_vkVoidFunction)vkCmdDispatch || vkGetDeviceProcAddr(device, "vkNone"))
		return 1;
	VkQueue queue;
	VkShaderModule module;
	VkPipelineLayout layout;
	VkPipeline pipelines[3];
	VkCommandPool pool;
	VkCommandBuffer buffer;
	VkShaderModuleCreateInfo modules = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof(code), .pCode = code};
	VkPipelineLayoutCreateInfo layouts = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
	vkGetDeviceQueue(device, 0, 0, &queue);
	if (vkCreateShaderModule(device, &modules, 0, &module) || vkCreatePipelineLayout(device, &layouts, 0, &layout))
		return 1;
	VkPipelineCreationFeedback whole = {0}, stage = {0};
	VkPipelineCreationFeedbackCreateInfo feedback = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO, .pPipelineCreationFeedback = &whole,
		.pipelineStageCreationFeedbackCount = 1, .pPipelineStageCreationFeedbacks = &stage};
	VkComputePipelineCreateInfo infos[3];
	for (int i = 0; i < 3; i++)
		infos[i] = (VkComputePipelineCreateInfo){.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = layout,
			.stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = module, .pName = "main"}};
	infos[1].pNext = argc > 1 ? 0 : &feedback;
	if (vkCreateComputePipelines(device, 0, 2, infos, 0, pipelines) || vkCreateComputePipelines(device, 0, 1, infos + 2, 0, pipelines + 2))
		return 1;
	printf("feedback %d, unchanged %d\\n", whole.flags & 1, !infos[0].pNext && !infos[2].pNext);
	VkCommandPoolCreateInfo pools = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
	vkCreateCommandPool(device, &pools, 0, &pool);
	VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
	vkAllocateCommandBuffers(device, &buffers, &buffer);
	VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	VkDebugUtilsLabelEXT frame = {VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, 0, "frame", {1, 0.5, 0, 1}}, pass = {VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, 0, "pass"},
		here = {VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, 0, "here"};
	vkQueueBeginDebugUtilsLabelEXT(queue, &frame);
	vkBeginCommandBuffer(buffer, &begin);
	for (int i = 0; i < 2; i++) {
		vkCmdBeginDebugUtilsLabelEXT(buffer, &pass);
		vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[i]);
		vkCmdInsertDebugUtilsLabelEXT(buffer, &here);
		vkCmdDispatch(buffer, 1, 2, 3);
		vkCmdEndDebugUtilsLabelEXT(buffer);
	}
	vkEndCommandBuffer(buffer);
	VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &buffer};
	if (vkQueueSubmit(queue, 1, &submit, 0) || vkQueueWaitIdle(queue))
		return 1;
	vkQueueEndDebugUtilsLabelEXT(queue);
	for (int i = 0; i < 3; i++)
		vkDestroyPipeline(device, pipelines[i], 0);
	vkDestroyCommandPool(device, pool, 0);
	vkDestroyPipelineLayout(device, layout, 0);
	vkDestroyShaderModule(device, module, 0);
	vkDestroyDevice(device, 0);
	vkDestroyInstance(instance, 0);
	return 0;
}
"""


# Submissions of known work (fills of a buffer) by two threads to one queue, by vkQueueSubmit() and vkQueueSubmit2(), with timeline semaphores, an empty
# one, one that must be left alone, and with "flood" more than the tracer has room for. It prints what it can find out.
SUBMITS = """
#include <vulkan/vulkan.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#define WORDS (1 << 20)
static VkDevice device;
static VkQueue queue;
static VkBuffer buffer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int bad;
static VkCommandBuffer record(VkCommandPool pool, uint32_t part, uint32_t value)
{
	VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
	VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
	VkCommandBuffer commands;
	bad |= vkAllocateCommandBuffers(device, &info, &commands) || vkBeginCommandBuffer(commands, &begin);
	vkCmdFillBuffer(commands, buffer, part * WORDS * 4ull, WORDS * 4ull, value);
	bad |= vkEndCommandBuffer(commands);
	return commands;
}
static VkCommandPool pool_new(void)
{
	VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
	VkCommandPool pool;
	bad |= vkCreateCommandPool(device, &info, 0, &pool);
	return pool;
}
static void *work(void *argument)
{
	uint32_t part = argument ? 1 : 0;
	VkCommandPool pool = pool_new();
	VkFenceCreateInfo fences = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	VkFence fence;
	bad |= vkCreateFence(device, &fences, 0, &fence);
	for (uint32_t i = 0; i < 20; i++) {
		VkCommandBuffer commands[2] = {record(pool, part, i), record(pool, part, 100 + i)};
		VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1 + i % 2, .pCommandBuffers = commands};
		VkCommandBufferSubmitInfo infos[2] = {{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, .commandBuffer = commands[0]},
			{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, .commandBuffer = commands[1]}};
		VkSubmitInfo2 submit2[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2, .commandBufferInfoCount = 1, .pCommandBufferInfos = infos},
			{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2, .commandBufferInfoCount = 1, .pCommandBufferInfos = infos + 1}};
		pthread_mutex_lock(&lock);
		bad |= i < 10 ? vkQueueSubmit(queue, 1, &submit, fence) : vkQueueSubmit2(queue, 1 + i % 2, submit2, fence);
		pthread_mutex_unlock(&lock);
		bad |= submit.pCommandBuffers != commands || submit2[0].pCommandBufferInfos != infos || submit2[1].commandBufferInfoCount != 1;
		bad |= vkWaitForFences(device, 1, &fence, 1, UINT64_MAX) || vkResetFences(device, 1, &fence);
	}
	vkDestroyFence(device, fence, 0);
	vkDestroyCommandPool(device, pool, 0);
	return 0;
}
int main(int argc, char **argv)
{
	VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
	const char *labels = "VK_EXT_debug_utils", *clocks = "VK_EXT_calibrated_timestamps";
	VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app, .enabledExtensionCount = 1, .ppEnabledExtensionNames = &labels};
	VkInstance instance;
	VkPhysicalDevice physical;
	uint32_t count = 1;
	float one = 1;
	VkPhysicalDeviceVulkan13Features new = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .synchronization2 = 1};
	VkPhysicalDeviceVulkan12Features features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &new, .timelineSemaphore = 1};
	VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &one};
	VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues,
		.enabledExtensionCount = argc > 1 && !strcmp(argv[1], "calibrated"), .ppEnabledExtensionNames = &clocks};
	if (vkCreateInstance(&info, 0, &instance) || vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || !count ||
		vkCreateDevice(physical, &create, 0, &device))
		return 77;
	VkBufferCreateInfo buffers = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 3 * WORDS * 4ull, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
	VkMemoryAllocateInfo memories = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = 3 * WORDS * 4ull + (1 << 16)};
	VkDeviceMemory memory;
	uint32_t *data;
	vkGetDeviceQueue(device, 0, 0, &queue);
	vkGetDeviceQueue(device, 0, 0, &queue);
	if (vkCreateBuffer(device, &buffers, 0, &buffer) || vkAllocateMemory(device, &memories, 0, &memory) || vkBindBufferMemory(device, buffer, memory, 0) ||
		vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&data))
		return 1;
	PFN_vkQueueBeginDebugUtilsLabelEXT begin_label = (void *)vkGetInstanceProcAddr(instance, "vkQueueBeginDebugUtilsLabelEXT");
	PFN_vkQueueEndDebugUtilsLabelEXT end_label = (void *)vkGetInstanceProcAddr(instance, "vkQueueEndDebugUtilsLabelEXT");
	VkDebugUtilsLabelEXT label = {VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, 0, "three"};
	pthread_t other;
	bad |= pthread_create(&other, 0, work, &queue);
	work(0);
	pthread_join(other, 0);

	VkCommandPool pool = pool_new();
	VkCommandBuffer commands = record(pool, 2, 7);
	VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
	VkSemaphoreCreateInfo semaphores = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
	VkSemaphore semaphore;
	uint64_t value = 5, counter = 0;
	uint32_t mask = 1;
	bad |= vkCreateSemaphore(device, &semaphores, 0, &semaphore);
	VkTimelineSemaphoreSubmitInfo timeline = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &value};
	VkDeviceGroupSubmitInfo group = {.sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBufferDeviceMasks = &mask};
	VkSubmitInfo three[3] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO}, {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands},
		{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &timeline, .commandBufferCount = 1, .pCommandBuffers = &commands, .signalSemaphoreCount = 1,
			.pSignalSemaphores = &semaphore}};
	VkSubmitInfo alone = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &group, .commandBufferCount = 1, .pCommandBuffers = &commands};
	begin_label(queue, &label);
	bad |= vkQueueSubmit(queue, 3, three, 0);
	end_label(queue);
	VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &semaphore, .pValues = &value};
	bad |= vkWaitSemaphores(device, &wait, UINT64_MAX) || vkGetSemaphoreCounterValue(device, semaphore, &counter);
	bad |= vkQueueSubmit(queue, 1, &alone, 0) || vkQueueSubmit(queue, 1, three, 0) || vkQueueSubmit(queue, 0, 0, 0) || vkQueueWaitIdle(queue);
	if (argc > 1 && !strcmp(argv[1], "flood"))
		for (int i = 0; i < 600; i++)
			bad |= vkQueueSubmit(queue, 1, three + 1, 0);
	bad |= vkDeviceWaitIdle(device);
	for (uint32_t i = 0; i < WORDS; i++)
		bad |= data[i] != 119 || data[WORDS + i] != 119 || data[2 * WORDS + i] != 7;
	printf("bad %d, counter %d\\n", bad, (int)counter);
	vkDestroySemaphore(device, semaphore, 0);
	vkDestroyCommandPool(device, pool, 0);
	vkDestroyBuffer(device, buffer, 0);
	vkFreeMemory(device, memory, 0);
	vkDestroyDevice(device, 0);
	if (vkCreateDevice(physical, &create, 0, &device)) /* which may have the same handle, and so may its queue */
		return 1;
	vkGetDeviceQueue(device, 0, 0, &queue);
	pool = pool_new();
	VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	VkCommandBufferAllocateInfo one_more = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
	bad |= vkAllocateCommandBuffers(device, &one_more, &commands) || vkBeginCommandBuffer(commands, &begin) || vkEndCommandBuffer(commands) ||
		vkQueueSubmit(queue, 1, three + 1, 0) || vkDeviceWaitIdle(device);
	vkDestroyCommandPool(device, pool, 0);
	vkDestroyDevice(device, 0);
	vkDestroyInstance(instance, 0);
	printf("bad %d\\n", bad);
	return 0;
}
"""


# A stand-in for the loader and its driver: it says when each stage was created, as far as it was asked.
STAND_IN = """
#include <stdint.h>
struct feedback { uint32_t flags; uint64_t ns; };
struct chain { uint32_t type; struct chain *next; struct feedback *whole; uint32_t stages; struct feedback *stage; };
struct info { uint32_t type; struct chain *next; uint32_t flags, stages; char rest[120]; };
int vkCreateInstance(const void *info, const void *allocator, void **instance) { return 0; }
void vkGetPhysicalDeviceProperties(uintptr_t physical, uint32_t *properties) { *properties = physical == 3 ? 0x403000 : 0x402000; }
int vkCreateDevice(uintptr_t physical, const uintptr_t *info, const void *allocator, uintptr_t *device) { *device = info[0]; return 0; }
int vkCreateGraphicsPipelines(void *device, uint64_t cache, uint32_t count, const struct info *infos, const void *allocator, uint64_t *pipelines)
{
	for (uint32_t i = 0; i < count; i++)
		for (struct chain *c = infos[i].next; c; c = c->next)
			if (c->type == 1000192000) {
				*c->whole = (struct feedback){1 + 2 * i, 1000 + i};
				for (uint32_t n = 0; n < c->stages; n++)
					c->stage[n] = (struct feedback){n < 2, 100 + 10 * i + n};
			}
	return infos[0].flags ? -1 : 0;
}
"""
STAND_IN_USER = """
#include <stdint.h>
#include <stdio.h>
struct info { uint32_t type; void *next; uint32_t flags, stages; char rest[120]; };
struct application { uint32_t type; void *next; const char *name; uint32_t version; const char *engine; uint32_t engine_version, api; };
struct instance { uint32_t type; void *next; uint32_t flags; struct application *application; };
int vkCreateInstance(const void *, const void *, void **);
struct device { uint64_t handle; void *next; uint32_t flags, queues; void *queue; uint32_t layers; void *layer; uint32_t extensions; const char **names; };
int vkCreateDevice(uintptr_t, const struct device *, const void *, uintptr_t *);
int vkCreateGraphicsPipelines(uintptr_t, uint64_t, uint32_t, const struct info *, const void *, uint64_t *);
int main(void)
{
	struct application new = {.api = 0x403000};
	const char *feedback = "VK_EXT_pipeline_creation_feedback";
	uintptr_t device;
	const struct info infos[2] = {{.stages = 2}, {.stages = 3}}, many = {.stages = 9}, bad = {.flags = 1, .stages = 1};
	uint64_t pipelines[2];
	vkCreateInstance(&(struct instance){.application = &new}, 0, 0);
	vkCreateDevice(2, &(struct device){.handle = 10}, 0, &device);
	vkCreateGraphicsPipelines(device, 0, 1, infos, 0, pipelines);
	vkCreateDevice(3, &(struct device){.handle = 20}, 0, &device);
	vkCreateGraphicsPipelines(device, 0, 2, infos, 0, pipelines);
	vkCreateGraphicsPipelines(device, 0, 1, &many, 0, pipelines);
	printf("%d\\n", vkCreateGraphicsPipelines(device, 0, 1, &bad, 0, pipelines));
	vkCreateDevice(2, &(struct device){.handle = 20}, 0, &device);
	vkCreateGraphicsPipelines(device, 0, 1, &many, 0, pipelines);
	vkCreateDevice(2, &(struct device){.handle = 30, .extensions = 1, .names = &feedback}, 0, &device);
	vkCreateGraphicsPipelines(device, 0, 1, &many, 0, pipelines);
	vkCreateInstance(&(struct instance){0}, 0, 0);
	vkCreateDevice(3, &(struct device){.handle = 40}, 0, &device);
	vkCreateGraphicsPipelines(device, 0, 1, &many, 0, pipelines);
	return infos[0].next || infos[1].next;
}
"""
GROUPS = """
#define EGL_EGLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
int main(void)
{
	PFNEGLGETPLATFORMDISPLAYEXTPROC display_of = (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
	EGLDisplay display = display_of ? display_of(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, 0) : 0;
	EGLConfig config;
	EGLint count = 0;
	static const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
	if (!display || !eglInitialize(display, 0, 0) || !eglBindAPI(EGL_OPENGL_API) || !eglChooseConfig(display, wanted, &config, 1, &count) || !count)
		return 77;
	EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, 0);
	if (!context || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
		return 77;
	PFNGLPUSHDEBUGGROUPPROC push = (PFNGLPUSHDEBUGGROUPPROC)eglGetProcAddress("glPushDebugGroup");
	PFNGLPOPDEBUGGROUPPROC pop = (PFNGLPOPDEBUGGROUPPROC)eglGetProcAddress("glPopDebugGroup");
	PFNGLDEBUGMESSAGEINSERTPROC insert = (PFNGLDEBUGMESSAGEINSERTPROC)eglGetProcAddress("glDebugMessageInsert");
	void (*clear)(GLfloat, GLfloat, GLfloat, GLfloat) = (void (*)(GLfloat, GLfloat, GLfloat, GLfloat))eglGetProcAddress("glClearColor");
	void (*get)(GLenum, GLfloat *) = (void (*)(GLenum, GLfloat *))eglGetProcAddress("glGetFloatv");
	GLfloat color[4];
	push(GL_DEBUG_SOURCE_APPLICATION, 1, -1, "frame");
	for (int i = 0; i < 2; i++) {
		push(GL_DEBUG_SOURCE_THIRD_PARTY, 2 + i, 4, "passed over");
		clear(0.25F, 0.5F, 0.75F, 1);
		insert(GL_DEBUG_SOURCE_APPLICATION, GL_DEBUG_TYPE_MARKER, 9, GL_DEBUG_SEVERITY_LOW, -1, "here");
		pop();
	}
	pop();
	get(GL_COLOR_CLEAR_VALUE, color);
	printf("%g %g %g %g, error %d\\n", color[0], color[1], color[2], color[3], glGetError());
	return 0;
}
"""


def rows(report, path=MADE):
    said = trace("stats", "-r", report, "-f", "csv", path)
    if said.status:
        tap.ok(False, f"{report} runs", said)
    return list(csv.DictReader(io.StringIO(said.out.decode())))


def figures(report, name, path=MADE):
    return [(row["Total Time (ns)"], row.get("Instances") or row.get("Num Calls"), row["Max (ns)"], row[name]) for row in rows(report, path)]


def statistics():
    made.make_graphics(MADE)
    expected = {"dx12_pix_sum": [("390", "2", "290", "frame")], "vulkan_marker_sum": [("390", "2", "290", "frame")],
                "dx12_gpu_marker_sum": [("5000", "2", "4000", "shadows"), ("1000", "1", "1000", "lights")], "vulkan_gpu_marker_sum": [("300", "1", "300", "pass")],
                "opengl_khr_range_sum": [("400", "2", "400", "group")], "opengl_khr_gpu_range_sum": [("100", "1", "100", "on the GPU")]}
    for report, wanted in expected.items():
        found = figures(report, "Range")
        tap.ok(found == wanted, f"{report} computes what nsys does", found)
    found = figures("vulkan_api_sum", "Name")
    tap.ok(found == [("1000", "2", "500", "vkQueueSubmit"), ("250", "1", "250", "vkCreateFence")], "vulkan_api_sum: calls only, names without a version", found)
    found = [(row["Start (ns)"], row["Duration (ns)"], row["Name"], row["Pid"]) for row in rows("vulkan_api_trace")]
    tap.ok(len(found) == 4 and found[0] == ("2000", "500", "vkQueueSubmit", "1000"), "vulkan_api_trace has each event", found)
    found = [(float(row["Utilization (%)"]), row["Instances"], row["Name"], row["Q Name"], row["Context"], row["Node Ord"]) for row in rows("wddm_queue_sum")]
    tap.ok(found == [(50.0, "3", "3D", "dma", "1", "0"), (25.0, "1", "Paging", "queue", "3", "4"), (10.0, "1", "Copy", "dma", "2", "0")],
           "wddm_queue_sum: time in which a queue was not empty", found)
    found = {(row["Kind"], row["Name"]): row["Total Time (ns)"] for row in rows("graphics_sum")}
    wanted = {("ETW", "VSyncInterrupt"): "50", ("SLI", "SLI query"): "100", ("SLI", "SLI transfer A - BE"): "200", ("SLI", "SLI statistics"): "300",
              ("DX12", "ID3D12CommandQueue::ExecuteCommandLists"): "2000", ("OpenGL GPU", "glClear"): "300", ("WDDM", "dma packet"): "700"}
    tap.ok(wanted.items() <= found.items(), "graphics_sum has every kind of event", found)
    said = trace("stats", "-r", "graphics_sum,wddm_queue_sum", MADE)
    tap.ok(said.status == 0 and not said.err, "two reports that prepare the same views", said)


def timelines():
    said = trace("export", "-t", "chrome", "-o", "-", MADE)
    events = json.loads(said.out)["traceEvents"] if said.status == 0 else []
    names = {e.get("name") for e in events}
    wanted = {"ID3D12CommandQueue::ExecuteCommandLists", "Command list", "vkQueueSubmit", "glClear", "VSyncInterrupt", "SLI query", "dma packet", "queue packet"}
    tap.ok(said.status == 0 and wanted <= names, "timelines show them", (wanted - names, said.err))
    path = os.path.join(PLACE, "made.pftrace")
    said = trace("export", "-t", "perfetto", "-o", path, MADE)
    with open(path, "rb") as file:
        data = file.read()
    tap.ok(said.status == 0 and all(name.encode() in data for name in wanted), "also Perfetto's", said)
    page = os.path.join(PLACE, "made.html")
    said = trace("report", "--html", "-o", page, MADE)
    if said.status and b"npm" in said.err:
        tap.skip("the page", "built without node")
        return
    with open(page, encoding="utf-8") as file:
        text = file.read()
    tap.ok(said.status == 0 and all(name in text for name in wanted), "and the page", said)


def traced(command, source, table, name, statuses=(0,), steady=True, options=()):
    """Return the rows of a program's calls. `steady`: each run prints the same."""
    plain = run(command, env=clean_env())
    if plain.status not in statuses:
        tap.skip(os.path.basename(command[0]), f"it ends with status {plain.status} here")
        return []
    path = os.path.join(PLACE, name + ".rep")
    said = trace("run", "-t", source, *options, "-o", path, "--", *command, env=clean_env())
    tap.ok(said.status == plain.status and (said.out == plain.out or not steady) and Report(path).check().status == 0, f"{name} runs as without the tracer", (said, plain))
    database = os.path.join(PLACE, name + ".sqlite")
    trace("export", "-t", "sqlite", "-o", database, path)
    tables = filled(database) - {"OSRT_API"}  # waits for children are always recorded
    tap.ok(table in tables and tables <= tables_of(source), f"{name}: the tables with rows are those that the list of documented tables has for {source}", tables)
    with sqlite3.connect(database) as d:
        return d.execute(f'SELECT s.value, t.eventClass, t."end" >= t.start, t.globalTid IS NOT NULL FROM {table} AS t JOIN StringIds AS s ON s.id = t.nameId '
                         "ORDER BY t.start").fetchall()


def build(name, source, *libraries):
    """Return the path of the program, or None without headers."""
    path, program = os.path.join(PLACE, name + ".c"), os.path.join(PLACE, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    built = subprocess.run([os.environ.get("CC", "gcc"), "-o", program, path, *libraries], capture_output=True, check=False)
    return None if built.returncode else program


def vulkan():
    program = build("v", SOURCE, "-lvulkan")
    if not program:
        tap.skip("Vulkan", "no headers (libvulkan-dev)")
        return
    calls = traced([program], "vulkan", "VULKAN_API", "vulkan")
    if calls:
        names = [name for name, *_ in calls]
        rest = ["vkDestroyFence", "vkDestroyDevice", "vkDestroyInstance"]
        middle = [name for name in names if name in ("vkQueueSubmit", "vkWaitForFences", "vkResetFences")]
        tap.ok(names[0] == "vkCreateInstance" and names[-3:] == rest and len(middle) == 15 and {row[1:] for row in calls} == {(53, 1, 1)},
               "VULKAN_API has its calls, with thread", calls)
        found = {row["Name"]: row["Num Calls"] for row in rows("vulkan_api_sum", os.path.join(PLACE, "vulkan.sqlite"))}
        tap.ok(found.get("vkQueueSubmit") == "5", "vulkan_api_sum counts them", found)


def query(name, sql):
    with sqlite3.connect(os.path.join(PLACE, name + ".sqlite")) as d:
        return d.execute(sql).fetchall()


def looked_up():
    """A program that asks the loader for every function: calls, pipelines, debug labels."""
    program = build("looked_up", LOOKED_UP, "-ldl")
    if not program:
        tap.skip("functions that Vulkan's loader is asked for", "no headers (libvulkan-dev)")
        return
    calls = traced([program], "vulkan", "VULKAN_API", "looked_up")
    if not calls:
        return
    names = [name for name, *_ in calls]
    tap.ok(names[0] == "vkGetInstanceProcAddr" and names.count("vkCmdDispatch") == 2 and names[-1] == "vkDestroyInstance" and names.count("vkGetDeviceProcAddr") == 24 and
           Report(os.path.join(PLACE, "looked_up.rep")).receipts()[0]["functions"]["looked_up"] > 25, "functions that the loader is asked for are recorded", names)
    found = query("looked_up", "SELECT p.duration > 0, p.flags & 1, s.value FROM VULKAN_PIPELINE_CREATION_EVENTS AS p JOIN VULKAN_API AS a ON a.id = p.traceEventId "
                  "JOIN StringIds AS s ON s.id = a.nameId ORDER BY p.id")
    tap.ok(found == [(1, 1, "vkCreateComputePipelines")] * 3, "VULKAN_PIPELINE_CREATION_EVENTS has what the driver says of each pipeline", found)
    labels = figures("vulkan_marker_sum", "Range", os.path.join(PLACE, "looked_up.sqlite"))
    marks = query("looked_up", "SELECT count(*) FROM VULKAN_DEBUG_API AS d JOIN StringIds AS s ON s.id = d.textId WHERE s.value = 'here' AND d.eventClass = 66")
    color = query("looked_up", "SELECT DISTINCT color FROM VULKAN_DEBUG_API WHERE color IS NOT NULL")
    tap.ok({row[3]: row[1] for row in labels} == {"frame": "1", "pass": "2"} and marks == [(2,)] and color == [(0xFFFF8000,)],
           "VULKAN_DEBUG_API has the ranges and marks of VK_EXT_debug_utils", (labels, marks, color))
    events = json.loads(trace("export", "-t", "chrome", "-o", "-", os.path.join(PLACE, "looked_up.rep")).out)["traceEvents"]
    shown = [e["name"] for e in events if e.get("cat") == "graphics"]
    tap.ok(sorted(shown) == ["frame", "here", "here", "pass", "pass"], "timelines show them", shown)
    old = traced([program, "old"], "vulkan", "VULKAN_API", "old")
    flags = query("old", "SELECT p.flags, p.duration = a.\"end\" - a.start FROM VULKAN_PIPELINE_CREATION_EVENTS AS p JOIN VULKAN_API AS a ON a.id = p.traceEventId")
    tap.ok(old and flags == [(0, 1)] * 3, "a program of Vulkan 1.0: the driver is asked nothing, durations are those of the calls", flags)


def workloads():
    """VULKAN_WORKLOAD: a row for each submission that could be measured, within its call and the wait for its end."""
    program = build("submits", SUBMITS, "-lvulkan", "-pthread")
    if not program:
        tap.skip("workloads of Vulkan", "no headers (libvulkan-dev)")
        return
    batch = ("--vulkan-gpu-workload=batch",)
    for mode, submitted, measured in ((None, 43, 42), ("calibrated", 43, 42), ("flood", 643, None)):
        command, name = [program] + ([mode] if mode else []), "submits_" + (mode or "bounded")
        calls = traced(command, "vulkan", "VULKAN_API", name, options=batch)
        if not calls:
            return
        counts = Report(os.path.join(PLACE, name + ".rep")).receipts()[0]["functions"]
        rows_ = query(name, "SELECT eventClass, \"end\" >= start, globalTid IS NOT NULL FROM VULKAN_WORKLOAD")
        tap.ok(counts["vulkan_submitted"] == submitted and counts["vulkan_measured"] == len(rows_) == submitted - counts["vulkan_unmeasured"] and set(rows_) == {(93, 1, 1)} and
               (len(rows_) == measured if measured else len(rows_) < submitted), f"{name}: a row for each submission that is measured, the others are counted", (counts, len(rows_)))
        # A row starts at or after its call, and ends before the call that waited for it on the same thread; the clocks' difference is known to `clockErrorNs`.
        late = query(name, "SELECT w.start, w.\"end\", l.sinceCall, l.clockError FROM LIBTRACE_VULKAN_WORKLOAD AS l JOIN VULKAN_WORKLOAD AS w ON w.rowid = l.rowid "
                     "LEFT JOIN VULKAN_API AS a ON a.id = (SELECT c.id FROM VULKAN_API AS c JOIN StringIds AS s ON s.id = c.nameId WHERE s.value LIKE 'vkQueueSubmit%' "
                     "AND c.globalTid = w.globalTid AND c.start <= w.start - l.sinceCall + 1000 ORDER BY c.start DESC LIMIT 1) "
                     "WHERE a.id IS NULL OR w.start < a.start - 1000 - l.clockError OR w.\"end\" > 1000 + l.clockError + (SELECT min(f.\"end\") FROM VULKAN_API AS f "
                     "JOIN StringIds AS n ON n.id = f.nameId WHERE f.globalTid = w.globalTid AND f.start >= a.\"end\" "
                     "AND n.value IN ('vkWaitForFences', 'vkWaitSemaphores', 'vkQueueWaitIdle', 'vkDeviceWaitIdle'))")
        kinds = query(name, "SELECT DISTINCT calibrated FROM LIBTRACE_VULKAN_WORKLOAD")
        tap.ok(not late and kinds == [(int(mode == "calibrated"),)], f"{name}: they ran between their call and the end of the wait for them", (late, kinds))
    used = {row["Name"]: row["Instances"] for row in rows("graphics_sum", os.path.join(PLACE, "submits_bounded.sqlite")) if row["Kind"] == "Vulkan GPU"}
    labels = figures("vulkan_gpu_marker_sum", "Range", os.path.join(PLACE, "submits_bounded.sqlite"))
    tap.ok(used == {"vkQueueSubmit": "22", "vkQueueSubmit2": "20"} and [(row[1], row[3]) for row in labels] == [("1", "three")],
           "graphics_sum and vulkan_gpu_marker_sum have them", (used, labels))
    events = json.loads(trace("export", "-t", "chrome", "-o", "-", os.path.join(PLACE, "submits_bounded.rep")).out)["traceEvents"]
    tap.ok(len([e for e in events if e.get("cat") == "vulkan_workload"]) == 42, "timelines show them on the track of their queue")
    traced([program], "vulkan", "VULKAN_API", "submits_off")
    tap.ok(query("submits_off", "SELECT count(*) FROM sqlite_master WHERE name = 'VULKAN_WORKLOAD'") == [(0,)] and
           Report(os.path.join(PLACE, "submits_off.rep")).receipts()[0]["functions"]["vulkan_submitted"] == 0, "nothing is put into submissions unless asked for")
    said = trace("run", "--vulkan-gpu-workload=individual", "--", "true")
    tap.ok(said.status == 2 and b"individual" in said.err and b"batch" in said.err, "single command buffers are not measured: refused", said)


def stand_in():
    """Exact times of pipelines and their stages, from a driver that was made for it."""
    library = os.path.join(PLACE, "libvulkan.so.1")
    compiler = os.environ.get("CC", "gcc")
    for name, text, options in (("stand_in.c", STAND_IN, ["-shared", "-fPIC", "-o", library]), ("user.c", STAND_IN_USER, ["-o", os.path.join(PLACE, "user"), library])):
        with open(os.path.join(PLACE, name), "w", encoding="utf-8") as file:
            file.write(text)
        source = os.path.join(PLACE, name)
        subprocess.run([compiler, "-w", source, *options, "-Wl,-rpath," + PLACE], check=True)
    traced([os.path.join(PLACE, "user")], "vulkan", "VULKAN_API", "user")
    found = query("user", "SELECT p.duration = a.\"end\" - a.start, p.duration, p.flags FROM VULKAN_PIPELINE_CREATION_EVENTS AS p JOIN VULKAN_API AS a ON a.id = p.traceEventId "
                  "ORDER BY p.id")
    asked = [row[1:] if row[2] else (row[0], 0) for row in found]
    tap.ok(asked == [(1, 0), (1000, 1), (1001, 3), (1000, 1), (1, 0), (1000, 1), (1, 0)],
           "a device is asked if it has Vulkan 1.3 and the program asked for that, or the extension; none of a call that failed", found)
    found = query("user", "SELECT s.duration, s.flags, p.duration FROM VULKAN_PIPELINE_STAGE_EVENTS AS s JOIN VULKAN_PIPELINE_CREATION_EVENTS AS p ON p.id = s.creationEventId "
                  "ORDER BY s.id")
    tap.ok(found == [(100, 1, 1000), (101, 1, 1000), (110, 1, 1001), (111, 1, 1001)], "VULKAN_PIPELINE_STAGE_EVENTS has the stages of which the driver gave a time", found)


def groups():
    program = build("groups", GROUPS, "-lEGL", "-lGL")
    if not program:
        tap.skip("debug groups of OpenGL", "no headers (libegl-dev, libgl-dev)")
        return
    calls = traced([program], "opengl", "OPENGL_API", "groups")
    if not calls:
        return
    names = [name for name, *_ in calls]
    tap.ok(names.count("glClearColor") == 2 and names.count("glPushDebugGroup") == 3 and "glGetFloatv" in names, "functions that EGL is asked for are recorded", names)
    found = query("groups", "SELECT k.eventClass, s.value, k.source, k.khrdType, k.id, k.severity FROM KHR_DEBUG_EVENTS AS k JOIN StringIds AS s ON s.id = k.textId ORDER BY k.start")
    wanted = [(62, "frame", 0x824A, 0x8269, 1, 0x826B)]
    for i in range(2):
        wanted += [(62, "pass", 0x8249, 0x8269, 2 + i, 0x826B), (52, "here", 0x824A, 0x8268, 9, 0x9148)]
    tap.ok(found == wanted, "KHR_DEBUG_EVENTS has groups and messages", found)
    ranges = {row[3]: row[1] for row in figures("opengl_khr_range_sum", "Range", os.path.join(PLACE, "groups.sqlite"))}
    tap.ok(ranges == {"frame": "1", "pass": "2"}, "opengl_khr_range_sum has the groups", ranges)


def programs():
    """Programs that nobody here wrote: vkcube and glxinfo in a virtual display, vulkaninfo without one."""
    display = ["xvfb-run", "-a"] if shutil.which("xvfb-run") else None
    cases = [(["vulkaninfo", "--summary"], "vulkan", "VULKAN_API", {"vkCreateInstance", "vkGetPhysicalDeviceProperties"}, True),
             ((display or []) + ["vkcube", "--c", "5"], "vulkan", "VULKAN_API", {"vkCreateGraphicsPipelines", "vkQueuePresentKHR", "vkCreateSwapchainKHR"}, display),
             ((display or []) + ["glxinfo"], "opengl", "OPENGL_API", {"glXCreateNewContext", "glGetString"}, display)]
    for command, source, table, wanted, possible in cases:
        name = command[-1] if command[-1] == "glxinfo" else command[-3] if "--c" in command else command[0]
        if not possible or not shutil.which(name):
            tap.skip(name, f"no {name if possible else 'xvfb-run'}")
            continue
        found = {row[0] for row in traced(command, source, table, name, steady=name == "vulkaninfo")}
        tap.ok(not found or wanted <= found, f"{name}: calls of functions that it looks up, too", wanted - found)


def opengl():
    if not shutil.which("eglinfo"):
        tap.skip("OpenGL", "no eglinfo (mesa-utils-extra)")
        return
    calls = traced(["eglinfo"], "opengl", "OPENGL_API", "eglinfo", range(16))  # the status counts the platforms that are missing
    if calls:
        tap.ok({"eglQueryString", "eglInitialize"} <= {name for name, *_ in calls} and {row[1:] for row in calls} == {(2, 1, 1)},
               "OPENGL_API has the calls of a program that nobody here wrote", calls[:5])


def off():
    path = os.path.join(PLACE, "off.rep")
    if not shutil.which("eglinfo") or run(["eglinfo"], env=clean_env()).status not in range(16):
        tap.skip("nothing is recorded unless asked for", "eglinfo does not run")
        return
    trace("run", "-t", "osrt", "-o", path, "--", "eglinfo", env=clean_env())
    report = Report(path)
    tap.ok(not report.events("--kind", "function_call") and not any("functions" in r for r in report.receipts()), "nothing is recorded or patched unless asked for")


main(statistics, timelines, vulkan, looked_up, workloads, stand_in, opengl, groups, programs, off)
