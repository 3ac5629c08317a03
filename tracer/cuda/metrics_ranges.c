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

static bool matches(const char *text, uint32_t bytes, const char *wanted)
{
	char copy[TEXT_BYTES];
	if (!*wanted)
		return true;
	if (bytes >= sizeof(copy))
		bytes = sizeof(copy) - 1;
	bytes_copy(copy, text, bytes);
	copy[bytes] = 0;
	return text_matches(copy, wanted, wanted + text_length(wanted));
}

static bool is_chosen(const struct name *domain, const char *text, uint32_t bytes)
{
	return matches(text, bytes, pattern) &&
		matches(domain ? domain->text : "", domain ? domain->bytes : 0, domain_pattern);
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

/* Begin the range in a context that is measured. Muted, with the lock. */
static void range_push(struct metrics_context *c, const struct metrics_noted *range)
{
	static uint32_t is_told;
	thread_self.metrics_range = METRICS_RANGE_NONE;
	if (!c->started)
		return;
	if (c->ranger == &thread_self) /* its end could not take the lock */
		metrics_range_pop(c, true);
	if (!c->ranger)
		metrics_range_push(c, range);
	else
		missing_note("hardware metrics of some NVTX ranges are left out: CUPTI measures "
			     "one range of a context at a time, and threads had ranges at the "
			     "same time (LIBTRACE_GPU_METRICS_RANGE chooses some by their names)",
			&is_told, true);
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

static void range_wait(const struct metrics_noted *range)
{
	struct metrics_noted *place = waiting_of(0);
	if (!place)
		return;
	*place = *range;
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
	if (range.tid)
		range_push(c, &range);
}

void cuda_metrics_ranges_forked(void)
{
	for (uint32_t i = 0; i < WAITING_MAX; i++)
		waiting[i].tid = 0;
}

/* ---- the bounds of ranges ---- */

/* Begin the range in the current context, or let it wait for one. Muted, with the lock. */
static void range_begin_here(const struct metrics_noted *range)
{
	void *handle = metrics_have_context() ? context_current() : NULL;
	struct metrics_context *c = handle ? metrics_context_of(handle, 0) : NULL;
	if (c) {
		range_push(c, range);
	} else if (!handle) {
		range_wait(range);
	}
}

static bool range_begin(struct name *domain, const char *text, uint32_t bytes)
{
	static uint32_t is_nested_told, is_late_told;
	const struct thread *t = &thread_self;
	struct muted muted;
	if (!metrics_are_wanted() || !is_chosen(domain, text, bytes))
		return false;
	if (t->metrics_range) {
		missing_note("hardware metrics of NVTX ranges within measured ones are left out: "
			     "CUPTI measures one level at a time (LIBTRACE_GPU_METRICS_RANGE "
			     "chooses ranges by their names)",
			&is_nested_told, false);
		return false;
	}
	struct name *name = bytes ? names_intern(false, NULL, text, bytes, false, NULL) : NULL;
	const struct metrics_noted range = {.ns = clock_monotonic_ns(),
		.tid = (uint32_t)sys_gettid(),
		.domain = names_ref(domain),
		.name = names_ref(name)};
	if (t->cuda_level || registers_in_handler() || !metrics_enter(&muted, true)) {
		missing_note("hardware metrics of NVTX ranges are left out that begin in a signal "
			     "handler or a CUDA call, or while another thread is slow",
			&is_late_told, true);
		return false;
	}
	range_begin_here(&range);
	metrics_leave(&muted);
	return t->metrics_range != METRICS_RANGE_NONE;
}

static void range_end(bool is_left)
{
	struct muted muted;
	/* Without the lock the range stays open, and is left out when its batch ends. */
	const bool has_entered = metrics_enter(&muted, true);
	const bool waits = thread_self.metrics_range == METRICS_RANGE_WAITS;
	thread_self.metrics_range = METRICS_RANGE_NONE;
	if (!has_entered)
		return;
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
