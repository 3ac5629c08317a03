/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl.h - the source `opencl`: commands of OpenCL queues with the times of their device.
 *
 * The calls are recorded by the source `functions`. Here queues get profiling, which the program is
 * not shown; commands without an event get one, which the program does not see; and when a command
 * is known to have ended, within a later call of the program, its times are asked of the driver and
 * recorded. Nothing waits for a command, no thread is created, and no callback is registered.
 *
 * The driver is called within muted_enter(), which is called the guard here.
 */
#ifndef TRACER_OPENCL_OPENCL_H
#define TRACER_OPENCL_OPENCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/opencl_spool.h"
#include "common/spool.h"
#include "tracer/core/call_hooks.h"
#include "tracer/core/muted.h"
#include "tracer/core/names.h"
#include "tracer/core/thread.h"

/* Numbers of the OpenCL headers. */
enum {
	CL_SUCCESS = 0,
	CL_PROFILING_INFO_NOT_AVAILABLE = -7,
	CL_INVALID_VALUE = -30,
	CL_INVALID_EVENT = -58,
	CL_QUEUE_PROFILING_ENABLE = 2,
	CL_QUEUE_ON_DEVICE = 4,
	CL_DEVICE_TYPE = 0x1000,
	CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
	CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
	CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100c,
	CL_DEVICE_ADDRESS_BITS = 0x100d,
	CL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
	CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
	CL_DEVICE_QUEUE_PROPERTIES = 0x102a,
	CL_DEVICE_NAME = 0x102b,
	CL_DEVICE_VENDOR = 0x102c,
	CL_DRIVER_VERSION = 0x102d,
	CL_DEVICE_VERSION = 0x102f,
	CL_DEVICE_PLATFORM = 0x1031,
	CL_PLATFORM_VERSION = 0x901,
	CL_PLATFORM_NAME = 0x902,
	CL_PLATFORM_VENDOR = 0x903,
	CL_QUEUE_CONTEXT = 0x1090,
	CL_QUEUE_DEVICE = 0x1091,
	CL_QUEUE_PROPERTIES = 0x1093,
	CL_QUEUE_PROPERTIES_ARRAY = 0x1098,
	CL_IMAGE_ELEMENT_SIZE = 0x1111,
	CL_PROGRAM_NUM_KERNELS = 0x1167,
	CL_KERNEL_FUNCTION_NAME = 0x1190,
	CL_KERNEL_NUM_ARGS = 0x1191,
	CL_KERNEL_CONTEXT = 0x1193,
	CL_KERNEL_PROGRAM = 0x1194,
	CL_KERNEL_WORK_GROUP_SIZE = 0x11b0,
	CL_KERNEL_LOCAL_MEM_SIZE = 0x11b2,
	CL_KERNEL_PREFERRED_MULTIPLE = 0x11b3,
	CL_KERNEL_PRIVATE_MEM_SIZE = 0x11b4,
	CL_EVENT_COMMAND_QUEUE = 0x11d0,
	CL_EVENT_REFERENCE_COUNT = 0x11d2,
	CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11d3,
	CL_COMMAND_NDRANGE_KERNEL = 0x11f0,
	CL_COMMAND_TASK = 0x11f1,
	CL_COMMAND_NATIVE_KERNEL = 0x11f2,
	CL_PROFILING_COMMAND_QUEUED = 0x1280
};

/* Numbers of hooks: rows of opencl_calls.def. The functions that enqueue come first. */
enum opencl_hook {
	OPENCL_NO_HOOK,
#define OPENCL_ENQUEUE(name, ...) OPENCL_##name,
#include "common/schema/opencl_calls.def"
	OPENCL_QUEUE_CREATE, /* the first that does not enqueue */
	OPENCL_QUEUE_CREATE_LIST,
	OPENCL_QUEUE_INFO,
	OPENCL_PROFILING_INFO,
	OPENCL_EVENT_INFO,
	OPENCL_KERNEL_CREATE,
	OPENCL_KERNELS_CREATE,
	OPENCL_BUILD,
	OPENCL_LINK,
	OPENCL_AFTER, /* commands may have ended by then */
	OPENCL_BEFORE /* what commands refer to may be gone afterwards */
};

enum opencl_size { OPENCL_NONE, OPENCL_BYTES, OPENCL_REGION, OPENCL_IMAGE };

/* An OPENCL_ENQUEUE row. */
struct opencl_enqueue {
	const char *command; /* CL_COMMAND_... */
	uint32_t type, operation;
	uint32_t event;       /* index of an argument */
	uint32_t size, place; /* enum opencl_size */
};

typedef int32_t opencl_query(
	uint64_t object, uint32_t what, size_t bytes, void *value, size_t *ret_bytes);

/* Functions of the library that the program calls; NULL = it does not have them. */
struct opencl_driver {
	opencl_query *event_info, *profiling_info, *queue_info, *device_info, *platform_info,
		*kernel_info, *image_info, *program_info;
	int32_t (*group_info)(uint64_t kernel, uint64_t device, uint32_t what, size_t bytes,
		void *value, size_t *ret_bytes);
	int32_t (*retain_event)(uint64_t event);
	int32_t (*release_event)(uint64_t event);
};
extern struct opencl_driver opencl_driver __attribute__((visibility("hidden")));

/* Look the functions up in the library that has the function `real`. Return false if one of those
 * that are always needed is missing. Any thread; may take the loader's lock. */
bool opencl_driver_find(uint64_t real);

/* Return a number, or a handle; 0 = the driver does not tell. */
uint64_t opencl_number(opencl_query *query, uint64_t object, uint32_t what);

/* Return the text, interned; NULL = the driver does not tell. */
struct name *opencl_text(opencl_query *query, uint64_t object, uint32_t what);

/* ---- queues ---- */

#define OPENCL_QUEUES_MAX 1024u
#define OPENCL_LIST_WORDS 17u /* of a list of properties; longer ones are left alone */

/* A queue. Its handle may be used again for another one, which then has this entry. */
struct opencl_queue {
	uint64_t handle; /* stored last */
	uint64_t context, device;
	uint64_t properties; /* as the program asked for */
	uint32_t number, context_number, device_number;
	bool is_changed; /* profiling was added */
	bool has_times;  /* it has profiling */
	uint32_t list_words;
	uint64_t list[OPENCL_LIST_WORDS]; /* of clCreateCommandQueueWithProperties() */
	struct name *device_name;
};

bool opencl_queues_start(void);

/* Change the arguments of a call that creates a queue. */
void opencl_queue_create(struct hooked_call *call, bool has_list);
/* Give back the list that opencl_queue_create() gave the call. A call that ends by an exception
 * keeps it: after 4 of them no list of a program is changed any more. */
void opencl_queue_list_end(const struct hooked_call *call);
/* Note the queue that was created. Within the guard. */
void opencl_queue_created(struct hooked_call *call, bool has_list);

/* Return the queue; note it if it is not known. NULL = no room. Within the guard. */
struct opencl_queue *opencl_queue_of(uint64_t handle, uint64_t tick);

/* Hide profiling that was added from the program. */
void opencl_queue_info_hide(struct hooked_call *call);
void opencl_profiling_hide_before(struct hooked_call *call);
void opencl_profiling_hide_after(struct hooked_call *call);

/* ---- commands ---- */

bool opencl_commands_start(void);
void opencl_commands_forked(void);

/* Give the command an event if the program wants none. */
void opencl_command_begin(const struct opencl_enqueue *e, struct hooked_call *call);
/* Note the command, if it was enqueued. Within the guard. */
void opencl_command_note(const struct opencl_enqueue *e, struct hooked_call *call);
/* Give back the argument that was changed. */
void opencl_command_end(const struct opencl_enqueue *e, const struct hooked_call *call);

/* Record commands that have ended: all of them, or the oldest until some are found that have not.
 * Within the guard. */
void opencl_commands_read(bool all);

/* Show the reference count of an event without the tracer's reference. */
void opencl_event_info_hide(const struct hooked_call *call);

/* ---- records, in a lane that belongs to no thread; within the guard ---- */

bool opencl_record(
	uint64_t tick, uint32_t kind, uint64_t a, uint64_t b, const void *payload, uint64_t bytes);
/* A row of `count` columns from the second on; bits of `names` are columns that are names. */
void opencl_row(uint32_t event, uint64_t tick, uint64_t ticks, const uint64_t *columns,
	uint32_t count, uint32_t names);
void opencl_records_forked(void);

#endif
