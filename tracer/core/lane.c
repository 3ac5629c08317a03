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
#include "machine/machine.h"
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
	if (tree_wake(control) && !session.restricted)
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

/*
 * Make the chunk for number `n` usable, if the writer has emptied it or a new chunk is available.
 * One exchange decides, once per number: a handler may interrupt this and never return, or fork by
 * a raw system call, and the child continues here, too, at any later time.
 */
static bool chunk_ready(struct lane *lane, uint64_t n)
{
	uint64_t *entry = &lane->chunk[n % LANE_CHUNKS_MAX], before = *entry, offset = 0;
	uint32_t count = n ? lane_chunk_count(lane, n - 1) : 0;
	if (lane_chunk_offset(lane, n))
		return true;
	uint64_t tail = lane_tail_load(lane);
	if (count && n >= count && tail >= (n - count + 1) * CHUNK_BYTES) {
		offset = lane_chunk_offset(lane, n - count);
	} else if (count < LANE_CHUNKS_MAX) {
		void *place;
		offset = spool_file_take(CHUNK_BYTES, n ? CHUNK_BYTES : CHUNK_FIRST_BYTES, &place);
		lane->partial = n == 0;
		count++;
	}
	if (!offset)
		return false;
	__atomic_compare_exchange_n(entry, &before, lane_chunk_entry(n, offset, count), false,
		__ATOMIC_RELEASE, __ATOMIC_RELAXED);
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
	if (thread_self.sampling || !n || !writer_helps() || !writer_wait_begin(&p))
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
	for (unsigned fn = 0, count = fn_count(); fn < count; fn++)
		total += FN_SUM_CALLS(lane->sums[fn].count);
	return total;
}

void lane_audit_begin(struct thread *t)
{
	t->published = t->lane->head;
	t->counted = t->lane->summed ? sums_total(t->lane) : 0;
	t->flushed = 0;
}

static void count_alien(uint64_t events)
{
	diagnostic_line(
		"a child that a signal handler forked by a raw system call has continued in its "
		"parent's lane: events may be duplicated or lost");
	session_count_drops(DROP_SHARED, events);
}

static void audit_head(struct thread *t)
{
	uint64_t ours = t->published, head = t->lane->head;
	if (__builtin_expect(head != ours && !t->nested && !t->shared, 0)) {
		t->published = head;
		count_alien((head > ours ? head - ours : ours - head) / RECORD_BYTES);
	}
}

/* `counted` is read last: a handler adds to it before it adds to the sum. */
void lane_audit(struct thread *t)
{
	audit_head(t);
	if (!t->lane->summed && t->counted == t->flushed) /* no page of the sums is in use */
		return;
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
	if (n && position % CHUNK_BYTES == 0)
		lane_wake_writer();
	if (!chunk_ready(lane, n) && !chunk_wait(lane, n))
		return false;
	char *start = spool_file_chunk(lane_chunk_offset(lane, n));
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

static struct record *record_at(const struct thread *t, uint64_t at)
{
	return (struct record *)(void *)(t->base + at);
}

/* Make room within one chunk and return its address, or NULL; the rest of a chunk that is too short
 * is filled up. */
static struct record *room_make(struct thread *t, unsigned slots)
{
	struct lane *lane = t->lane;
	for (unsigned step = 0; step < ROOM_STEPS; step++) {
		uint64_t position = lane->head, at = position % CHUNK_BYTES;
		if (t->chunk != position / CHUNK_BYTES + 1) {
			if (!chunk_enter(t))
				return NULL;
		} else if (at + slots * RECORD_BYTES <= t->bound) {
			return record_at(t, at);
		} else if (t->bound <
			CHUNK_BYTES) { /* treat the chunk as full: then all of it gets reserved */
			t->bound = chunk_bound(lane, t->base, CHUNK_FIRST_BYTES);
			if (!t->bound) {
				t->chunk = 0;
				return NULL;
			}
		} else if (gate_is_wiped()) {
			return NULL;
		} else {
			*record_at(t, at) = (struct record){.tick = 1, .word = REC_PAD};
			lane_publish(t, (unsigned)((CHUNK_BYTES - at) / RECORD_BYTES));
		}
	}
	return NULL;
}

static void gap_close(struct thread *t, struct record *r)
{
	struct lane *lane = t->lane;
	*r = (struct record){lane->gap_last_tick, REC_GAP, lane->gap_reason << 48 | lane->gap_count,
		lane->gap_first_tick};
	lane->gap_count = 0;
	lane_publish(t, 1);
}

static bool has_nested(const struct lane *lane)
{
	return lane->nested_count != lane->nested_moved;
}

/* Move the records that handlers have stored aside; more may arrive meanwhile. Their numbers do not
 * repeat, so a child that continues here deletes no record of its parent's handlers. */
static bool nested_move(struct thread *t)
{
	struct lane *lane = t->lane;
	for (unsigned i = 0; i < NESTED_RECORDS && has_nested(lane); i++) {
		uint32_t number = lane->nested_moved;
		if (lane->nested_whole[number % NESTED_RECORDS] != number + 1) {
			lane->dropped[DROP_NESTED]++; /* siglongjmp() left its handler */
		} else {
			struct record *r = room_make(t, 1);
			if (!r)
				return false;
			*r = lane->nested[number % NESTED_RECORDS];
			lane_publish(t, 1);
		}
		__atomic_compare_exchange_n(&lane->nested_moved, &number, number + 1, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	return true;
}

/* Number of records at the end of a chunk that are written through lane_room(): the last, since
 * another chunk is current after it, and some more, since another task may have moved the head that
 * far. */
#define LAST_RECORDS 4u

/* Return the limit after `slots` from `r` on have been published. */
static uint32_t limit_after(const struct thread *t, const struct record *r, unsigned slots)
{
	uint32_t end = (uint32_t)((const char *)(r + slots) - t->base),
		 limit = CHUNK_BYTES - LAST_RECORDS * RECORD_BYTES;
	if (end > limit)
		return 0;
	return t->bound < CHUNK_BYTES ? t->bound : limit;
}

struct record *lane_room(struct thread *t, unsigned slots)
{
	struct lane *lane = t->lane;
	struct record *r = !has_nested(lane) || nested_move(t) ? room_make(t, slots) : NULL;
	if (r && lane->gap_count) {
		gap_close(t, r);
		r = room_make(t, slots);
	}
	if (!r) {
		t->limit = 0;
		count_drop(t);
		return NULL;
	}
	t->limit = limit_after(t, r, slots);
	if (has_nested(lane)) /* a handler added it meanwhile: moved at the next event */
		t->limit = 0;
	return r;
}

bool lane_put(struct thread *t, uint64_t tick, unsigned kind, uint64_t a, uint64_t b,
	const void *payload, uint64_t bytes)
{
	if (bytes > LANE_PAYLOAD_MAX)
		bytes = LANE_PAYLOAD_MAX;
	unsigned slots = record_slots(bytes);
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
	if (!lane) { /* another task on this memory has muted the thread */
		session_count_drop(DROP_SHARED);
		return;
	}
	uint32_t number = lane->nested_count, at;
	do {
		if (number - lane->nested_moved >= NESTED_RECORDS) {
			lane->dropped[DROP_NESTED]++;
			return;
		}
	} while (!__atomic_compare_exchange_n(&lane->nested_count, &number, number + 1, false,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	at = number % NESTED_RECORDS;
	lane->nested[at] = *record;
	lane->nested[at].word |= (uint64_t)RECORD_NESTED << RECORD_FLAGS_SHIFT;
	__atomic_store_n(&lane->nested_whole[at], number + 1, __ATOMIC_RELEASE);
	t->limit = 0; /* makes the next event call lane_room() */
}

/* Store `rest` and return true if the sum equals `*now`; otherwise load the sum into `*now`. */
static bool sum_exchange(struct fn_sum *sum, struct fn_sum *now, struct fn_sum rest)
{
	uint64_t expected[2] = {now->count, now->ticks};
	bool done = machine_exchange_pair(&sum->count, expected, rest.count, rest.ticks);
	*now = (struct fn_sum){.count = expected[0], .ticks = expected[1]};
	return done;
}

/* Subtract, only once, what has become a record: handlers add to the sum meanwhile, and a child
 * that one of them has forked by a raw system call continues here, too. */
static void sum_subtract(struct fn_sum *sum, struct fn_sum taken)
{
	struct fn_sum now = *sum, rest;
	do {
		if ((now.count ^ taken.count) >= FN_SUM_ROUND)
			return;
		rest.count = now.count - FN_SUM_CALLS(taken.count) + FN_SUM_ROUND;
		rest.ticks = now.ticks - taken.ticks;
	} while (!sum_exchange(sum, &now, rest));
}

void lane_flush_sums(struct thread *t)
{
	struct lane *lane = t->lane;
	if ((!lane->summed && t->counted == t->flushed) || session.spool->osrt_off)
		return;
	lane->summed = 0;
	for (unsigned fn = 0, count = fn_count(); fn < count; fn++) {
		struct fn_sum *sum = &lane->sums[fn], taken = *sum;
		uint64_t calls = FN_SUM_CALLS(taken.count);
		if (!calls)
			continue;
		lane->flushing = fn + 1;
		if (lane_put(t, clock_ticks(), REC_SUMMARY, (uint64_t)fn << 48 | calls, taken.ticks,
			    NULL, 0)) {
			t->flushed += calls;
			sum_subtract(sum, taken);
		} else {
			lane->summed = 1;
		}
		lane->flushing = 0;
	}
}
