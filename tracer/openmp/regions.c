/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regions.c - the open regions of a thread, and the records of regions.
 */
#include "tracer/openmp/openmp.h"

#include "common/clock.h"
#include "tracer/core/chains.h"
#include "tracer/core/lane.h"
#include "tracer/core/spool_file.h"
#include "tracer/core/state.h"
#include "tracer/openmp/hooks.h"

#define SILENT (UINT64_C(1) << 63) /* in `what`: begun while the gate was closed */

static struct openmp_stack *stacks[SPOOL_LANES_MAX]; /* of each lane; NULL = none yet */

/* ---- the stack ---- */

static __attribute__((cold, noinline)) struct openmp_stack *stack_make(struct lane *lane)
{
	void *place = NULL;
	if (session.restricted)
		return NULL;
	uint64_t offset = spool_file_take(OPENMP_STACK_BYTES, OPENMP_STACK_BYTES, &place);
	if (!offset)
		return NULL;
	struct openmp_stack *stack = spool_file_at(offset);
	stacks[lane->index % SPOOL_LANES_MAX] = stack;
	lane->openmp = offset;
	return stack;
}

static inline struct openmp_stack *stack_of(const struct thread *t)
{
	struct openmp_stack *stack = stacks[t->lane->index % SPOOL_LANES_MAX];
	return __builtin_expect(stack != NULL, 1) ? stack : stack_make(t->lane);
}

void openmp_thread_start(struct thread *t)
{
	struct openmp_stack *stack = stacks[t->lane->index % SPOOL_LANES_MAX];
	if (stack)
		stack->depth = 0;
}

void openmp_forked(void)
{
	for (uint32_t i = 0; i < SPOOL_LANES_MAX; i++)
		if (stacks[i])
			stacks[i] = NULL;
}

static inline uint32_t region_of(const struct openmp_open *open)
{
	return (uint32_t)(open->what & OPENMP_REGION_MASK);
}

/* Return the innermost task, or NULL. */
static const struct openmp_open *task_now(const struct openmp_stack *stack)
{
	for (uint64_t i = stack->depth; i--;)
		if (region_of(&stack->open[i]) == OMP_TASK)
			return &stack->open[i];
	return NULL;
}

static struct openmp_open open_make(
	const struct openmp_stack *stack, const struct omp_region_data *d, uint64_t tick)
{
	const struct openmp_open *task = stack ? task_now(stack) : NULL;
	struct openmp_open open = {.tick = tick,
		.what = (uint64_t)d->kind << OPENMP_KIND_SHIFT | d->region,
		.parallel = d->parallel,
		.event = {.task = d->task,
			.object = d->object,
			.code = (uint64_t)(uintptr_t)d->code}};
	if (task) {
		open.parallel = d->parallel ? d->parallel : task->parallel;
		open.event.task = d->task ? d->task : task->event.task;
		open.event.thread_number = task->event.thread_number;
		open.event.team_size = task->event.team_size;
	}
	if (d->region == OMP_PARALLEL) { /* of the team that it creates; see team_set() */
		open.event.thread_number = 0;
		open.event.team_size = (uint32_t)d->object;
	}
	return open;
}

static void push(struct thread *t, struct openmp_stack *stack, const struct openmp_open *from)
{
	if (stack->depth >= OPENMP_STACK_MAX) {
		t->lane->dropped[DROP_NO_LANE]++;
		return;
	}
	struct openmp_open *open = &stack->open[stack->depth];
	open->tick = 0;
	THREAD_BARRIER();
	open->what = from->what;
	open->parallel = from->parallel;
	open->event = from->event;
	open->recorded_at = 0;
	stack->depth++;
	THREAD_BARRIER();
	open->tick = from->tick;
}

/* Remove entries that have ended from the top. */
static void pop_ended(struct openmp_stack *stack)
{
	while (stack->depth && !stack->open[stack->depth - 1].what)
		stack->depth--;
}

/* Remove the innermost region if it is a wait for a mutex: whatever comes before the mutex is
 * acquired shows that it was not waited for. It was tested, or is a nested lock that the thread
 * has. */
static void forget_wait(struct openmp_stack *stack)
{
	struct openmp_open *top = stack && stack->depth ? &stack->open[stack->depth - 1] : NULL;
	if (!top || region_of(top) != OMP_MUTEX_WAIT)
		return;
	top->tick = 0;
	top->what = 0;
	pop_ended(stack);
}

/* ---- records ---- */

static void put(struct thread *t, struct openmp_open *open, uint64_t now, enum record_flag flag)
{
	uint64_t ticks = now - open->tick;
	unsigned slots = record_slots(sizeof(open->event));
	if (open->what & SILENT || !open->tick)
		return;
	struct record *r = chains_due(CHAIN_OPENMP, ticks) && !flag
		? chains_room(t, open->tick, &slots)
		: lane_room_soon(t, slots);
	if (!r)
		return;
	r->tick = open->tick;
	r->word = (uint64_t)sizeof(open->event) << RECORD_LENGTH_SHIFT |
		(uint64_t)flag << RECORD_FLAGS_SHIFT | REC_OPENMP;
	r->a = open->parallel;
	r->b = ticks << OPENMP_DURATION_SHIFT | (open->what & 0xffff);
	*(struct openmp_event *)(void *)(r + 1) = open->event;
	open->recorded_at = t->lane->head + (uint64_t)slots * RECORD_BYTES;
	THREAD_BARRIER();
	lane_publish(t, slots);
}

/* Record a region, and remove it. */
static void close(struct thread *t, struct openmp_open *open, uint64_t now, enum record_flag flag)
{
	put(t, open, now, flag);
	open->tick = 0;
	open->what = 0;
}

void omp_event(struct thread *t, const struct omp_region_data *d)
{
	uint64_t now = clock_ticks();
	struct openmp_stack *stack = stack_of(t);
	forget_wait(stack);
	struct openmp_open open = open_make(stack, d, now);
	put(t, &open, now, 0);
}

static void begin(struct thread *t, const struct omp_region_data *d, uint32_t number,
	uint32_t team_size, uint64_t tick)
{
	struct openmp_stack *stack = stack_of(t);
	if (!stack) {
		t->lane->dropped[DROP_NO_LANE]++;
		return;
	}
	forget_wait(stack);
	struct openmp_open open = open_make(stack, d, tick);
	if (team_size) {
		open.event.thread_number = number;
		open.event.team_size = team_size;
	}
	open.what |= GATE_LOOKS_OPEN(session_mask) ? 0 : SILENT;
	push(t, stack, &open);
}

void omp_begin(struct thread *t, const struct omp_region_data *d)
{
	begin(t, d, 0, 0, clock_ticks());
}

/* Note the size of the team on its region, if this thread has begun it. */
static void team_set(struct openmp_stack *stack, uint64_t parallel, uint32_t team_size)
{
	for (uint64_t i = stack ? stack->depth : 0; i--;) {
		struct openmp_open *open = &stack->open[i];
		if (region_of(open) == OMP_PARALLEL && open->parallel == parallel)
			open->event.team_size = team_size;
	}
}

void omp_begin_task(
	struct thread *t, const struct omp_region_data *d, uint32_t number, uint32_t team_size)
{
	begin(t, d, number, team_size, clock_ticks());
	if (!number && d->kind == OMPT_TASK_IMPLICIT)
		team_set(stack_of(t), d->parallel, team_size);
}

static bool agrees(const struct openmp_open *open, const struct omp_region_data *d)
{
	return region_of(open) == d->region && (!d->parallel || open->parallel == d->parallel) &&
		(!d->task || open->event.task == d->task) &&
		(!d->object || open->event.object == d->object);
}

void omp_end(struct thread *t, const struct omp_region_data *d)
{
	uint64_t now = clock_ticks();
	struct openmp_stack *stack = stack_of(t);
	if (d->region != OMP_MUTEX_WAIT)
		forget_wait(stack);
	uint64_t i = stack ? stack->depth : 0;
	while (i && !agrees(&stack->open[i - 1], d))
		i--;
	if (!i)
		return;
	if (d->region == OMP_PARALLEL || d->region == OMP_TASK)
		for (uint64_t above = stack->depth; above > i; above--)
			close(t, &stack->open[above - 1], now, RECORD_ABANDONED);
	close(t, &stack->open[i - 1], now, 0);
	pop_ended(stack);
}

void openmp_thread_end(struct thread *t)
{
	struct openmp_stack *stack = stacks[t->lane->index % SPOOL_LANES_MAX];
	uint64_t now = clock_ticks();
	for (uint64_t i = stack ? stack->depth : 0; i; i--)
		close(t, &stack->open[i - 1], now, RECORD_ABANDONED);
	if (stack)
		stack->depth = 0;
}

/* ---- tasks ---- */

/* Regions whose time does not run on while their task is suspended. */
static bool is_of_task(const struct openmp_open *open)
{
	uint32_t region = region_of(open);
	return region == OMP_TASK || region == OMP_WORKSHARE || region == OMP_SYNC_REGION ||
		region == OMP_SYNC_REGION_WAIT;
}

/* Record the regions of a task up to now, innermost first; they are open, but do not run. */
static void suspend(
	struct thread *t, struct openmp_stack *stack, uint64_t task, bool is_over, uint64_t now)
{
	uint64_t i = stack->depth;
	while (i && !(region_of(&stack->open[i - 1]) == OMP_TASK))
		i--;
	if (!i || stack->open[i - 1].event.task != task)
		return;
	for (uint64_t above = stack->depth; above >= i; above--) {
		struct openmp_open *open = &stack->open[above - 1];
		if (is_over) {
			close(t, open, now, above > i ? RECORD_ABANDONED : 0);
		} else if (is_of_task(open) && open->event.task == task) {
			put(t, open, now, 0);
			open->tick = 0;
		}
	}
	pop_ended(stack);
}

/* Let the regions of a task run again, from now on. Return false if the task is not in the
 * stack. */
static bool resume(struct openmp_stack *stack, uint64_t task, uint64_t now)
{
	uint64_t i = stack->depth;
	while (i &&
		!(region_of(&stack->open[i - 1]) == OMP_TASK &&
			(!task || stack->open[i - 1].event.task == task)))
		i--;
	if (!i)
		return false;
	task = stack->open[i - 1].event.task;
	for (; i <= stack->depth; i++) {
		struct openmp_open *open = &stack->open[i - 1];
		if (is_of_task(open) && open->event.task == task && !open->tick) {
			open->recorded_at = 0;
			THREAD_BARRIER();
			open->tick = now;
		}
	}
	return true;
}

void omp_switch(struct thread *t, uint64_t prior, bool is_over, const struct omp_region_data *next)
{
	uint64_t now = clock_ticks();
	struct openmp_stack *stack = stack_of(t);
	if (!stack)
		return;
	forget_wait(stack);
	suspend(t, stack, prior, is_over, now);
	if (!resume(stack, next->task, now) && next->task)
		begin(t, next, 0, 0, now);
}

struct omp_region_data omp_task_now(const struct thread *t)
{
	const struct openmp_stack *stack = stack_of(t);
	const struct openmp_open *task = stack ? task_now(stack) : NULL;
	struct omp_region_data d = {.region = OMP_TASK};
	if (task) {
		d.kind = (uint32_t)(task->what >> OPENMP_KIND_SHIFT & 0xff);
		d.parallel = task->parallel;
		d.task = task->event.task;
	}
	return d;
}
