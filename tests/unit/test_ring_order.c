/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ring_order.c - the queue between a thread and the writer, and the writer's sleep, on
 * processors that reorder memory.
 *
 * Both halves are the product's own code, with chunks of four records, compiled so that each access
 * is a call of weak_memory.c, which tries all values that each load may have. Weakening any one of
 * the accesses that cross between the halves must cause a fault, or this test proves nothing. (The
 * entries of chunks are stored before the head that needs them, and need no order of their own.)
 */
// timeout: 120
#define _GNU_SOURCE
#include <string.h>

#include "tap.h"
#include "weak_memory.h"
#include "common/spool.h"
#include "common/tree.h"
#include "machine/machine.h"

#undef CHUNK_BYTES
#undef CHUNK_FIRST_BYTES
#define CHUNK_BYTES 128u
#define CHUNK_FIRST_BYTES CHUNK_BYTES
/* Its contract; tests/e2e/aarch64.py looks for the instruction that fulfills it. */
#define machine_owner_publish(word, amount) \
	((void)__atomic_fetch_add(word, amount, __ATOMIC_RELEASE))

#include "tracer/core/lane.c"
#include "writer/spool/lanes.c"

#define PUTS 7u
#define LOOKS 2
#define OWNED_CHUNKS 2u
#define CHUNK_AT(number) (LANE_BYTES + (number)*4096u)

static _Alignas(4096) unsigned char file[LANE_BYTES + OWNED_CHUNKS * 4096u];
static struct lane *const lane = (struct lane *)(void *)file;
static struct tree_control control;
static struct spool spool;
static struct lane_view view, *views[] = {&view};
static uint32_t chunks_taken;
static uint64_t put_count, expected, missed;

/* ---- what lane.c and lanes.c call ---- */

struct session session;
__thread struct thread thread_self;

void diagnostic_line(const char *text)
{
	weak_fault(text);
}

bool gate_is_wiped(void)
{
	return false;
}

void session_count_drop(enum drop_reason reason)
{
	(void)reason;
}

void session_count_drops(enum drop_reason reason, uint64_t events)
{
	(void)reason, (void)events;
}

void session_count_drops_early(enum drop_reason reason, uint64_t events)
{
	(void)reason, (void)events;
}

void session_pause(uint64_t ns)
{
	(void)ns;
}

void thread_look_for_stray(struct thread *t)
{
	(void)t;
}

bool writer_wait_begin(struct writer_wait *p)
{
	(void)p;
	return false;
}

bool writer_wait_goes_on(struct writer_wait *p)
{
	(void)p;
	return false;
}

void writer_wait_end(struct writer_wait *p, bool in_vain)
{
	(void)p, (void)in_vain;
}

uint64_t spool_file_take(uint64_t bytes, uint64_t now, void **ret_place)
{
	(void)bytes, (void)now, (void)ret_place;
	return chunks_taken < OWNED_CHUNKS ? CHUNK_AT(chunks_taken++) : 0;
}

bool spool_file_reserve(void *place, uint64_t bytes)
{
	(void)place, (void)bytes;
	return true;
}

char *spool_file_chunk(uint64_t offset)
{
	return (char *)file + offset;
}

void *spool_at(struct spool *s, uint64_t offset, uint64_t bytes)
{
	(void)s, (void)bytes;
	return file + offset;
}

struct spool_header *spool_header(const struct spool *s)
{
	(void)s;
	return NULL;
}

uint64_t spool_data_bytes(const struct spools *s, const struct spool *of)
{
	(void)s, (void)of;
	return UINT64_MAX;
}

/* ---- the queue ---- */

static void queue_reset(void)
{
	static struct spool_header header;
	memset(file, 0, sizeof(file));
	memset(&thread_self, 0, sizeof(thread_self));
	session.spool = &header;
	session.control = &control;
	thread_self.lane = lane;
	view = (struct lane_view){0};
	spool = (struct spool){.lanes = views, .lane_count = 1};
	chunks_taken = 0;
	put_count = missed = 0;
	expected = 1;
}

/* Put records of one and two slots, more than two chunks hold. */
static void producer(void)
{
	const uint64_t payload[4] = {1, 2, 3, 4};
	for (unsigned i = 0; i < PUTS; i++) {
		unsigned bytes = i % 3 ? 0 : sizeof(payload);
		if (lane_put(&thread_self, 1, 1, put_count + 1, 0, payload, bytes))
			put_count++;
	}
}

static void record_take(const struct record *r, uint64_t left)
{
	uint64_t slots = 1 + ((r->word >> RECORD_LENGTH_SHIFT) + RECORD_BYTES - 1) / RECORD_BYTES;
	if (!r->word)
		weak_fault("a published record is empty");
	if ((r->word & RECORD_KIND_MASK) == REC_PAD) {
		view.position += left;
		return;
	}
	if ((r->word & RECORD_KIND_MASK) == REC_GAP)
		missed += r->a & 0xffffffffffffull;
	else if (r->a != expected++)
		weak_fault("a record is not the next one");
	const uint64_t *payload = (const void *)(r + 1);
	if (slots == 2 && payload[3] != 4)
		weak_fault("a payload is missing");
	view.position += slots * RECORD_BYTES;
}

/* As lane_drain() and tails_advance(). */
static void consume(void)
{
	uint64_t fullest = 0;
	spool_look(NULL, &spool, &fullest);
	if (view.damaged)
		weak_fault("the lane is damaged");
	while (view.position < view.head) {
		uint64_t number = view.position / CHUNK_BYTES;
		uint64_t offset = lane_chunk_offset(lane_of(&spool, &view), number);
		if (!offset)
			weak_fault("a published record has no chunk");
		record_take((const void *)(file + offset + view.position % CHUNK_BYTES),
			CHUNK_BYTES - view.position % CHUNK_BYTES);
	}
	lane_tail_store(lane, view.position);
}

static void consumer(void)
{
	for (unsigned i = 0; i < LOOKS; i++)
		consume();
}

static void queue_finish(void)
{
	consume();
	if (expected != put_count + 1 || put_count + missed + lane->gap_count != PUTS)
		weak_fault("records are missing");
}

static struct exploration queue_explore(const char *name, unsigned thread)
{
	static void (*const threads[2])(void) = {producer, consumer};
	return weak_explore(queue_reset, threads, queue_finish, (struct weakening){name, thread});
}

/* ---- the sleep ---- */

static bool sleeps;

static void sleep_reset(void)
{
	control.wake = control.sleeping = 0;
	sleeps = false;
}

static void waker(void)
{
	if (tree_wake(&control))
		sleeps = false; /* futex(FUTEX_WAKE) */
}

/* futex(FUTEX_WAIT) compares the word again, with all of the kernel's barriers. */
static void sleeper(void)
{
	if (tree_sleep(&control, 0))
		sleeps = __atomic_load_n(&control.wake, __ATOMIC_SEQ_CST) == 0;
}

static void sleep_finish(void)
{
	if (sleeps)
		weak_fault("the writer sleeps and was to be woken");
}

static struct exploration sleep_explore(const char *name, unsigned thread)
{
	static void (*const threads[2])(void) = {waker, sleeper};
	return weak_explore(sleep_reset, threads, sleep_finish, (struct weakening){name, thread});
}

int main(void)
{
	static const char HEAD[] = "head", TAIL[] = "tail", CHUNK[] = "chunk", WAKE[] = "wake",
			  SLEEPING[] = "sleeping";
	static const struct {
		struct exploration (*explore)(const char *, unsigned);
		const char *name, *what[2];
	} crossings[] = {
		{queue_explore, HEAD, {"the producer's store", "the writer's load"}},
		{queue_explore, TAIL, {"the producer's load", "the writer's store"}},
		{sleep_explore, WAKE, {"the producer's addition", "the writer's load"}},
		{sleep_explore, SLEEPING, {"the producer's load", "the writer's store"}},
	};
	weak_share(file, sizeof(file));
	weak_name(&lane->head, 8, HEAD, 0);
	weak_name(&lane->tail, 8, TAIL, 1);
	for (unsigned i = 0; i < 4; i++)
		weak_name(&lane->chunk[i], 8, CHUNK, 0);
	weak_name(&control.wake, 4, WAKE, 0);
	weak_name(&control.sleeping, 4, SLEEPING, 1);

	struct exploration e = queue_explore(NULL, 0);
	check(!e.fault && e.executions > 1000, "queue: %llu executions: %s",
		(unsigned long long)e.executions, e.fault ? e.fault : "no fault");
	e = sleep_explore(NULL, 0);
	check(!e.fault && e.executions > 3, "sleep: %llu executions: %s",
		(unsigned long long)e.executions, e.fault ? e.fault : "no fault");
	for (unsigned i = 0; i < 2 * sizeof(crossings) / sizeof(*crossings); i++) {
		e = crossings[i / 2].explore(crossings[i / 2].name, i % 2);
		check(e.fault, "%s of `%s` weakened: %s", crossings[i / 2].what[i % 2],
			crossings[i / 2].name, e.fault ? e.fault : "no fault");
	}
	return tap_done();
}
