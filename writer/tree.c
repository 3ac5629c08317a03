/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - common steps of following a live tree and recovering a dead tree.
 */
#define _GNU_SOURCE
#include "writer/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/sys.h"
#include "writer/base/notes.h"
#include "writer/base/output.h"
#include "writer/drain.h"
#include "writer/process/process.h"
#include "writer/sources.h"
#include "writer/spool/lanes.h"
#include "writer/spool/liveness.h"

/* Add the clock point of the process that created the tree, so that events before the writer have a
 * rate, too. */
static void clock_created_take(struct writer *w)
{
	const struct tree_control *c = w->control;
	const struct clock_point created = {
		c->created_tick, c->created_mono_ns, c->created_error_ns};
	if (c->clock_kind == CLOCK_KIND_TSC && created.tick)
		clockfit_add(&w->clock.fit, &created);
}

int tree_open_control(struct writer *w)
{
	int error = 0;
	if (w->control_fd < 0)
		w->control_fd = tree_open_file(w->spools.dir_fd, "control", O_RDWR);
	if (w->control_fd < 0)
		error = w->control_fd;
	else
		w->control = tree_map(w->spools.dir_fd, true, &error);
	if (w->control) {
		clock_created_take(w);
		return 0;
	}
	void *own = mmap(NULL, TREE_CONTROL_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	w->control = own == MAP_FAILED ? NULL : own;
	if (w->control)
		w->control->guard_first = w->control->guard_last = TREE_GUARD;
	return error;
}

/* Add a clock point. When recovering, no writer has followed the clock: between a point of a
 * process and ours the machine may have been suspended. */
static void point_add(struct writer *w, const struct clock_point *point)
{
	if (w->recovering && !w->clock.other_boot)
		clockfit_add_apart(&w->clock.fit, point);
	else
		clockfit_add(&w->clock.fit, point);
}

/* Use the clock points of the process if there are none of our own: a process may store any value,
 * and the times of all processes depend on them. */
static void clock_points_take(struct writer *w, struct spool *spool)
{
	struct spool_header *h = spool_header(spool);
	struct clock_point first = h->first, last = h->last;
	if (h->clock_kind != CLOCK_KIND_TSC || !w->recovering)
		return;
	if (first.tick)
		point_add(w, &first);
	if (last.tick > first.tick && !(__atomic_load_n(&h->last_sequence, __ATOMIC_ACQUIRE) & 1))
		point_add(w, &last);
}

/* Report spools that cannot be read: their processes count as not traced. */
static void refused_put(struct writer *w)
{
	struct spools *s = &w->spools;
	for (; s->refused_reported < s->refused_count; s->refused_reported++) {
		struct refused_spool *spool = &s->refused[s->refused_reported];
		process_put_untraced_reason(w, spool->pid, clock_monotonic_ns(), spool->reason);
		writer_note(w, spool->pid, clock_monotonic_ns(), "%s", spool->reason);
	}
}

int tree_discover(struct writer *w)
{
	uint32_t before = w->spools.count;
	w->seen.spools = __atomic_load_n(&w->control->spools, __ATOMIC_ACQUIRE);
	int found = spools_discover(&w->spools);
	refused_put(w);
	for (uint32_t i = before; i < w->spools.count; i++) {
		struct spool *spool = w->spools.all[i];
		int error = writer_make_room(w);
		if (error) {
			spools_forget_from(&w->spools, i); /* the next look finds it again */
			return error;
		}
		process_begin(w, spool);
		spool->breaks_before = w->recovering ? 0 : w->clock.fit.breaks;
		clock_points_take(w, spool);
		spool->dead = spool->dead_when_found =
			spool_is_dead(&w->spools, spool, clock_monotonic_ns());
		if (!spool->dead)
			watch_add(&w->watch, spool);
	}
	return found;
}

static void lanes_find(struct writer *w, struct spool *spool)
{
	uint32_t before = spool->lane_count;
	spool_find_lanes(spool);
	for (uint32_t i = before; i < spool->lane_count; i++)
		adopted_apply(w, spool, spool->lanes[i]);
}

uint64_t tree_look(struct writer *w, uint64_t *ret_fullest)
{
	uint64_t bytes = 0, fullest = 0;
	for (uint32_t i = 0; i < w->spools.count; i++) {
		struct spool *spool = w->spools.all[i];
		lanes_find(w, spool);
		bytes += spool_look(&w->spools, spool, &fullest);
	}
	*ret_fullest = fullest;
	return bytes;
}

#define TURN_BYTES (4ull * CHUNK_BYTES)

/* Return lane number `i` in the order of draining. The device lane is last, so that the calls of
 * its operations are known. */
static struct lane_view *lane_in_turn(const struct spool *spool, uint32_t i)
{
	uint32_t device = spool->device_lane;
	if (!device || i + 1 < device)
		return spool->lanes[i];
	return spool->lanes[i + 1 < spool->lane_count ? i + 1 : device - 1];
}

/* Drain all lanes of a spool for one turn. */
static int spool_drain(struct writer *w, struct spool *spool, bool *ret_more)
{
	for (uint32_t i = 0; i < spool->lane_count && !spool->finished; i++) {
		struct lane_view *view = lane_in_turn(spool, i);
		int error = view->closed ? 0 : lane_drain(w, spool, view, TURN_BYTES);
		if (error)
			return error;
		*ret_more |= !view->closed && !view->damaged && view->position < view->head;
	}
	return 0;
}

/* Drain in turns of a few chunks, so that a thread that waits for room need not wait until all
 * lanes are drained. */
int tree_drain(struct writer *w)
{
	int error = 0;
	writer_take_time(w);
	for (bool more = true; more && !error;) {
		more = false;
		for (uint32_t i = 0; i < w->spools.count && !error; i++)
			error = spool_drain(w, w->spools.all[i], &more);
	}
	return error;
}

/* Raise *latest to a tick of the spool, unless it is later than `now`. */
static void evidence_add(uint64_t *latest, uint64_t tick, uint64_t now)
{
	if (tick > *latest && tick <= now)
		*latest = tick;
}

static void lane_evidence(
	struct spool *spool, const struct lane_view *view, uint64_t *latest, uint64_t now)
{
	const struct lane *lane = lane_of(spool, view);
	if (!lane)
		return;
	uint64_t last = view->position - RECORD_BYTES,
		 chunk = lane_chunk_offset(lane, last / CHUNK_BYTES);
	evidence_add(latest, lane->gap_last_tick, now);
	evidence_add(latest, lane->open.sp ? lane->open.tick : 0, now);
	for (uint32_t i = 0; i < OPEN_CALLS; i++)
		evidence_add(latest, i < lane->open_depth ? lane->open_stack[i].tick : 0, now);
	/* The last record may have been read by a predecessor. A slot of a payload is not a time,
	 * and hardly ever looks like one. */
	const uint8_t *place = view->position ? spool_at(spool, chunk, CHUNK_BYTES) : NULL;
	if (!place)
		return;
	const struct record *r = (const struct record *)(const void *)(place + last % CHUNK_BYTES);
	if ((r->word & RECORD_KIND_MASK) == REC_CUDA_ROW)
		return; /* its time is that of a device, in ns */
	uint64_t ticks = (r->word & RECORD_KIND_MASK) < FN_MAX ? r->word >> RECORD_LENGTH_SHIFT : 0;
	evidence_add(latest, r->tick + ticks, now);
}

/* The end of a process, in ticks: see struct process_end. */
struct end_ticks {
	uint64_t tick, earliest, latest; /* earliest: 0 = the end is `tick` */
};

static uint64_t tick_of(const struct spool *spool, const struct clock_point *point)
{
	return spool_header(spool)->clock_kind == CLOCK_KIND_TSC ? point->tick : point->mono_ns;
}

/* Return the latest tick at which the process is known to have lived. */
static uint64_t last_life(struct spool *spool, bool announced, uint64_t now)
{
	const struct spool_header *h = spool_header(spool);
	uint64_t latest = 0;
	evidence_add(&latest, h->first.tick, now);
	evidence_add(&latest, h->last.tick, now);
	evidence_add(&latest, announced ? h->end_tick : 0, now);
	evidence_add(&latest, spool->latest_tick, now);
	evidence_add(&latest, tick_of(spool, &spool->alive), now);
	for (uint32_t i = 0; i < spool->lane_count; i++)
		lane_evidence(spool, spool->lanes[i], &latest, now);
	return latest;
}

/* Find the end of the process. A wait for it returned after its end, so it bounds an end that the
 * kernel has reported late, or has not. */
static struct end_ticks end_find(struct writer *w, struct spool *spool)
{
	const struct spool_header *h = spool_header(spool);
	const struct waited *waited = waited_for(w->waited, spool);
	uint64_t now = w->clock.other_boot ? UINT64_MAX : tick_of(spool, &w->clock.now);
	bool announced = h->state == SPOOL_EXITED || h->state == SPOOL_EXEC;
	uint64_t life = last_life(spool, announced, now);
	uint64_t ended = tick_of(spool, &spool->ended);
	if (announced)
		return (struct end_ticks){.tick = life};
	if (waited && waited->tick >= life && waited->tick <= now)
		now = waited->tick;
	if (ended)
		return (struct end_ticks){.tick = ended < life ? life : ended < now ? ended : now};
	if (now != UINT64_MAX && waited && now == waited->tick)
		return (struct end_ticks){now, life, now};
	if (w->recovering)
		return (struct end_ticks){life, life, 0};
	return (struct end_ticks){spool->dead_when_found ? life : now, life, now};
}

#define END_EXACT_NS UINT64_C(1000000) /* an end that is known to this is given without bounds */

static struct process_end end_convert(
	struct writer *w, const struct spool *spool, const struct end_ticks *end)
{
	struct process_end e = {.ns = writer_ns(w, spool, end->tick)};
	if (!end->earliest)
		return e;
	e.earliest_ns = writer_ns(w, spool, end->earliest);
	e.latest_ns = end->latest ? writer_ns(w, spool, end->latest) : 0;
	e.is_bounded = !e.latest_ns || e.latest_ns > e.earliest_ns + END_EXACT_NS;
	return e;
}

int tree_drain_spool(struct writer *w, struct spool *spool)
{
	uint64_t fullest = 0;
	int error = 0;
	lanes_find(w, spool);
	spool_look(&w->spools, spool, &fullest);
	writer_take_time(w);
	for (uint32_t i = 0; i < spool->lane_count && !error; i++)
		if (!lane_in_turn(spool, i)->closed)
			error = lane_drain(w, spool, lane_in_turn(spool, i), UINT64_MAX);
	return error;
}

/* Keep the tree alive between an exec and the spool of the new program, or its note that it is not
 * traced: the tree may have no spool then without having ended. Behind a system call filter, an
 * exec is not announced. A spool may name any process. */
static void successor_watch(struct writer *w, const struct spool *spool)
{
	const struct spool_header *h = spool_header(spool);
	const uint32_t state = __atomic_load_n(&h->state, __ATOMIC_ACQUIRE);
	if (w->recovering || state == SPOOL_EXITED)
		return;
	if (state == SPOOL_EXEC || spool->host_pid == w->control->root_pid)
		process_watch(w, spool->host_pid);
	else
		process_watch_child(w, spool->host_pid, h->first.mono_ns);
}

int tree_end_spool(struct writer *w, struct spool *spool)
{
	int error = tree_drain_spool(w, spool);
	const struct end_ticks ticks = end_find(w, spool);
	const struct process_end end = end_convert(w, spool, &ticks);
	for (uint32_t i = 0; i < spool->lane_count && !error; i++)
		if (!spool->lanes[i]->closed)
			error = lane_finish(w, spool, spool->lanes[i], ticks.tick);
	if (!error)
		error = sources_process_end(w, spool);
	if (error)
		return error;
	process_end(w, spool, &end, sources_unaccounted(spool));
	capture_end(w->control,
		__atomic_exchange_n(&spool_header(spool)->capture_ranges, 0, __ATOMIC_ACQ_REL),
		w->recovering ? ticks.tick : 0 /* the other processes have continued until now */);
	spool->finished = true;
	successor_watch(w, spool);
	return writer_make_room(w);
}

void tree_notify_drained(struct spool *spool)
{
	struct spool_header *h = spool_header(spool);
	spool->drained = true;
	if (spool_is_init(spool))
		return;
	__atomic_store_n(&h->drained, 1, __ATOMIC_RELEASE);
	sys_futex_wake(&h->drained, INT_MAX);
}

/* Return true if a process has died without announcing its end. */
static bool any_killed(const struct writer *w)
{
	for (uint32_t i = 0; i < w->spools.count; i++) {
		const struct spool *spool = w->spools.all[i];
		uint32_t state = __atomic_load_n(&spool_header(spool)->state, __ATOMIC_ACQUIRE);
		if (spool->dead && !spool->finished && state != SPOOL_EXITED && state != SPOOL_EXEC)
			return true;
	}
	return false;
}

int tree_end_dead(struct writer *w)
{
	uint64_t fullest;
	int error = 0;
	if (any_killed(w)) { /* who waited for it may know when and how it ended */
		tree_look(w, &fullest);
		error = tree_drain(w);
	}
	for (uint32_t i = 0; i < w->spools.count && !error; i++)
		if (w->spools.all[i]->dead && !w->spools.all[i]->finished)
			error = tree_end_spool(w, w->spools.all[i]);
	if (!error)
		error = writer_flush(w, false);
	for (uint32_t i = 0; i < w->spools.count && !error;) {
		if (w->spools.all[i]->finished) {
			tree_notify_drained(w->spools.all[i]);
			watch_remove(&w->watch, w->spools.all[i]);
			spools_drop(&w->spools, i);
		} else {
			i++;
		}
	}
	return error;
}

void tree_remove(struct writer *w)
{
	struct stat ours, there;
	spools_remove_unfinished(&w->spools);
	unlinkat(w->spools.dir_fd, "control", 0);
	if (!fstat(w->spools.dir_fd, &ours) && !lstat(w->dir, &there) &&
		ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
		rmdir(w->dir);
}
