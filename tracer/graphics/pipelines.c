/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipelines.c - the creation of pipelines of Vulkan.
 */
#define _GNU_SOURCE
#include "tracer/graphics/pipelines.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "common/sys.h"
#include "common/text.h"
#include "tracer/base/libc.h"
#include "tracer/core/muted.h"
#include "tracer/core/plain_row.h"
#include "tracer/core/state.h"
#include "tracer/graphics/vulkan_abi.h"

#define PIPELINES_MAX 256u /* of one call */
#define STAGES_MAX 8u      /* of a pipeline; of one with more, only the whole is asked for */

/* What is asked of one pipeline. */
struct asked {
	const struct vulkan_feedback_info *answer; /* ours, or the program's own */
	struct vulkan_feedback_info info;
	struct vulkan_feedback whole, stages[STAGES_MAX];
};

/* Words of scratch. */
enum { ASKED_AT, ASKED_BYTES, PIPELINES, OFFSET };

/* Words of scratch of a call that creates a device. */
enum { MAY_ASK, DEVICE_AT };

/* ---- devices ---- */

#define DEVICES_MAX 64u /* others are asked nothing */

static bool instance_is_new, instance_is_old; /* one asked for Vulkan 1.3; one did not */
static void (*properties_of)(uint64_t physical_device, void *ret_properties);
static uint64_t devices[DEVICES_MAX]; /* that may be asked; 0 = free */

void pipelines_device_found(uint64_t real)
{
	uint64_t found = libc_find_beside(real, "vkGetPhysicalDeviceProperties");
	__atomic_store_n((uint64_t *)(void *)&properties_of, found, __ATOMIC_RELAXED);
}

void pipelines_note_instance(const struct hooked_call *call)
{
	const struct vulkan_instance_info *info = (const void *)(uintptr_t)call->words[0];
	if (info && info->application && info->application->api_version >= VULKAN_1_3)
		instance_is_new = true;
	else
		instance_is_old = true;
}

/* Return true if devices of the physical device have Vulkan 1.3. Which instance it is of is not
 * known, so all must have asked for that version. */
static bool is_new(uint64_t physical_device)
{
	uint32_t properties[VULKAN_PROPERTIES_BYTES / sizeof(uint32_t)] = {0};
	struct muted muted;
	if (!instance_is_new || instance_is_old || !properties_of || !muted_enter(&muted))
		return false;
	properties_of(physical_device, properties);
	muted_leave(&muted);
	return properties[0] >= VULKAN_1_3;
}

void pipelines_note_device(const struct hooked_call *call)
{
	const struct vulkan_device_info *info = (const void *)(uintptr_t)call->words[1];
	bool may_ask = is_new(call->words[0]);
	for (uint32_t i = 0; info && i < info->extension_count; i++)
		may_ask |= text_equal(info->extensions[i], "VK_EXT_pipeline_creation_feedback");
	call->scratch[MAY_ASK] = may_ask;
	call->scratch[DEVICE_AT] = call->words[3];
}

/* Replace an entry of devices[]. Return false if there is none. */
static bool device_replace(uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < DEVICES_MAX; i++) {
		uint64_t known = from;
		if (__atomic_compare_exchange_n(
			    &devices[i], &known, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

static bool may_be_asked(uint64_t device)
{
	for (uint32_t i = 0; i < DEVICES_MAX; i++)
		if (__atomic_load_n(&devices[i], __ATOMIC_RELAXED) == device)
			return device != 0;
	return false;
}

void pipelines_device_created(const struct hooked_call *call)
{
	const uint64_t *place = (const uint64_t *)(uintptr_t)call->scratch[DEVICE_AT];
	if ((uint32_t)call->words[0] || !place || !*place)
		return;
	device_replace(*place, 0); /* its handle may be one of a destroyed device */
	if (call->scratch[MAY_ASK])
		device_replace(0, *place);
}

/* ---- questions ---- */

/* Return the structure that the program itself gives the driver; NULL = none. */
static const struct vulkan_feedback_info *own_of(const struct vulkan_link *link)
{
	while (link && link->type != VULKAN_FEEDBACK_TYPE)
		link = link->next;
	return (const void *)link;
}

static void ask(struct asked *a, struct vulkan_pipeline_info *info, bool is_graphics)
{
	uint32_t stages = is_graphics ? info->stage_count : 1;
	a->answer = own_of(info->link.next);
	if (a->answer)
		return;
	a->info = (struct vulkan_feedback_info){.link = {VULKAN_FEEDBACK_TYPE, info->link.next},
		.whole = &a->whole,
		.stage_count = stages <= STAGES_MAX ? stages : 0,
		.stages = a->stages};
	a->answer = &a->info;
	info->link.next = &a->info.link;
}

void pipelines_ask(struct hooked_call *call, uint32_t info_bytes)
{
	const uint32_t count = (uint32_t)call->words[2];
	const char *infos = (const char *)(uintptr_t)call->words[3];
	call->scratch[PIPELINES] = count;
	if (!call->is_recorded || !may_be_asked(call->words[0]) || !infos || !count ||
		count > PIPELINES_MAX || session.restricted)
		return;
	const uint64_t offset = (uint64_t)count * info_bytes;
	const uint64_t bytes = offset + count * sizeof(struct asked);
	char *room = sys_mmap_beyond_data(bytes);
	if (!room)
		return;
	struct asked *asked = (struct asked *)(void *)(room + offset);
	bytes_copy(room, infos, offset);
	for (uint32_t i = 0; i < count; i++)
		ask(&asked[i], (struct vulkan_pipeline_info *)(void *)(room + i * info_bytes),
			info_bytes == VULKAN_GRAPHICS_INFO_BYTES);
	call->scratch[ASKED_AT] = (uint64_t)(uintptr_t)room;
	call->scratch[ASKED_BYTES] = bytes;
	call->scratch[OFFSET] = offset;
	call->words[3] = (uint64_t)(uintptr_t)room;
}

static void row_put(const struct hooked_call *call, uint32_t pipeline, uint32_t stage,
	const struct vulkan_feedback *feedback)
{
	struct thread *t = &thread_self;
	struct plain_row r = {.names = 0};
	plain_set(&r, COLUMN_VULKAN_PIPELINE_PIPELINE, pipeline);
	plain_set(&r, COLUMN_VULKAN_PIPELINE_STAGE, stage);
	plain_set(&r, COLUMN_VULKAN_PIPELINE_CREATION, feedback ? feedback->ns : 0);
	plain_set(&r, COLUMN_VULKAN_PIPELINE_FLAGS, feedback ? feedback->flags : 0);
	if (!t->lane || !thread_try_enter(t)) {
		session_count_drop(DROP_NESTED);
		return;
	}
	plain_put(
		t, PLAIN_VULKAN_PIPELINE, call->begin_tick, call->end_tick - call->begin_tick, &r);
	thread_give(t);
}

void pipelines_record(const struct hooked_call *call)
{
	char *room = (char *)(uintptr_t)call->scratch[ASKED_AT];
	const struct asked *asked = room ? (const void *)(room + call->scratch[OFFSET]) : NULL;
	const bool is_done = (int32_t)(uint32_t)call->words[0] >= 0 && call->is_recorded;
	for (uint32_t i = 0; is_done && i < call->scratch[PIPELINES] && i < PIPELINES_MAX; i++) {
		const struct vulkan_feedback_info *answer = asked ? asked[i].answer : NULL;
		row_put(call, i, 0, answer ? answer->whole : NULL);
		for (uint32_t n = 0; answer && n < answer->stage_count && n < STAGES_MAX; n++)
			row_put(call, i, n + 1, &answer->stages[n]);
	}
	if (room)
		sys_munmap(room, call->scratch[ASKED_BYTES]);
}
