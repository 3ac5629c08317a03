/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_ranges.c - hardware metrics of NVTX ranges of push and pop (LIBTRACE_GPU_METRICS_RANGE).
 *
 * A chosen range is measured in the context that is current when it begins, or in that of its
 * thread's first launch: all that the device does for the context until it ends, for any thread.
 * CUPTI takes one range of a context at a time,
 * and more levels only in more passes, so ranges within a range of the same thread are not
 * measured, and ranges beside one of another thread are counted as dropped.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/base/libc.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/names.h"
#include "tracer/core/range_hooks.h"
#include "tracer/core/state.h"
#include "tracer/cuda/cuda.h"
#include "tracer/cuda/metrics_batch.h"
#include "unwind/registers.h"

#define TEXT_BYTES 1024u
#define WAITING_MAX 64u

static char pattern[TEXT_BYTES]; /* of the message; "" = any */
static char domain_pattern[TEXT_BYTES];
const struct range_hooks *range_hooks;

/* ---- which ranges ---- */

/* An NVTX range that begins. */
struct beginning {
	uint64_t ns;
	struct name *domain, *message; /* NULL = the default domain; the message has no name yet */
	const char *text;              /* the message */
	uint32_t bytes;
};

static bool matches(const char *text, uint32_t bytes, const char *wanted)
{
	return !*wanted || text_part_matches(text, bytes, wanted, wanted + text_length(wanted));
}

static bool is_chosen(const struct beginning *b)
{
	const struct name *domain = b->domain;
	return matches(b->text, b->bytes, pattern) &&
		matches(domain ? domain->text : "", domain ? domain->bytes : 0, domain_pattern);
}

/* Return what to note of a range that is measured or waits. Messages may be many: names that are
 * not of ranges keep half of the memory. */
static struct metrics_noted noted_of(const struct beginning *b)
{
	struct name *name = b->message;
	if (!name && b->bytes)
		name = names_intern_long(b->text, b->bytes, false);
	return (struct metrics_noted){.ns = b->ns,
		.tid = (uint32_t)sys_gettid(),
		.domain = names_ref(b->domain),
		.name = name || !b->bytes ? names_ref(name) : names_ref_of("(too many names)")};
}

/* ---- the context ---- */

/* Return the calling thread's context, or NULL. */
static void *context_current(void)
{
	static uint32_t (*get)(void **);
	void *context = NULL;
	void *driver = get ? NULL : libc_dlopen()("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (driver)
		*(void **)(void *)&get = libc.dlsym(driver, "cuCtxGetCurrent");
	return get && cuda_state() == CUDA_ON && !get(&context) ? context : NULL;
}

static void missing_note(const char *text, uint32_t *is_told, bool is_dropped)
{
	if (is_dropped)
		session_count_drop(DROP_CUPTI);
	if (!__atomic_exchange_n(is_told, 1, __ATOMIC_RELAXED))
		diagnostic_line(text);
}

/* Return whether a range can begin in a context that is measured. Muted, with the lock. */
static bool range_has_room(struct metrics_context *c)
{
	static uint32_t is_beside_told, is_captured_told;
	if (!c->started)
		return false;
	if (c->ranger == &thread_self || metrics_range_is_left(c))
		metrics_range_pop(c, true);
	if (c->ranger)
		missing_note("hardware metrics of some NVTX ranges are left out: CUPTI measures "
			     "one range of a context at a time, and threads had ranges at the "
			     "same time (LIBTRACE_GPU_METRICS_RANGE chooses some by their names)",
			&is_beside_told, true);
	else if (c->count == METRICS_BATCH_MAX && metrics_are_captured())
		missing_note("hardware metrics of some NVTX ranges are left out that began while a "
			     "stream was captured: CUPTI would have had to wait for the device",
			&is_captured_told, true);
	else
		return true;
	return false;
}

/* Begin the range in a context that has room for it. */
static void range_push(struct metrics_context *c, const struct metrics_noted *range)
{
	metrics_range_push(c, range);
	if (c->ranger == &thread_self)
		thread_self.metrics_range = METRICS_RANGE_OPEN;
}

/* ---- ranges that wait for a context ---- */

static struct metrics_noted waiting[WAITING_MAX]; /* tid 0 = free */

/* Return the range of this thread, 0: a free entry; or NULL. */
static struct metrics_noted *waiting_of(uint32_t tid)
{
	for (uint32_t i = 0; i < WAITING_MAX; i++)
		if (waiting[i].tid == tid)
			return &waiting[i];
	return NULL;
}

static void range_wait(const struct beginning *b)
{
	static uint32_t is_told;
	/* Its own entry is of a range whose end could not take the lock. */
	struct metrics_noted *place = waiting_of((uint32_t)sys_gettid());
	if (!place)
		place = waiting_of(0);
	if (!place) {
		missing_note("hardware metrics of some NVTX ranges are left out: more than 64 "
			     "threads had ranges without a context at the same time "
			     "(LIBTRACE_GPU_METRICS_RANGE chooses some by their names)",
			&is_told, true);
		return;
	}
	*place = noted_of(b);
	thread_self.metrics_range = METRICS_RANGE_WAITS;
}

static struct metrics_noted range_unwait(void)
{
	struct metrics_noted *place = waiting_of((uint32_t)sys_gettid()), range = {.tid = 0};
	thread_self.metrics_range = METRICS_RANGE_NONE;
	if (place) {
		range = *place;
		place->tid = 0;
	}
	return range;
}

void cuda_metrics_range_late(uint32_t context)
{
	struct metrics_context *c = metrics_context_of(NULL, context);
	if (!c)
		return;
	const struct metrics_noted range = range_unwait();
	if (range.tid && range_has_room(c))
		range_push(c, &range);
}

void cuda_metrics_ranges_forked(void)
{
	for (uint32_t i = 0; i < WAITING_MAX; i++)
		waiting[i].tid = 0;
}

/* ---- the bounds of ranges ---- */

/* Begin the range in the current context, or let it wait for one. Muted, with the lock. */
static void range_begin_here(const struct beginning *b)
{
	void *handle = metrics_have_context() ? context_current() : NULL;
	struct metrics_context *c = handle ? metrics_context_of(handle, 0) : NULL;
	if (c && range_has_room(c)) {
		const struct metrics_noted range = noted_of(b);
		range_push(c, &range);
	} else if (!handle) {
		range_wait(b);
	}
}

/* Take the lock, unless CUPTI or the driver may have been interrupted with theirs: in a handler, or
 * in a CUDA call that a cancelled thread has left. */
static bool range_enter(struct muted *ret_muted)
{
	return !thread_self.cuda_level && !registers_in_handler() && metrics_enter(ret_muted, true);
}

static bool range_begin(struct name *domain, struct name *message, const char *text, uint32_t bytes)
{
	static uint32_t is_nested_told, is_late_told;
	const struct thread *t = &thread_self;
	const struct beginning b = {clock_monotonic_ns(), domain, message, text, bytes};
	struct muted muted;
	if (!metrics_are_wanted() || !is_chosen(&b))
		return false;
	if (t->metrics_range) {
		missing_note("hardware metrics of NVTX ranges within measured ones are left out: "
			     "CUPTI measures one level at a time (LIBTRACE_GPU_METRICS_RANGE "
			     "chooses ranges by their names)",
			&is_nested_told, false);
		return false;
	}
	if (!range_enter(&muted)) {
		missing_note("hardware metrics of NVTX ranges are left out that begin in a signal "
			     "handler or a CUDA call, or while another thread is slow",
			&is_late_told, true);
		return false;
	}
	range_begin_here(&b);
	metrics_leave(&muted);
	return t->metrics_range != METRICS_RANGE_NONE;
}

static void range_end(bool is_left)
{
	struct muted muted;
	const bool has_entered = range_enter(&muted);
	const bool waits = thread_self.metrics_range == METRICS_RANGE_WAITS;
	thread_self.metrics_range = METRICS_RANGE_NONE;
	if (!has_entered) {
		metrics_range_leave((uint32_t)sys_gettid());
		return;
	}
	if (waits)
		range_unwait();
	struct metrics_context *c = metrics_context_ranged(&thread_self);
	if (c)
		metrics_range_pop(c, is_left);
	metrics_leave(&muted);
}

/* ---- start ---- */

/* Copy the option's text after "nvtx:", PATTERN[@DOMAIN]. Return false if it is too long. */
static bool patterns_read(const char *text)
{
	size_t at = 0;
	const size_t bytes = text_length(text);
	if (bytes >= TEXT_BYTES)
		return false;
	while (at < bytes && text[at] != '@')
		at++;
	bytes_copy(pattern, text, at);
	if (at < bytes)
		text_append(domain_pattern, sizeof(domain_pattern), 0, text + at + 1);
	return true;
}

void cuda_metrics_start(void)
{
	static const struct range_hooks hooks = {range_begin, range_end};
	const char *given = session.config.gpu_metrics_range, *why = NULL;
	if (!given || text_equal(given, "kernel"))
		return;
	if (!text_equal(given, "nvtx") && !text_begins(given, "nvtx:"))
		why = "LIBTRACE_GPU_METRICS_RANGE is neither kernel nor nvtx[:PATTERN[@DOMAIN]]";
	else if (!session.config.nvtx)
		why = "NVTX is not traced, whose ranges are wanted";
	else if (session.config.gpu_metrics_hz)
		why = "ranges of NVTX are not sampled in time";
	else if (given[4] && !patterns_read(given + 5))
		why = "LIBTRACE_GPU_METRICS_RANGE is too long";
	if (!session.config.gpu_metrics)
		why = NULL;
	if (why) {
		metrics_give_up(why, CUPTI_OK);
		return;
	}
	metrics_by_nvtx = true;
	range_hooks = &hooks;
}
