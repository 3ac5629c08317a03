/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer_launches.c - tests of the NVTX ranges around a launch, which launches.c collects as
 * rows arrive: compares them with a linear search over all rows.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"
#include "writer/cuda/launches.h"
#include "writer/spool/spools.h"

#define THREADS 3u
#define STEPS 6000u /* steps of each thread */
#define DEPTH_MAX 12u
#define HEADER SPOOL_HEADER_BYTES
#define LAUNCH_NAME (HEADER / NVTX_NAME_UNIT)
#define OTHER_NAME (HEADER / NVTX_NAME_UNIT + 8)

struct event {
	uint64_t begin, end;
	uint32_t tid, number; /* correlation id, or the number in the text */
	bool is_call, is_span, is_launch;
};

static struct event events[THREADS * STEPS * 2];
static uint32_t event_count;
static uint64_t seed;

static uint32_t random_below(uint32_t limit)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % limit);
}

static void event_add(struct event e)
{
	e.number = event_count + 1;
	events[event_count++] = e;
}

/* Create the pushes, pops, starts, ends and calls of a thread. An event is added when it ends, as
 * records are. Ranges that are still open at the end last until `last_tick`. */
static void thread_make(uint32_t tid, uint64_t last_tick)
{
	uint64_t stack[DEPTH_MAX], span = 0, tick = tid;
	uint32_t depth = 0;
	for (uint32_t i = 0; i < STEPS; i++, tick += THREADS) {
		uint32_t what = random_below(10);
		if (what < 2 && depth < DEPTH_MAX) {
			stack[depth++] = tick;
		} else if (what < 4 && depth > 1) {
			event_add(
				(struct event){stack[--depth], tick, tid, 0, false, false, false});
		} else if (what == 4 && span) {
			event_add((struct event){span, tick, tid, 0, false, true, false});
			span = 0;
		} else if (what == 4) {
			span = tick;
		} else {
			event_add((struct event){
				tick, tick + 1, tid, 0, true, false, random_below(4) != 0});
		}
	}
	while (depth)
		event_add((struct event){stack[--depth], last_tick, tid, 0, false, false, false});
	if (span)
		event_add((struct event){span, last_tick, tid, 0, false, true, false});
}

static void spool_make(struct spool *spool, uint8_t *map)
{
	static const char *const names[] = {"cuLaunchKernel", "cuMemAlloc_v2"};
	*spool = (struct spool){.map = map, .map_bytes = HEADER + 4096};
	for (uint32_t i = 0; i < 2; i++) {
		struct nvtx_text *text = (void *)(map + HEADER + (size_t)i * 8 * NVTX_NAME_UNIT);
		text->bytes = (uint32_t)strlen(names[i]);
		memcpy(text + 1, names[i], text->bytes);
	}
}

static void feed(struct spool *spool, const struct event *e)
{
	char text[16];
	if (e->is_call) {
		launches_note_call(spool,
			&(struct launch_call){.tick = e->begin,
				.correlation = e->number,
				.tid = e->tid,
				.chain = e->number},
			e->is_launch ? LAUNCH_NAME : OTHER_NAME, 1, e->is_launch ? 1 : 2);
		return;
	}
	int bytes = snprintf(text, sizeof(text), "%u", e->number);
	launches_note_range(spool,
		&(struct launch_span){.tick = e->begin,
			.end_tick = e->end,
			.is_span = e->is_span,
			.tid = e->tid,
			.text = text,
			.text_bytes = (uint32_t)bytes});
}

/* Return whether the ranges of a call, named by the numbers in their texts, are all that a search
 * over all events finds, outermost first. */
static bool is_right(const struct launches *l, const struct launch_call *call)
{
	struct launch_range found[LAUNCH_RANGES_MAX];
	uint32_t count = launches_ranges(l, call, found), wanted = 0;
	uint64_t last = 0;
	for (uint32_t i = 0; i < event_count; i++) {
		const struct event *e = &events[i];
		if (e->is_call || e->begin > call->tick || e->end <= call->tick ||
			(!e->is_span && e->tid != call->tid))
			continue;
		bool met = false;
		for (uint32_t n = 0; n < count; n++)
			met |= (uint32_t)atoi(found[n].text) == e->number &&
				found[n].is_span == e->is_span && found[n].tid == e->tid;
		if (!met)
			return false;
		wanted++;
	}
	for (uint32_t n = 0; n < count; n++) {
		uint64_t begin = events[atoi(found[n].text) - 1].begin;
		if (begin < last)
			return false;
		last = begin;
	}
	return wanted == count;
}

/* Drain the threads in turn, `pass` events of each at a time. */
static void drained_in_turns(uint32_t pass)
{
	static uint8_t map[HEADER + 4096];
	struct spool spool;
	uint32_t first[THREADS + 1] = {0}, at[THREADS], right = 0, kept = 0, launches = 0,
				 known = 0;
	spool_make(&spool, map);
	event_count = 0;
	seed = pass;
	for (uint32_t t = 0; t < THREADS; t++) {
		at[t] = first[t] = event_count;
		thread_make(t + 1, (uint64_t)THREADS * STEPS * 2);
	}
	first[THREADS] = event_count;
	for (uint32_t left = event_count; left;)
		for (uint32_t t = 0; t < THREADS; t++)
			for (uint32_t i = 0; i < pass && at[t] < first[t + 1]; i++, left--)
				feed(&spool, &events[at[t]++]);
	for (uint32_t i = 0; i < event_count; i++) {
		if (!events[i].is_call)
			continue;
		const struct launch_call *call =
			launches_keep(launches_of(&spool), events[i].number);
		launches += events[i].is_launch;
		known += call != NULL;
		kept += call && events[i].is_launch && call->chain == events[i].number;
		right += call && is_right(launches_of(&spool), call);
	}
	check(kept == launches && known == launches,
		"in passes of %u events, all %u launches and nothing else are held: %u, %u", pass,
		launches, kept, known);
	check(right == launches, "each launch has the ranges that were open, outermost first: %u",
		right);
	slot_release(&spool.slots[SLOT_LAUNCHES]);
}

/* Feed four times as many calls as are held: the first calls, and those asked for, are kept. */
static void first_and_wanted_stay(void)
{
	static uint8_t map[HEADER + 4096];
	struct spool spool;
	uint32_t held = 0, latest = 0, calls = LAUNCH_CALLS * 4;
	struct launch_range ranges[LAUNCH_RANGES_MAX];
	const struct launch_call *wanted = NULL;
	spool_make(&spool, map);
	event_count = 0;
	for (uint32_t i = 0; i < calls; i++) {
		feed(&spool, &(struct event){i + 1, i + 2, 1, i + 1, true, false, true});
		feed(&spool, &(struct event){i + 1, i + 2, 1, 7, false, false, false});
		if (i == calls / 2)
			wanted = launches_keep(launches_of(&spool), i + 1);
	}
	feed(&spool, &(struct event){0, calls + 9, 1, 9, false, false, false}); /* around all */
	for (uint32_t i = 0; i < LAUNCH_CALLS_FIRST; i++) {
		const struct launch_call *call = launches_keep(launches_of(&spool), i + 1);
		held += call && launches_ranges(launches_of(&spool), call, ranges) == 2 &&
			!strcmp(ranges[0].text, "9") && !strcmp(ranges[1].text, "7");
	}
	for (uint32_t i = calls - LAUNCH_CALLS / 2; i < calls; i++) {
		const struct launch_call *call = launches_keep(launches_of(&spool), i + 1);
		latest += call && launches_ranges(launches_of(&spool), call, ranges) == 2;
	}
	check(held == LAUNCH_CALLS_FIRST, "the first %u calls are held with their ranges: %u",
		LAUNCH_CALLS_FIRST, held);
	check(latest == LAUNCH_CALLS / 2,
		"at least half as many of the latest calls as there is room for are held: %u",
		latest);
	check(wanted && wanted->correlation == calls / 2 + 1 &&
			launches_ranges(launches_of(&spool), wanted, ranges) == 2,
		"a call that was asked for is held");
	slot_release(&spool.slots[SLOT_LAUNCHES]);
}

/* Feed each call from a thread of its own, in a range of that thread. */
static void many_threads(void)
{
	static uint8_t map[HEADER + 4096];
	struct spool spool;
	uint32_t right = 0, calls = LAUNCH_CALLS * 4;
	struct launch_range ranges[LAUNCH_RANGES_MAX];
	spool_make(&spool, map);
	event_count = 0;
	for (uint32_t i = 0; i < calls; i++) {
		uint64_t at = 10 * i;
		feed(&spool, &(struct event){at + 1, at + 2, i + 1, i + 1, true, false, true});
		feed(&spool, &(struct event){at, at + 3, i + 1, i + 1, false, false, false});
	}
	for (uint32_t i = calls - LAUNCH_CALLS / 2; i < calls; i++) {
		const struct launch_call *call = launches_keep(launches_of(&spool), i + 1);
		right += call && call->tid == i + 1 && call->chain == i + 1 &&
			launches_ranges(launches_of(&spool), call, ranges) == 1 &&
			(uint32_t)atoi(ranges[0].text) == i + 1;
	}
	check(right == LAUNCH_CALLS / 2, "the latest calls of %u threads have their ranges: %u",
		calls, right);
	slot_release(&spool.slots[SLOT_LAUNCHES]);
}

int main(void)
{
	many_threads();
	drained_in_turns(1);
	drained_in_turns(200);
	drained_in_turns(STEPS);
	first_and_wanted_stay();
	return tap_done();
}
