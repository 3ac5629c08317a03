/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - commands of queues: from the call that enqueues one to its times on the device.
 *
 * A command is known by its event, which the tracer retains until the command has ended. There are
 * no locks: a thread takes an entry by its state, and no two threads ask for the same command.
 */
#include "tracer/opencl/opencl.h"

#include <time.h>

#include "common/clock.h"
#include "common/sys.h"
#include "tracer/core/state.h"

#define COMMANDS_MAX 4096u
#define UNFINISHED_MAX 4u /* commands without an end at which the search for ends stops */

enum command_state { COMMAND_FREE, COMMAND_KNOWN, COMMAND_TAKEN };

struct command {
	uint64_t event;
	struct name *name;
	const struct opencl_queue *queue;
	struct opencl_command record; /* as far as it is known */
};

struct command_table {
	struct command commands[COMMANDS_MAX];
};
struct command_states {
	uint8_t state[COMMANDS_MAX]; /* enum command_state */
	uint32_t next, oldest;       /* where to look first for a free entry, for a known one */
	uint32_t number;             /* of the last command */
	uint32_t known;
};
static struct command_table *table;
static struct command_states states;

bool opencl_commands_start(void)
{
	static void *place;
	table = sys_mmap_table(&place, sizeof(*table));
	return table != NULL;
}

void opencl_commands_forked(void)
{
	states = (struct command_states){0};
}

static void count(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static bool state_change(uint32_t i, uint8_t from, uint8_t to)
{
	return __atomic_compare_exchange_n(
		&states.state[i], &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void state_set(uint32_t i, enum command_state state)
{
	__atomic_store_n(&states.state[i], (uint8_t)state, __ATOMIC_RELEASE);
}

/* Take a free entry. Return COMMANDS_MAX if there is none. */
static uint32_t entry_take(void)
{
	uint32_t first = __atomic_load_n(&states.next, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < COMMANDS_MAX; i++) {
		uint32_t at = (first + i) % COMMANDS_MAX;
		if (states.state[at] == COMMAND_FREE &&
			state_change(at, COMMAND_FREE, COMMAND_TAKEN)) {
			__atomic_store_n(&states.next, at + 1, __ATOMIC_RELAXED);
			return at;
		}
	}
	return COMMANDS_MAX;
}

/* ---- a call that enqueues ---- */

/* scratch: 0 the queue, 1 its second argument, 2 an event of ours, 3 the program's argument. */
enum { SCRATCH_QUEUE, SCRATCH_SECOND, SCRATCH_EVENT, SCRATCH_PLACE };

void opencl_command_begin(const struct opencl_enqueue *e, struct hooked_call *call)
{
	if (e->event >= call->count)
		return;
	uint64_t *place = call_argument(call, e->event);
	call->scratch[SCRATCH_PLACE] = *place;
	if (call->kept_count)
		call->kept[call->kept_count - 1] = 0;
	if (!*place && call->is_recorded && table && opencl_driver_find(call->real) &&
		__atomic_load_n(&states.known, __ATOMIC_RELAXED) < COMMANDS_MAX - 64)
		*place = (uint64_t)(uintptr_t)&call->scratch[SCRATCH_EVENT];
}

void opencl_command_end(const struct opencl_enqueue *e, const struct hooked_call *call)
{
	if (e->event >= CALL_REGISTER_WORDS && e->event < call->count)
		*call_argument(call, e->event) = call->scratch[SCRATCH_PLACE];
}

static uint64_t product(const uint64_t *sizes)
{
	return sizes ? sizes[0] * sizes[1] * sizes[2] : 0;
}

static uint64_t bytes_of(const struct opencl_enqueue *e, const struct hooked_call *call)
{
	if (e->size == OPENCL_NONE || e->place < 2 || e->place >= call->count)
		return 0;
	uint64_t value = *call_argument(call, e->place);
	if (e->size == OPENCL_BYTES)
		return value;
	uint64_t elements = product((const uint64_t *)(uintptr_t)value);
	return e->size == OPENCL_REGION ? elements
					: elements *
			opencl_number(opencl_driver.image_info, call->scratch[SCRATCH_SECOND],
				CL_IMAGE_ELEMENT_SIZE);
}

static void sizes_keep(uint64_t *to, uint64_t from, uint32_t dimensions)
{
	const uint64_t *sizes = (const uint64_t *)(uintptr_t)from;
	for (uint32_t i = 0; sizes && i < dimensions; i++)
		to[i] = sizes[i];
}

static void kernel_keep(
	struct command *c, const struct opencl_enqueue *e, const struct hooked_call *call)
{
	struct opencl_command *r = &c->record;
	r->kernel = call->scratch[SCRATCH_SECOND];
	r->dimensions = 1;
	if (e->type == CL_COMMAND_NATIVE_KERNEL)
		return;
	c->name = opencl_text(opencl_driver.kernel_info, r->kernel, CL_KERNEL_FUNCTION_NAME);
	if (e->type == CL_COMMAND_TASK) {
		r->global[0] = r->local[0] = 1;
		return;
	}
	uint32_t dimensions = (uint32_t)call->words[2];
	r->dimensions = dimensions < 3 ? dimensions : 3;
	sizes_keep(r->global, call->words[4], r->dimensions);
	sizes_keep(r->local, call->words[5], r->dimensions);
}

static void command_fill(
	struct command *c, const struct opencl_enqueue *e, const struct hooked_call *call)
{
	uint64_t handle = call->scratch[SCRATCH_QUEUE];
	uint32_t length = 0;
	while (e->command[length])
		length++;
	*c = (struct command){.name = names_intern(false, NULL, e->command, length, false, NULL),
		.queue = opencl_queue_of(handle, call->begin_tick)};
	struct opencl_command *r = &c->record;
	r->call_tick = call->begin_tick;
	r->call_end_tick = call->end_tick;
	r->queue = handle;
	r->type = e->type;
	r->operation = e->operation;
	r->bytes = bytes_of(e, call);
	r->tid = thread_self.tid;
	if (e->operation == 20)
		kernel_keep(c, e, call);
	if (!c->queue)
		return;
	r->context = c->queue->context;
	r->queue_number = c->queue->number;
	r->context_number = c->queue->context_number;
	r->device_number = c->queue->device_number;
}

/* Functions that map memory return an address, and their result is the last argument. */
static bool was_enqueued(const struct opencl_enqueue *e, const struct hooked_call *call)
{
	const bool maps = e->type == 0x11fb || e->type == 0x11fc;
	return maps ? call->words[0] != 0 : (int32_t)(uint32_t)call->words[0] == CL_SUCCESS;
}

void opencl_command_note(const struct opencl_enqueue *e, struct hooked_call *call)
{
	uint64_t own = call->scratch[SCRATCH_EVENT], place = call->scratch[SCRATCH_PLACE];
	if (!call->is_recorded || !table || e->event >= call->count || !was_enqueued(e, call))
		return;
	uint64_t event = place ? *(const uint64_t *)(uintptr_t)place : own;
	struct opencl_counts *counts = &session.spool->opencl;
	count(&counts->enqueued);
	uint32_t at = event ? entry_take() : COMMANDS_MAX;
	if (at == COMMANDS_MAX || (place && opencl_driver.retain_event(event) != CL_SUCCESS)) {
		count(&counts->no_room);
		if (own)
			opencl_driver.release_event(own);
		if (at < COMMANDS_MAX)
			state_set(at, COMMAND_FREE);
		return;
	}
	struct command *c = &table->commands[at];
	command_fill(c, e, call);
	c->event = event;
	c->record.number = __atomic_add_fetch(&states.number, 1, __ATOMIC_RELAXED);
	if (call->kept_count)
		call->kept[call->kept_count - 1] = c->record.number;
	__atomic_add_fetch(&states.known, 1, __ATOMIC_RELAXED);
	state_set(at, COMMAND_KNOWN);
}

/* ---- commands that have ended ---- */

#define CLOCK_TRIES 8
#define CLOCK_TICKS 2000u /* at most a few microseconds; a reading takes a tenth of that */

/* Read the clocks that the device's times may be of, and the tick at that time: once more if the
 * thread was interrupted meanwhile. */
static void clocks_read(struct opencl_command *r)
{
	static const int ids[] = {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME};
	for (uint32_t n = 0; n < CLOCK_TRIES; n++) {
		const uint64_t before = clock_ticks();
		for (uint32_t i = 0; i < 3; i++)
			r->clock_ns[i] = clock_system_ns(ids[i]);
		r->clock_tick = clock_ticks();
		if (r->clock_tick - before <= CLOCK_TICKS)
			return;
	}
}

static void command_record(struct command *c, int32_t status)
{
	struct opencl_command *r = &c->record;
	uint64_t *times[] = {&r->queued, &r->submitted, &r->start, &r->end};
	bool has_times = c->queue && c->queue->has_times && status == 0;
	for (uint32_t i = 0; has_times && i < 4; i++)
		has_times = opencl_driver.profiling_info(c->event, CL_PROFILING_COMMAND_QUEUED + i,
				    sizeof(uint64_t), times[i], NULL) == CL_SUCCESS;
	if (!has_times)
		r->queued = r->submitted = r->start = r->end = 0;
	if (has_times)
		clocks_read(r);
	r->status = status;
	r->name = names_ref(c->name);
	r->device_name = c->queue ? names_ref(c->queue->device_name) : 0;
	if (session.spool && opencl_record(r->call_tick, REC_OPENCL_COMMAND, 0, 0, r, sizeof(*r)))
		count(&session.spool->opencl.recorded);
}

/* Record the command if it has ended. Return false if it has not. The entry is taken. */
static bool command_read(uint32_t at)
{
	struct command *c = &table->commands[at];
	int32_t status = 1;
	if (opencl_driver.event_info(c->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
		    &status, NULL) == CL_SUCCESS &&
		status > 0) {
		state_set(at, COMMAND_KNOWN);
		return false;
	}
	command_record(c, status > 0 ? 0 : status);
	uint64_t event = c->event;
	__atomic_sub_fetch(&states.known, 1, __ATOMIC_RELAXED);
	state_set(at, COMMAND_FREE);
	opencl_driver.release_event(event);
	return true;
}

void opencl_commands_read(bool all)
{
	uint32_t first = __atomic_load_n(&states.oldest, __ATOMIC_RELAXED), unfinished = 0;
	bool is_oldest = true;
	bool any = table && __atomic_load_n(&states.known, __ATOMIC_RELAXED);
	for (uint32_t i = 0; any && i < COMMANDS_MAX; i++) {
		uint32_t at = (first + i) % COMMANDS_MAX;
		uint8_t state = __atomic_load_n(&states.state[at], __ATOMIC_ACQUIRE);
		if (!all && (unfinished == UNFINISHED_MAX || !states.known))
			break;
		if (state == COMMAND_KNOWN && state_change(at, COMMAND_KNOWN, COMMAND_TAKEN) &&
			!command_read(at)) {
			if (is_oldest)
				__atomic_store_n(&states.oldest, at, __ATOMIC_RELAXED);
			is_oldest = false;
			unfinished++;
		}
	}
	if (is_oldest)
		__atomic_store_n(&states.oldest, states.next, __ATOMIC_RELAXED);
}

/* scratch: 0 the event, 1 what is asked for. */
void opencl_event_info_hide(const struct hooked_call *call)
{
	uint32_t *value = (uint32_t *)(uintptr_t)call->words[3];
	if ((uint32_t)call->scratch[1] != CL_EVENT_REFERENCE_COUNT || call->words[0] || !value)
		return;
	for (uint32_t i = 0; table && i < COMMANDS_MAX; i++)
		if (states.state[i] == COMMAND_KNOWN &&
			table->commands[i].event == call->scratch[0]) {
			*value -= *value > 1;
			return;
		}
}
