/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - the hooks: what is done before and after calls of OpenCL.
 */
#include "tracer/opencl/opencl.h"

#include "common/schema/libraries.h"
#include "common/text.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/state.h"
#include "tracer/opencl/hooks.h"

#define NUMBER_OPENCL_KERNEL 83u
#define NUMBER_OPENCL_BUILD 84u
#define KERNELS_MAX 256u /* of one call */
#define OPTIONS_BYTES_MAX 4000u

static const struct opencl_enqueue enqueues[] = {
	{"", 0, 0, 0, 0, 0},
#define OPENCL_ENQUEUE(name, type, command, operation, event, size, place) \
	{"CL_COMMAND_" #command, type, operation, event, OPENCL_##size, place},
#include "common/schema/opencl_calls.def"
};

static const struct {
	const char *name;
	uint32_t hook;
} hooked[] = {
#define OPENCL_ENQUEUE(name, ...) {#name, OPENCL_##name},
#define OPENCL_HOOK(name, id) {#name, OPENCL_##id},
#include "common/schema/opencl_calls.def"
};

static uint32_t hook_find(const char *name)
{
	for (size_t i = 0; i < sizeof(hooked) / sizeof(hooked[0]); i++)
		if (text_equal(name, hooked[i].name))
			return hooked[i].hook;
	return 0;
}

/* ---- kernels and programs ---- */

static uint64_t group_number(uint64_t kernel, uint32_t what)
{
	uint64_t value = 0;
	return opencl_driver.group_info(kernel, 0, what, sizeof(value), &value, NULL) == CL_SUCCESS
		? value
		: 0;
}

static void kernel_record(uint64_t kernel, uint64_t tick)
{
	opencl_query *info = opencl_driver.kernel_info;
	const uint64_t columns[] = {names_ref(opencl_text(info, kernel, CL_KERNEL_FUNCTION_NAME)),
		kernel, opencl_number(info, kernel, CL_KERNEL_PROGRAM),
		opencl_number(info, kernel, CL_KERNEL_CONTEXT),
		opencl_number(info, kernel, CL_KERNEL_NUM_ARGS),
		group_number(kernel, CL_KERNEL_WORK_GROUP_SIZE),
		group_number(kernel, CL_KERNEL_PREFERRED_MULTIPLE),
		group_number(kernel, CL_KERNEL_LOCAL_MEM_SIZE),
		group_number(kernel, CL_KERNEL_PRIVATE_MEM_SIZE)};
	opencl_row(NUMBER_OPENCL_KERNEL, tick, 0, columns, sizeof(columns) / sizeof(columns[0]), 1);
}

/* scratch: 0 the program. words: 1 room, 2 kernels. */
static void kernels_record(const struct hooked_call *call)
{
	uint64_t count =
		opencl_number(opencl_driver.program_info, call->scratch[0], CL_PROGRAM_NUM_KERNELS);
	const uint64_t *kernels = (const uint64_t *)(uintptr_t)call->words[2];
	if (call->words[0] || !kernels)
		return;
	for (uint64_t i = 0; i < count && i < (uint32_t)call->scratch[1] && i < KERNELS_MAX; i++)
		kernel_record(kernels[i], call->begin_tick);
}

/* scratch: 0 the program, 3 the options. */
static void build_record(const struct hooked_call *call, bool is_link)
{
	const char *text = (const char *)(uintptr_t)call->scratch[3];
	uint64_t program = is_link ? call->words[0] : call->scratch[0],
		 result = is_link ? !call->words[0] : (uint64_t)(int64_t)(int32_t)call->words[0];
	uint32_t bytes = 0;
	while (text && bytes < OPTIONS_BYTES_MAX && text[bytes])
		bytes++;
	struct name *options = bytes
		? names_intern(false, NULL, text, bytes, bytes == OPTIONS_BYTES_MAX, NULL)
		: NULL;
	const uint64_t columns[] = {program, names_ref(options), result};
	opencl_row(NUMBER_OPENCL_BUILD, call->begin_tick, call->end_tick - call->begin_tick,
		columns, sizeof(columns) / sizeof(columns[0]), 2);
}

/* ---- before ---- */

static void before_change(uint32_t hook, struct hooked_call *call)
{
	size_t bytes = 0;
	switch (hook) {
	case OPENCL_QUEUE_CREATE:
	case OPENCL_QUEUE_CREATE_LIST:
		opencl_queue_create(call, hook == OPENCL_QUEUE_CREATE_LIST);
		break;
	case OPENCL_QUEUE_INFO:
		if ((uint32_t)call->words[1] == CL_QUEUE_PROPERTIES_ARRAY)
			call->scratch[3] =
				opencl_driver.queue_info(call->words[0], CL_QUEUE_PROPERTIES_ARRAY,
					0, NULL, &bytes) == CL_SUCCESS;
		break;
	case OPENCL_PROFILING_INFO:
		opencl_profiling_hide_before(call);
		break;
	case OPENCL_BEFORE:
		if (call->is_recorded)
			opencl_commands_read(true);
		break;
	default:
		break;
	}
}

static void before(uint32_t hook, struct hooked_call *call)
{
	struct muted guard;
	call->scratch[0] = call->words[0];
	call->scratch[1] = call->words[1];
	if (hook == OPENCL_BUILD || hook == OPENCL_LINK)
		call->scratch[3] = call->words[3];
	if (hook == OPENCL_QUEUE_CREATE || hook == OPENCL_QUEUE_CREATE_LIST)
		call->scratch[2] = call->words[2];
	if (hook < OPENCL_QUEUE_CREATE) {
		opencl_command_begin(&enqueues[hook], call);
		return;
	}
	if (hook == OPENCL_AFTER || hook == OPENCL_EVENT_INFO)
		return;
	/* What is hidden from the program is hidden also where nothing can be recorded. */
	bool entered = muted_enter(&guard);
	if ((entered || hook == OPENCL_QUEUE_INFO || hook == OPENCL_PROFILING_INFO) &&
		opencl_driver_find(call->real))
		before_change(hook, call);
	if (entered)
		muted_leave(&guard);
}

/* ---- after ---- */

static void after_record(uint32_t hook, struct hooked_call *call)
{
	switch (hook) {
	case OPENCL_QUEUE_CREATE:
	case OPENCL_QUEUE_CREATE_LIST:
		opencl_queue_created(call, hook == OPENCL_QUEUE_CREATE_LIST);
		break;
	case OPENCL_KERNEL_CREATE:
		if (call->words[0] && call->is_recorded)
			kernel_record(call->words[0], call->begin_tick);
		break;
	case OPENCL_KERNELS_CREATE:
		if (call->is_recorded)
			kernels_record(call);
		break;
	case OPENCL_BUILD:
	case OPENCL_LINK:
		if (call->is_recorded)
			build_record(call, hook == OPENCL_LINK);
		break;
	case OPENCL_AFTER:
		opencl_commands_read(true);
		break;
	case OPENCL_EVENT_INFO:
		opencl_commands_read(false);
		break;
	default:
		if (hook < OPENCL_QUEUE_CREATE) {
			opencl_command_note(&enqueues[hook], call);
			opencl_commands_read(false);
		}
		break;
	}
}

static void after(uint32_t hook, struct hooked_call *call)
{
	struct muted guard;
	if (hook == OPENCL_QUEUE_CREATE_LIST)
		opencl_queue_list_end(call);
	if (!opencl_driver_find(call->real))
		return;
	if (hook == OPENCL_QUEUE_INFO)
		opencl_queue_info_hide(call);
	else if (hook == OPENCL_PROFILING_INFO)
		opencl_profiling_hide_after(call);
	else if (hook == OPENCL_EVENT_INFO)
		opencl_event_info_hide(call);
	if (hook < OPENCL_QUEUE_CREATE)
		opencl_command_end(&enqueues[hook], call);
	if (hook != OPENCL_BEFORE && muted_enter(&guard)) {
		after_record(hook, call);
		muted_leave(&guard);
	}
}

void opencl_start(void)
{
	static const struct call_hooks hooks = {
		.row = LIBRARY_opencl, .find = hook_find, .before = before, .after = after};
	if (!session.config.opencl)
		return;
	if (opencl_queues_start() && opencl_commands_start())
		call_hooks[CALL_HOOKS_OPENCL] = &hooks;
	else
		diagnostic_line(
			"no memory for the commands of OpenCL; only its calls are recorded");
}

void opencl_forked(void)
{
	opencl_commands_forked();
	opencl_records_forked();
}
