/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_await.c - frames of the coroutines that await the running task of asyncio.
 */
#include "unwind/python_await.h"

#include "unwind/python_memory.h"

#define TASKS_MAX 16u
#define OBJECT_TYPE 8

/* enum _framestate of CPython 3.14: suspended, suspended in an `await`, executing */
enum { SUSPENDED = -2, SUSPENDED_AWAIT = -1, EXECUTING = 0 };

struct search {
	struct python_thread *t;
	const struct python_layout *layout;
	uint64_t coroutine_type;
	struct python_awaiters found;
};

struct task {
	uint64_t coroutine, awaiter;
};

static bool task_read(const struct search *s, uint64_t address, struct task *ret)
{
	const struct python_layout *l = s->layout;
	if (!address || !readable(s->t, address, (uint32_t)l->task_coroutine + 8) ||
		!byte(address + (uint64_t)l->task_is_task))
		return false;
	ret->coroutine = word(address + (uint64_t)l->task_coroutine);
	/* A set has the awaiters if there are several. */
	bool is_set = byte(address + (uint64_t)l->task_has_set);
	ret->awaiter = is_set ? 0 : word(address + (uint64_t)l->task_awaiter);
	return true;
}

/* Return the frame of a coroutine and its state; 0 = the object is no coroutine. */
static uint64_t coroutine_frame(const struct search *s, uint64_t object, int8_t *ret_state)
{
	const struct python_layout *l = s->layout;
	uint32_t bytes = (uint32_t)l->generator_frame + (uint32_t)l->stack_top + 8;
	if (!object || !readable(s->t, object, bytes) ||
		word(object + OBJECT_TYPE) != s->coroutine_type)
		return 0;
	*ret_state = (int8_t)byte(object + (uint64_t)l->generator_state);
	return object + (uint64_t)l->generator_frame;
}

/* Return the object that a suspended frame awaits. */
static uint64_t awaited_by_frame(const struct search *s, uint64_t frame)
{
	uint64_t top = word(frame + (uint64_t)s->layout->stack_top) - 8;
	return readable(s->t, top, 8) ? word(top) & ~(uint64_t)s->layout->code_tag : 0;
}

static bool is_found(const struct python_awaiters *a, uint64_t frame)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->frames[i] == frame)
			return true;
	return false;
}

/* Add the frames of a coroutine and of those that it awaits, the innermost first. Return false if
 * they cannot be read, or are in the chain already. */
static bool coroutine_add(struct search *s, uint64_t coroutine)
{
	struct python_awaiters *a = &s->found;
	uint32_t first = a->count;
	int8_t state = SUSPENDED_AWAIT;
	while (state == SUSPENDED_AWAIT && a->count < PYTHON_AWAITERS_MAX) {
		uint64_t frame = coroutine_frame(s, coroutine, &state);
		if (!frame || (state != SUSPENDED && state != SUSPENDED_AWAIT) ||
			is_found(a, frame))
			break;
		a->frames[a->count++] = frame;
		coroutine = state == SUSPENDED_AWAIT ? awaited_by_frame(s, frame) : 0;
	}
	for (uint32_t i = first, last = a->count; i + 1 < last; i++) {
		uint64_t frame = a->frames[i];
		a->frames[i] = a->frames[--last];
		a->frames[last] = frame;
	}
	return a->count > first;
}

static void search(struct search *s, uint64_t running)
{
	struct task task;
	int8_t state;
	if (!task_read(s, running, &task) || !task.awaiter)
		return;
	uint64_t root = coroutine_frame(s, task.coroutine, &state);
	uint64_t previous = root + (uint64_t)s->layout->previous;
	if (!root || state != EXECUTING || !readable(s->t, previous, 8))
		return;
	for (uint32_t i = 0; i < TASKS_MAX && task.awaiter; i++)
		if (!task_read(s, task.awaiter, &task) || !coroutine_add(s, task.coroutine))
			break;
	if (!s->found.count)
		return;
	s->found.root = root;
	s->found.outer = word(previous);
}

bool python_awaiters_find(struct python_thread *t, const struct python_layout *layout,
	uint64_t coroutine_type, uint64_t state)
{
	struct python_awaiters *last = &t->awaiters;
	struct search s = {.t = t, .layout = layout, .coroutine_type = coroutine_type};
	uint64_t at = state + (uint64_t)layout->tstate_task;
	uint64_t running = readable(t, at, 8) ? word(at) : 0;
	if (running)
		search(&s, running);
	bool same = s.found.root == last->root && s.found.outer == last->outer &&
		s.found.count == last->count;
	for (uint32_t i = 0; same && i < s.found.count; i++)
		same = s.found.frames[i] == last->frames[i];
	if (!same)
		*last = s.found;
	return same;
}
