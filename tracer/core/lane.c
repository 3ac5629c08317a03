/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane.c - the producer's side of a lane: chunks, room, gaps, nested records, sums.
 */
#define _GNU_SOURCE
#include "tracer/core/lane.h"

#include "common/clock.h"
#include "common/schema/functions.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/writer_wait.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/gate.h"
#include "tracer/core/state.h"
#include "tracer/core/spool_file.h"

#define STRAY_CHUNKS 4u /* chunks between two checks for a second task: each is a system call */
#define CLOCK_POINT_TICKS (UINT64_C(1) << 21) /* about a millisecond: a clock point costs 0.2 us */

void lane_wake_writer(void)
{
	struct tree_control *control = session.control;
	__atomic_add_fetch(&control->wake, 1, __ATOMIC_RELEASE);
	if (__atomic_load_n(&control->sleeping, __ATOMIC_ACQUIRE) && !session.restricted)
		sys_futex_wake(&control->wake, 1);
}

/* Store a fresh clock point for `trace recover`, which cannot take a point of that time later. */
static void refresh_clock_point(void)
{
	struct spool_header *spool = session.spool;
	uint64_t sequence = __atomic_load_n(&spool->last_sequence, __ATOMIC_RELAXED);
	if (sequence & 1 ||
		!__atomic_compare_exchange_n(&spool->last_sequence, &sequence, sequence + 1, false,
			__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	struct clock_point now;
	clock_point_take(&now);
	spool->last.mono_ns = now.mono_ns;
	spool->last.error_ns = now.error_ns;
	__atomic_store_n(&spool->last.tick, now.tick, __ATOMIC_RELAXED); /* other threads read it */
	__atomic_store_n(&spool->last_sequence, sequence + 2, __ATOMIC_RELEASE);
}

/* Store a chunk of the lane under number `n`, unless that has been done since `held` and `ready`
 * were read: a handler may have forked by an instruction, and the child continues here, too. */
static void chunk_store(
	struct lane *lane, uint64_t n, uint64_t offset, uint64_t held, uint64_t ready)
{
	__atomic_compare_exchange_n(&lane->chunk[n % LANE_CHUNKS_MAX], &held, offset, false,
		__ATOMIC_RELEASE, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(
		&lane->chunks_ready, &ready, n + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Make the chunk for number `n` usable, if the writer has emptied it or a new chunk is available.
 * Do so once per number: it may be usable already, by code that a handler interrupted for good
 * before it wrote there. */
static bool chunk_ready(struct lane *lane, uint64_t n)
{
	uint64_t ready = lane->chunks_ready, held = lane->chunk[n % LANE_CHUNKS_MAX];
	uint32_t count = lane->chunk_count;
	if (ready == n + 1)
		return true;
	uint64_t tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);
	if (count && n >= count && tail >= (n - count + 1) * CHUNK_BYTES) {
		chunk_store(lane, n, lane->chunk[(n - count) % LANE_CHUNKS_MAX], held, ready);
		return true;
	}
	if (count >= LANE_CHUNKS_MAX)
		return false;
	void *place;
	uint64_t offset = spool_file_take(CHUNK_BYTES, n ? CHUNK_BYTES : CHUNK_FIRST_BYTES, &place);
	if (!offset)
		return false;
	lane->partial = n == 0;
	__atomic_compare_exchange_n(
		&lane->chunk_count, &count, count + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	chunk_store(lane, n, offset, held, ready);
	return true;
}

static bool writer_helps(void)
{
	struct tree_control *control = session.control;
	return __atomic_load_n(&control->writer_state, __ATOMIC_ACQUIRE) == WRITER_RUNNING &&
		__atomic_load_n(&control->sink_state, __ATOMIC_ACQUIRE) == SINK_OK &&
		!tree_writer_died(control);
}

/* Wait until the writer has emptied a chunk of the lane: it provides no new ones. A wait in vain
 * counts for all threads: otherwise each of thousands of short-lived threads would wait. */
static bool chunk_wait(struct lane *lane, uint64_t n)
{
	struct writer_wait p;
	uint64_t begin = clock_ticks();
	bool ready = false;
	if (thread_self.sampling || !lane->chunk_count || !writer_helps() || !writer_wait_begin(&p))
		return false;
	do {
		lane_wake_writer();
		session_pause(WRITER_WAIT_ROUND_NS);
		ready = chunk_ready(lane, n);
	} while (!ready && writer_wait_goes_on(&p) && writer_helps());
	writer_wait_end(&p, !ready);
	if (!ready) /* a failed call's time is counted by the caller */
		__atomic_add_fetch(
			&session.spool->tracer_ticks, clock_ticks() - begin, __ATOMIC_RELAXED);
	return ready;
}

/* Return the position up to which the chunk at `start` may be written, from `position` on; 0 = no
 * room for the rest. */
static uint32_t chunk_bound(struct lane *lane, char *start, uint64_t position)
{
	if (!lane->partial || position >= CHUNK_BYTES)
		return CHUNK_BYTES;
	if (position < CHUNK_FIRST_BYTES)
		return CHUNK_FIRST_BYTES;
	if (!spool_file_reserve(start + CHUNK_FIRST_BYTES, CHUNK_BYTES - CHUNK_FIRST_BYTES))
		return 0;
	lane->partial = 0;
	return CHUNK_BYTES;
}

/* ---- records that another process has written to the lane ---- */

static uint64_t sums_total(const struct lane *lane)
{
	uint64_t total = 0;
	for (unsigned fn = 0, count = fn_count(); lane->has_sums && fn < count; fn++)
		total += lane->sums[fn].count;
	return total;
}

void lane_audit_begin(struct thread *t)
{
	t->published = t->lane->head;
	t->counted = sums_total(t->lane);
	t->flushed = 0;
}

static void count_alien(uint64_t events)
{
	diagnostic_line(
		"a child that an instruction forked in a signal handler has continued in its "
		"parent's lane: events may be doubled or lost");
	session_count_drops(DROP_SHARED, events);
}

static void audit_head(struct thread *t)
{
	uint64_t ours = t->published, head = t->lane->head;
	if (__builtin_expect(head > ours && !t->nested && !t->shared, 0)) {
		t->published = head;
		count_alien((head - ours) / RECORD_BYTES);
	}
}

/* `counted` is read last: a handler adds to it before it adds to the sum. */
void lane_audit(struct thread *t)
{
	audit_head(t);
	uint64_t held = t->flushed + sums_total(t->lane);
	THREAD_BARRIER();
	if (held > t->counted && !t->nested && !t->shared) {
		count_alien(held - t->counted);
		t->counted = held;
	}
}

/* ---- room ---- */

/* Make the chunk of the lane's next record current. */
static bool chunk_enter(struct thread *t)
{
	struct lane *lane = t->lane;
	uint64_t begin = clock_ticks();
	if (gate_is_wiped()) /* forked by a handler meanwhile: this is the parent's lane */
		return false;
	audit_head(t);
	uint64_t position = lane->head, n = position / CHUNK_BYTES;
	if (n % STRAY_CHUNKS == 0)
		thread_look_for_stray(t);
	if (position % CHUNK_BYTES == 0) { /* otherwise a thread takes over a lane within a chunk */
		if (n)
			lane_wake_writer();
		if (!chunk_ready(lane, n) && !chunk_wait(lane, n))
			return false;
	}
	char *start = spool_file_chunk(lane->chunk[n % LANE_CHUNKS_MAX]);
	uint32_t bound = start ? chunk_bound(lane, start, position) : 0;
	if (!bound)
		return false;
	t->limit = 0;
	t->base = start;
	t->bound = bound;
	t->chunk = n + 1;
	if (begin - __atomic_load_n(&session.spool->last.tick, __ATOMIC_RELAXED) >
		CLOCK_POINT_TICKS)
		refresh_clock_point();
	__atomic_add_fetch(&session.spool->tracer_ticks, clock_ticks() - begin, __ATOMIC_RELAXED);
	return true;
}

static void count_drop(struct thread *t)
{
	struct lane *lane = t->lane;
	if (gate_is_wiped()) {
		session_count_drops_early(DROP_NESTED, 1);
		return;
	}
	enum drop_reason reason =
		__atomic_load_n(&session.control->sink_state, __ATOMIC_RELAXED) == SINK_STALLED
		? DROP_SINK_STALLED
		: DROP_RING_FULL;
	uint64_t now = clock_ticks();
	if (!lane->gap_count)
		lane->gap_first_tick = now;
	lane->gap_last_tick = now;
	lane->gap_reason = reason;
	lane->gap_count++;
	lane->dropped[reason]++;
}

/* Steps of room_make(): it enters a chunk, reserves the rest of one, fills one up. More are
 * needed only where another task runs on this memory. */
#define ROOM_STEPS 8

/* Make room within one chunk; the rest of a chunk that is too short is filled up. */
static bool room_make(struct thread *t, unsigned slots)
{
	struct lane *lane = t->lane;
	for (unsigned step = 0; step < ROOM_STEPS; step++) {
		uint64_t position = lane->head, at = position % CHUNK_BYTES;
		if (t->chunk != position / CHUNK_BYTES + 1) {
			if (!chunk_enter(t))
				return false;
		} else if (at + slots * RECORD_BYTES <= t->bound) {
			return true;
		} else if (t->bound <
			CHUNK_BYTES) { /* treat the chunk as full: then all of it gets reserved */
			t->bound = chunk_bound(lane, t->base, CHUNK_FIRST_BYTES);
			if (!t->bound) {
				t->chunk = 0;
				return false;
			}
		} else if (gate_is_wiped()) {
			return false;
		} else {
			*lane_next(t) = (struct record){.tick = 1, .word = REC_PAD};
			lane_publish(t, (unsigned)((CHUNK_BYTES - at) / RECORD_BYTES));
		}
	}
	return false;
}

static void gap_close(struct thread *t)
{
	struct lane *lane = t->lane;
	*lane_next(t) = (struct record){lane->gap_last_tick, REC_GAP,
		lane->gap_reason << 48 | lane->gap_count, lane->gap_first_tick};
	lane->gap_count = 0;
	lane_publish(t, 1);
}

/* Remove the first `moved` records; handlers may add some meanwhile. A free entry has word 0. */
static void nested_keep(struct lane *lane, uint32_t moved)
{
	uint32_t i = moved, count = lane->nested_count;
	if (!moved)
		return;
	do {
		for (; i < count; i++) {
			lane->nested[i - moved] = lane->nested[i];
			lane->nested[i].word = 0;
		}
	} while (!__atomic_compare_exchange_n(&lane->nested_count, &count, count - moved, false,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* Move the records that handlers have kept aside; more may come meanwhile. */
static bool nested_move(struct thread *t)
{
	struct lane *lane = t->lane;
	uint32_t moved = 0, count;
	do {
		for (count = lane->nested_count; moved < count; moved++) {
			if (!lane->nested[moved].word) { /* siglongjmp() left its handler */
				lane->dropped[DROP_NESTED]++;
				continue;
			}
			if (!room_make(t, 1)) {
				nested_keep(lane, moved);
				return false;
			}
			*lane_next(t) = lane->nested[moved];
			lane_publish(t, 1);
			lane->nested[moved].word = 0;
		}
	} while (!__atomic_compare_exchange_n(
		&lane->nested_count, &count, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

/* Return the limit after `slots` have been published. The last record of a chunk is written by way
 * of lane_room(): after it another chunk is current. */
static uint32_t limit_after(const struct thread *t, unsigned slots)
{
	uint64_t end = t->lane->head % CHUNK_BYTES + slots * RECORD_BYTES;
	if (end >= CHUNK_BYTES)
		return 0;
	return t->bound < CHUNK_BYTES ? t->bound : CHUNK_BYTES - RECORD_BYTES;
}

struct record *lane_room(struct thread *t, unsigned slots)
{
	bool room = (!t->lane->nested_count || nested_move(t)) && room_make(t, slots);
	if (room && t->lane->gap_count) {
		gap_close(t);
		room = room_make(t, slots);
	}
	if (!room) {
		t->limit = 0;
		count_drop(t);
		return NULL;
	}
	t->limit = limit_after(t, slots);
	if (t->lane->nested_count) /* a handler added it meanwhile: moved at the next event */
		t->limit = 0;
	return lane_next(t);
}

bool lane_put(struct thread *t, uint64_t tick, unsigned kind, uint64_t a, uint64_t b,
	const void *payload, uint64_t bytes)
{
	if (bytes > LANE_PAYLOAD_MAX)
		bytes = LANE_PAYLOAD_MAX;
	unsigned slots = 1 + (unsigned)((bytes + RECORD_BYTES - 1) / RECORD_BYTES);
	if (t->nested) { /* a handler interrupted the tracer, which may be about to write there */
		t->lane->dropped[DROP_NESTED]++;
		return false;
	}
	struct record *r = lane_room(t, slots);
	if (!r)
		return false;
	*r = (struct record){tick, bytes << RECORD_LENGTH_SHIFT | kind, a, b};
	if (bytes)
		bytes_copy(r + 1, payload, bytes);
	lane_publish(t, slots);
	return true;
}

/* Take an entry first and then fill it, since another handler may interrupt this one. */
void lane_put_nested(struct thread *t, const struct record *record)
{
	struct lane *lane = t->lane;
	uint32_t at = lane->nested_count;
	do {
		if (at >= NESTED_RECORDS) {
			lane->dropped[DROP_NESTED]++;
			return;
		}
	} while (!__atomic_compare_exchange_n(
		&lane->nested_count, &at, at + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	lane->nested[at] = *record;
	lane->nested[at].word |= (uint64_t)RECORD_NESTED << RECORD_FLAGS_SHIFT;
	t->limit = 0; /* makes the next event call lane_room() */
}

void lane_flush_sums(struct thread *t)
{
	struct lane *lane = t->lane;
	if (!lane->has_sums || session.spool->osrt_off)
		return;
	lane->has_sums = 0;
	for (unsigned fn = 0, count = fn_count(); fn < count; fn++) {
		struct fn_sum *sum = &lane->sums[fn];
		struct fn_sum taken = *sum;
		if (!taken.count)
			continue;
		lane->flushing = fn + 1;
		if (lane_put(t, clock_ticks(), REC_SUMMARY, (uint64_t)fn << 48 | taken.count,
			    taken.ticks, NULL, 0)) {
			t->flushed += taken.count;
			/* Subtract the sum instead of clearing it: a signal handler may have added
			 * to it. */
			__atomic_sub_fetch(&sum->count, taken.count, __ATOMIC_RELAXED);
			__atomic_sub_fetch(&sum->ticks, taken.ticks, __ATOMIC_RELAXED);
		} else {
			lane->has_sums = 1;
		}
		lane->flushing = 0;
	}
}
