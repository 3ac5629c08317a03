/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c - flushes of CUPTI: at ends of contexts, windows and the process; and the source in a
 * forked child.
 */
#define _GNU_SOURCE
#include "tracer/cuda/cuda.h"

#include "common/clock.h"
#include "common/text.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/spool_file.h"
#include "tracer/core/state.h"
#include "tracer/cuda/functions.h"
#include "tracer/cuda/hooks.h"
#include "tracer/cuda/metrics.h"
#include "unwind/registers.h"

/* Return true if a call is in progress whose start was recorded: its end is to be recorded, too. */
static bool calls_are_open(void)
{
	const struct spool_header *spool = session.spool;
	uint32_t count = __atomic_load_n(&spool->lane_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count && i < SPOOL_LANES_MAX; i++) {
		uint64_t offset = __atomic_load_n(&spool->lane_offset[i], __ATOMIC_ACQUIRE);
		const struct lane *lane = offset ? spool_file_at(offset) : NULL;
		if (lane && __atomic_load_n(&lane->cuda_open.tick, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

/* Enabled kinds and callbacks slow the program down even if nothing is recorded. Operations
 * launched in the last window get a second to end. */
#define OVER_NS 1000000000u

void cuda_look_over(void)
{
	static uint64_t seen_ns;
	uint64_t none = 0;
	if (cuda_state() != CUDA_ON || !capture_is_over(session.control))
		return;
	uint64_t now = clock_monotonic_ns();
	if (__atomic_compare_exchange_n(
		    &seen_ns, &none, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		now - none < OVER_NS || calls_are_open())
		return;
	cuda_flush_all(true);
	if (cuda_state() == CUDA_ENDED)
		cuda_callbacks_enable(false);
}

static void flush_note(uint32_t result)
{
	static uint32_t is_reported;
	char text[120];
	if (result == CUPTI_OK)
		return;
	session_count_drop(DROP_CUPTI); /* the number is not known: count at least one */
	if (__atomic_exchange_n(&is_reported, 1, __ATOMIC_RELAXED))
		return;
	size_t at = text_append(text, sizeof(text), 0,
		"CUDA records are missing: CUPTI failed to deliver them (error ");
	at = text_append_number(text, sizeof(text), at, result, 10);
	text_append(text, sizeof(text), at, ")");
	diagnostic_line(text);
}

/* Does nothing within a CUDA call of this thread: a handler may have interrupted it, with CUPTI's
 * locks held. */
void cuda_flush_all(bool is_last)
{
	struct thread *t = &thread_self;
	if (cuda_state() != CUDA_ON || t->busy || t->cuda_level)
		return;
	if (is_last && __atomic_exchange_n(&cuda.ended, 1, __ATOMIC_ACQ_REL))
		return;
	cuda_metrics_flush(is_last);
	if (is_last)
		cuda_kinds_disable();
	flush_note(cupti.ActivityFlushAll(CUPTI_FLUSH_FORCED));
	if (is_last)
		cuda_state_set(CUDA_ENDED);
}

void cuda_flush_at_end(bool is_last)
{
	if (!registers_in_handler())
		cuda_flush_all(is_last);
	else if (!is_last || !__atomic_exchange_n(&cuda.ended, 1, __ATOMIC_ACQ_REL)) /* only once */
		diagnostic_line("CUDA records may be missing: the process ended in a signal "
				"handler before CUPTI had delivered all of them");
}

void cuda_forked(void)
{
	uint32_t state = cuda_state();
	bool again = state == CUDA_ON && !cuda.used && cuda_page_create();
	if (!again)
		cuda.page = NULL;
	again = cuda_activity_forked(again);
	cuda_functions_forked();
	cuda_module_forked();
	cuda_metrics_forked(again || state == CUDA_NEW);
	if (state != CUDA_NEW)
		cuda_state_set(again ? CUDA_ON : CUDA_OFF);
}
