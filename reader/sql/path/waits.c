/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.c - what ended waits.
 *
 * Calls that end waits are kept as references sorted by group (an object, a pipe, a process) and
 * time, 16 bytes each, so that the last one before a time is found by a binary search.
 */
#include "reader/sql/path/waits.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>
#include <string.h>

#include "reader/sql/path/descriptors.h"

#define CALLS_BACK 32u  /* that are looked at for the mutex of a wait for a condition */
#define CALLS_AHEAD 4u  /* that are looked at for what a thread reads after it polled */
#define WOKEN_NS 100000 /* a thread takes at most that to wake up, usually */
#define STANDARD 3 /* number of the first descriptor that is not standard input, output or error */
#define ERROR_INTERRUPTED 4

struct ref {
	int64_t time;
	uint32_t group, track;
};

struct refs {
	struct ref *list;
	uint32_t count, capacity;
	bool complete;
};

/* What is known of a call or an operation by its correlation id. */
struct correlated {
	int64_t process, context, stream;
	uint32_t correlation;
	bool has_stream;
};

struct correlations {
	struct correlated *list;
	uint32_t count, capacity;
	bool complete;
};

struct known_wait {
	int64_t number;
	struct path_wait wait;
};

struct path_waits {
	struct refs wakes[ROLE_CLOSE + 1];   /* by role; group: the object */
	struct refs pipe_writes, pipe_reads; /* group: the pipe */
	struct refs known_writes;            /* those of pipe_writes in one group */
	struct refs other_writes;            /* to what is neither a file nor a known pipe */
	struct refs holders; /* group: the end of a pipe; time: the end of the track, if known */
	struct refs thread_ends; /* group: the process */
	struct refs process_ends;
	struct map processes, pipes, ends; /* their groups */
	struct map held;                   /* groups of ends and tracks that have a holder */
	struct correlations syncs, works;
	struct known_wait *known; /* by SQL, sorted by number */
	uint32_t known_count, known_capacity;
};

/* ---- sorted references ---- */

static int ref_order(const void *one, const void *two)
{
	const struct ref *a = one, *b = two;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->track > b->track) - (a->track < b->track);
}

static int ref_add(
	struct path_graph *g, struct refs *r, uint32_t group, int64_t time, uint32_t track)
{
	int code = path_room(g, &r->list, r->count, &r->capacity, sizeof(*r->list));
	if (!code)
		r->list[r->count++] = (struct ref){time, group, track};
	return code;
}

static int refs_sort(struct path_graph *g, struct refs *r)
{
	r->complete = true;
	return path_sort(g, &r->list, r->count, &r->capacity, sizeof(*r->list), ref_order);
}

/* Return the last reference of a group after `from` and before `to` that is not of the track; NULL
 * = none. */
static const struct ref *ref_last(
	const struct refs *r, uint32_t group, int64_t from, int64_t to, uint32_t track)
{
	const struct ref key = {to, group, 0};
	uint32_t low = 0, high = r->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (ref_order(&r->list[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low && r->list[low - 1].group == group && r->list[low - 1].time > from) {
		if (r->list[--low].track != track)
			return &r->list[low];
	}
	return NULL;
}

/* Return the reference before another one, of the same group and after `from`; NULL = none. */
static const struct ref *ref_before(const struct refs *r, const struct ref *at, int64_t from)
{
	const bool has = at > r->list && at[-1].group == at->group && at[-1].time > from;
	return has ? at - 1 : NULL;
}

/* Return the group of a number, a new one for a new number; 0 = out of memory. */
static uint32_t group_of(struct map *groups, int64_t number)
{
	uint32_t group = map_get(groups, (uint64_t)number, 0);
	if (!group && !map_put(groups, (uint64_t)number, 0, groups->count + 1))
		group = groups->count;
	return group;
}

static bool ref_take(const struct ref *r, enum path_how how, struct path_wait *ret_wait)
{
	if (r)
		*ret_wait = (struct path_wait){r->track, r->time, how};
	return r;
}

/* ---- references to calls ---- */

/* Call a function for each call of a role that threads made. */
static int calls_visit(struct path_graph *g, uint8_t role,
	int (*visit)(struct path_graph *g, uint32_t track, const struct path_call *c))
{
	for (uint32_t i = 0; i < g->track_count; i++) {
		const struct path_track *t = &g->tracks[i];
		for (uint32_t k = 0; !t->is_stream && k < t->count; k++) {
			spill_use(&g->spill, 1);
			int code = path_name_of(g, &t->calls[k])->role == role
				? visit(g, i, &t->calls[k])
				: SQLITE_OK;
			if (code)
				return code;
		}
	}
	return SQLITE_OK;
}

/* A lock is got when the call ends. A system call for a futex returns how many it woke up. */
static int wake_add(struct path_graph *g, uint32_t track, const struct path_call *c)
{
	const uint8_t role = path_name_of(g, c)->role;
	return c->object && (role != ROLE_WAIT || c->value > 0)
		? ref_add(g, &g->waits->wakes[role], c->object,
			  role == ROLE_LOCK ? c->end : c->start, track)
		: SQLITE_OK;
}

/* Find the calls of a role that end waits, by their object. */
static int wakes_of(struct path_graph *g, uint8_t role, const struct refs **ret_refs)
{
	struct refs *r = &g->waits->wakes[role];
	int code = r->complete ? SQLITE_OK : calls_visit(g, role, wake_add);
	*ret_refs = r;
	return code || r->complete ? code : refs_sort(g, r);
}

static int write_add(struct path_graph *g, uint32_t track, const struct path_call *c)
{
	struct path_waits *w = g->waits;
	const bool wrote = c->value > 0 || (c->value == 0 && path_name_of(g, c)->trait);
	const struct path_file f =
		wrote ? path_file_of_call(g, track, c) : (struct path_file){.is_file = true};
	if (f.is_file)
		return SQLITE_OK;
	if (!f.pipe)
		return ref_add(g, &w->other_writes, 0, c->start, track);
	const uint32_t group = group_of(&w->pipes, f.pipe);
	int code = group ? ref_add(g, &w->pipe_writes, group, c->start, track) : SQLITE_NOMEM;
	return code ? code : ref_add(g, &w->known_writes, 0, c->start, track);
}

static int writes_collect(struct path_graph *g)
{
	struct path_waits *w = g->waits;
	if (w->other_writes.complete)
		return SQLITE_OK;
	int code = calls_visit(g, ROLE_WRITE, write_add);
	code = code ? code : refs_sort(g, &w->pipe_writes);
	code = code ? code : refs_sort(g, &w->known_writes);
	return code ? code : refs_sort(g, &w->other_writes);
}

static int read_add(struct path_graph *g, uint32_t track, const struct path_call *c)
{
	const struct path_file f = path_file_of_call(g, track, c);
	const uint32_t group = f.pipe ? group_of(&g->waits->pipes, f.pipe) : 0;
	return !f.pipe  ? SQLITE_OK
		: group ? ref_add(g, &g->waits->pipe_reads, group, c->start, track)
			: SQLITE_NOMEM;
}

static int reads_collect(struct path_graph *g)
{
	struct refs *r = &g->waits->pipe_reads;
	int code = r->complete ? SQLITE_OK : calls_visit(g, ROLE_READ, read_add);
	return code || r->complete ? code : refs_sort(g, r);
}

/* ---- who has the end of a pipe ---- */

static int64_t end_number(struct path_file f, bool end)
{
	return (int64_t)((uint64_t)f.pipe << 1 | end);
}

/* Add that a track has what a descriptor is. */
static int holder_add(struct path_graph *g, struct path_file f, uint32_t track)
{
	struct path_waits *w = g->waits;
	if (!f.pipe || track == PATH_NOWHERE)
		return SQLITE_OK;
	const uint32_t group = group_of(&w->ends, end_number(f, f.end));
	if (!group)
		return SQLITE_NOMEM;
	if (map_get(&w->held, group, track))
		return SQLITE_OK;
	const struct path_track *t = &g->tracks[track];
	return map_put(&w->held, group, track, 1)
		? SQLITE_NOMEM
		: ref_add(g, &w->holders, group, t->has_end ? t->end : PATH_TIME_MAX, track);
}

static int holder_of_call(struct path_graph *g, uint32_t track, const struct path_call *c)
{
	return holder_add(g, path_file_of_call(g, track, c), track);
}

/* Collect who uses the ends of pipes: who reads or writes them by a recorded call, or has made one
 * its standard input or output, as a shell does for each program of a pipeline. */
static int holders_collect(struct path_graph *g)
{
	struct refs *r = &g->waits->holders;
	if (r->complete)
		return SQLITE_OK;
	int code = calls_visit(g, ROLE_READ, holder_of_call);
	code = code ? code : calls_visit(g, ROLE_WRITE, holder_of_call);
	for (uint32_t i = 0; !code && i < g->descriptor_count; i++) {
		const struct path_descriptor *d = &g->descriptors[i];
		spill_use(&g->spill, 1);
		if (d->role == ROLE_COPY && d->descriptor < STANDARD)
			code = holder_add(g, path_file_at(g, d->process, d->descriptor, d->time),
				path_main_thread(g, d->process));
	}
	return code ? code : refs_sort(g, r);
}

/* Find the only track of other threads that uses the other end of a pipe and has not ended at a
 * time, or PATH_NOWHERE. Others may have the end, too, and use it by calls that are not in the
 * report. */
static int peer_find(
	struct path_graph *g, struct path_file f, uint32_t own, int64_t time, uint32_t *ret_track)
{
	int code = holders_collect(g);
	const struct refs *r = &g->waits->holders;
	const uint32_t group =
		code ? 0 : map_get(&g->waits->ends, (uint64_t)end_number(f, !f.end), 0);
	const struct ref *last =
		group ? ref_last(r, group, time - 1, PATH_TIME_MAX + 1, own) : NULL;
	const struct ref *other = last ? ref_before(r, last, time - 1) : NULL;
	if (other && other->track == own)
		other = ref_before(r, other, time - 1);
	*ret_track = last && !other ? last->track : PATH_NOWHERE;
	return code;
}

/* Collect the ends of threads, and of processes. Without any record of an end, the last call of a
 * thread counts as its end. */
static int ends_collect(struct path_graph *g)
{
	struct path_waits *w = g->waits;
	bool any = false;
	int code = SQLITE_OK;
	for (uint32_t i = 0; i < g->track_count; i++)
		any |= g->tracks[i].has_end && !g->tracks[i].is_stream;
	for (uint32_t i = 0; !code && i < g->track_count; i++) {
		const struct path_track *t = &g->tracks[i];
		if (t->is_stream || (any && !t->has_end) || t->end < t->start)
			continue;
		const uint32_t group = group_of(&w->processes, t->process);
		code = group ? ref_add(g, &w->thread_ends, group, t->end, i) : SQLITE_NOMEM;
		if (!code && (t->id & 0xffffff) == (t->process & 0xffffff))
			code = ref_add(g, &w->process_ends, 0, t->end, i);
	}
	code = code ? code : refs_sort(g, &w->thread_ends);
	return code ? code : refs_sort(g, &w->process_ends);
}

/* ---- rules ---- */

/* What a rule looks at. */
struct wait_of {
	struct path_graph *g;
	uint32_t track;
	const struct path_call *call;
	const struct path_track *own;
};

/* pthread_join(): the thread of the process that ended last before the call did; exact if no other
 * ended meanwhile. */
static int join_find(const struct wait_of *o, struct path_wait *ret_wait)
{
	struct path_waits *w = o->g->waits;
	const int64_t from = o->call->start, to = o->call->end + 1;
	const uint32_t group = map_get(&w->processes, (uint64_t)o->own->process, 0);
	const struct ref *r = ref_last(&w->thread_ends, group, from, to, o->track);
	const struct ref *before = r;
	while (before && before > w->thread_ends.list && before[-1].group == group &&
		before[-1].time > from && before[-1].track == o->track)
		before--;
	const bool several = before && before > w->thread_ends.list && before[-1].group == group &&
		before[-1].time > from;
	ref_take(r, several ? HOW_LIKELY : HOW_EXACT, ret_wait);
	return SQLITE_OK;
}

/* waitpid() and its kin: the process that it returned; system() and pclose(): the one that ended
 * last before the call did. Those of the same report come first; of another report it is a child of
 * this process, since processes of several hosts may have one id. The end of a killed process is
 * noticed after it, so it may be later than the call's. */
static int process_find(const struct wait_of *o, struct path_wait *ret_wait)
{
	const struct refs *ends = &o->g->waits->process_ends;
	const struct ref *found = NULL, *elsewhere = NULL;
	const struct ref *r = ref_last(ends, 0, o->call->start, o->call->end + 1, o->track);
	for (; r && !found; r = ref_before(ends, r, o->call->start)) {
		const struct path_track *t = &o->g->tracks[r->track];
		const bool is_child = (t->id & 0xffffff) == o->call->value;
		const bool fits = t->process != o->own->process &&
			(is_child || path_name_of(o->g, o->call)->trait);
		if (fits && t->id >> 48 == o->own->id >> 48)
			found = r;
		else if (fits && !elsewhere && t->parent != PATH_NOWHERE &&
			o->g->tracks[t->parent].process == o->own->process)
			elsewhere = r;
	}
	found = found ? found : elsewhere;
	const uint32_t child = found || path_name_of(o->g, o->call)->trait
		? PATH_NOWHERE
		: path_first_thread(o->g, o->track, o->call->value);
	if (child != PATH_NOWHERE && o->g->tracks[child].start < o->call->end &&
		o->g->tracks[child].end > o->call->end)
		*ret_wait = (struct path_wait){child, o->call->end, HOW_EXACT};
	if (found)
		ref_take(found,
			(o->g->tracks[found->track].id & 0xffffff) == o->call->value ? HOW_EXACT
										     : HOW_LIKELY,
			ret_wait);
	return SQLITE_OK;
}

/* Locks: the last recorded release before the wait ended. Where a thread got the lock after that,
 * or no release is recorded: the thread that got the lock last while this one waited, else the one
 * that held it when the wait began. It was released just before the wait ended. */
static int lock_find(const struct wait_of *o, struct path_wait *ret_wait)
{
	const struct path_call *c = o->call;
	const struct refs *unlocks = NULL, *locks = NULL;
	int code = c->object ? wakes_of(o->g, ROLE_UNLOCK, &unlocks) : SQLITE_OK;
	if (!code && c->object && c->holder)
		code = wakes_of(o->g, ROLE_LOCK, &locks);
	if (code)
		return code;
	const struct ref *released =
		unlocks ? ref_last(unlocks, c->object, c->start, c->end, o->track) : NULL;
	const struct ref *r = locks ? ref_last(locks, c->object, c->start, c->end, o->track) : NULL;
	if (!c->holder || (released && (!r || r->time <= released->time))) {
		ref_take(released, HOW_EXACT, ret_wait);
		return SQLITE_OK;
	}
	const uint32_t holder = r
		? r->track
		: path_graph_track(o->g, (o->own->id & ~(int64_t)0xffffff) + c->holder);
	if (holder != PATH_NOWHERE)
		*ret_wait = (struct path_wait){holder, c->end,
			path_name_of(o->g, c)->source == PATH_GIL ? HOW_LIKELY : HOW_EXACT};
	return SQLITE_OK;
}

/* Conditions, semaphores and barriers: the last call on the same object before the wait ended. All
 * leave a barrier when the last one comes, which does not wait itself. */
static int object_find(const struct wait_of *o, struct path_wait *ret_wait)
{
	const struct path_call *c = o->call;
	const uint8_t role = path_name_of(o->g, c)->role;
	if (c->error || !c->object || path_timed_out(o->g, c))
		return SQLITE_OK;
	const struct refs *wakes;
	int code = wakes_of(o->g,
		role == ROLE_CONDITION           ? ROLE_SIGNAL
			: role == ROLE_SEMAPHORE ? ROLE_POST
						 : ROLE_BARRIER,
		&wakes);
	if (code)
		return code;
	ref_take(ref_last(wakes, c->object, c->start, c->end, o->track), HOW_EXACT, ret_wait);
	return SQLITE_OK;
}

/* Return the mutex that a wait for a condition releases and takes again: the one that its thread
 * locked last and has not unlocked; 0 = not known. */
static uint32_t mutex_of(const struct wait_of *o)
{
	const struct path_call *calls = o->own->calls, *c = o->call;
	uint32_t unlocked[CALLS_BACK], count = 0, back = 0;
	if (c < calls || c >= calls + o->own->outer)
		return 0;
	while (c-- > calls && back++ < CALLS_BACK) {
		const uint8_t role = path_name_of(o->g, c)->role;
		uint32_t i = 0;
		if (role == ROLE_UNLOCK)
			unlocked[count++] = c->object;
		if (role != ROLE_LOCK || c->error > 0)
			continue;
		while (i < count && unlocked[i] != c->object)
			i++;
		if (i == count)
			return c->object;
		unlocked[i] = unlocked[--count];
	}
	return 0;
}

/* Conditions: the last signal before the wait ended, or the release of the mutex after that, for
 * which the thread waits, too. Who has just been woken up did not wait for others that had the
 * mutex for a moment. */
static int condition_find(const struct wait_of *o, struct path_wait *ret_wait)
{
	const struct path_call *c = o->call;
	const struct refs *unlocks;
	int code = object_find(o, ret_wait);
	code = code ? code : wakes_of(o->g, ROLE_UNLOCK, &unlocks);
	const uint32_t mutex = !code && ret_wait->how && unlocks->count ? mutex_of(o) : 0;
	const struct ref *r =
		mutex ? ref_last(unlocks, mutex, ret_wait->time, c->end, o->track) : NULL;
	if (r && (r->track == ret_wait->track || c->end - ret_wait->time > WOKEN_NS))
		ref_take(r, HOW_EXACT, ret_wait);
	return code;
}

/* syscall(): one that waits for a futex ends by one of another thread that woke somebody up. The
 * report has the number of the system call, but not the address. */
static int futex_find(const struct wait_of *o, struct path_wait *ret_wait)
{
	const struct path_call *c = o->call;
	const struct refs *wakes;
	if (!c->object || c->value != 0 || strcmp(path_name_of(o->g, c)->text, "syscall") != 0)
		return SQLITE_OK;
	int code = wakes_of(o->g, ROLE_WAIT, &wakes);
	if (!code)
		ref_take(ref_last(wakes, c->object, c->start, c->end, o->track), HOW_LIKELY,
			ret_wait);
	return code;
}

/* Interrupted by a signal when a child of the process had ended: that was SIGCHLD. */
static void interrupted_find(const struct wait_of *o, struct path_wait *ret_wait)
{
	const struct refs *ends = &o->g->waits->process_ends;
	const struct ref *r = ref_last(ends, 0, o->call->start, o->call->end + 1, o->track);
	for (; r; r = ref_before(ends, r, o->call->start)) {
		const uint32_t parent = o->g->tracks[r->track].parent;
		if (parent != PATH_NOWHERE && o->g->tracks[parent].process == o->own->process) {
			ref_take(r, HOW_LIKELY, ret_wait);
			return;
		}
	}
}

/* Return the later of two references, which may be NULL. */
static const struct ref *later(const struct ref *a, const struct ref *b)
{
	return !b || (a && a->time >= b->time) ? a : b;
}

/* The last end of a process that is not the own one. */
static const struct ref *other_end(const struct wait_of *o)
{
	const struct refs *ends = &o->g->waits->process_ends;
	const struct ref *r = ref_last(ends, 0, o->call->start, o->call->end + 1, o->track);
	while (r && o->g->tracks[r->track].process == o->own->process)
		r = ref_before(ends, r, o->call->start);
	return r;
}

/* Return the pipe that a thread reads right after a wait for any of several; 0 = not known. */
static int64_t polled_pipe(const struct wait_of *o)
{
	const struct path_call *calls = o->own->calls, *c = o->call;
	const bool is_outer = c >= calls && c < calls + o->own->outer;
	for (uint32_t i = 0; is_outer && i < CALLS_AHEAD && ++c < calls + o->own->outer; i++)
		if (path_name_of(o->g, c)->role == ROLE_READ)
			return path_pipe_of(o->g, o->track, c);
	return 0;
}

/* Return whether a thread was in a call of a role for a pipe at a time. */
static bool is_using(
	const struct path_graph *g, uint32_t track, uint8_t role, struct path_file f, int64_t time)
{
	const struct path_track *t = &g->tracks[track];
	const struct path_call *before = path_ended_before(t, time),
			       *c = before ? before + 1 : t->calls;
	return c < t->calls + t->outer && c->start <= time && path_name_of(g, c)->role == role &&
		path_file_of_call(g, track, c).pipe == f.pipe;
}

/* Return whether the pipe that a call reads had data: the other end was being written to. */
static bool has_data(const struct wait_of *o, struct path_file f)
{
	uint32_t peer = PATH_NOWHERE;
	return f.pipe && !peer_find(o->g, f, o->track, o->call->start, &peer) &&
		peer != PATH_NOWHERE && is_using(o->g, peer, ROLE_WRITE, f, o->call->start);
}

/* Return when a process ended, if that was during a call; else the end of the call. */
static int64_t end_during(const struct wait_of *o, uint32_t track)
{
	const struct path_track *t = &o->g->tracks[track];
	const bool ended = t->has_end && t->end > o->call->start && t->end <= o->call->end;
	return ended ? t->end : o->call->end;
}

/* Reading a pipe that is known: the last write of another thread before the call returned. Without
 * one, or at the end of the data: the only one that has the other end, which wrote by a call that
 * is not recorded, or closed it. */
static int pipe_find(const struct wait_of *o, struct path_file f, struct path_wait *ret_wait)
{
	const struct path_call *c = o->call;
	struct path_waits *w = o->g->waits;
	const uint32_t group = map_get(&w->pipes, (uint64_t)f.pipe, 0);
	uint32_t peer = PATH_NOWHERE;
	if (c->value > 0 && group &&
		ref_take(ref_last(&w->pipe_writes, group, c->start, c->end, o->track), HOW_EXACT,
			ret_wait))
		return SQLITE_OK;
	int code = c->error > 0 && c->error != PATH_NO_ERROR_KNOWN
		? SQLITE_OK
		: peer_find(o->g, f, o->track, c->start, &peer);
	if (!code && peer != PATH_NOWHERE && !is_using(o->g, peer, ROLE_WRITE, f, c->start))
		*ret_wait = (struct path_wait){
			peer, c->value > 0 ? c->end : end_during(o, peer), HOW_LIKELY};
	return code;
}

/* Reading, and waiting until something can be read: the last write of another thread to the pipe
 * before the call returned, or to that which it reads next. If it is not known which pipe that is,
 * the last write to something that is not a file. Without a write, the last end of another process:
 * that closes its descriptors, after it has written what stdio held. */
static int data_find(const struct wait_of *o, struct path_wait *ret_wait)
{
	const struct path_call *c = o->call;
	const bool reads = path_name_of(o->g, c)->role == ROLE_READ;
	const struct path_file f = path_file_of_call(o->g, o->track, c);
	struct path_waits *w = o->g->waits;
	int code = f.is_file ? SQLITE_OK : writes_collect(o->g);
	if (!code && reads && f.pipe)
		code = pipe_find(o, f, ret_wait);
	if (code || f.is_file || ret_wait->how || (reads && has_data(o, f)))
		return code;
	if (c->value > 0) {
		const int64_t polled = reads ? 0 : polled_pipe(o);
		const uint32_t polled_group = polled ? map_get(&w->pipes, (uint64_t)polled, 0) : 0;
		if (polled_group &&
			ref_take(
				ref_last(&w->pipe_writes, polled_group, c->start, c->end, o->track),
				HOW_LIKELY, ret_wait))
			return SQLITE_OK;
		const struct ref *r = ref_last(&w->other_writes, 0, c->start, c->end, o->track);
		if (!f.pipe)
			r = later(r, ref_last(&w->known_writes, 0, c->start, c->end, o->track));
		if (ref_take(r, HOW_LIKELY, ret_wait))
			return SQLITE_OK;
	}
	if (c->error == 0 && (c->value > 0 || (reads && c->value == 0)))
		ref_take(other_end(o), HOW_LIKELY, ret_wait);
	return SQLITE_OK;
}

/* Writing to a pipe that is full: the last read of the pipe by another thread, else the only one
 * that has the other end, which read by a call that is not recorded. If it was reading already, the
 * pipe was not full. */
static int room_find(const struct wait_of *o, struct path_wait *ret_wait)
{
	const struct path_call *c = o->call;
	const struct path_file f = path_file_of_call(o->g, o->track, c);
	uint32_t peer = PATH_NOWHERE;
	if (!f.pipe || (!f.end && !f.both_ways) || c->value < 0 ||
		(!c->value && !path_name_of(o->g, c)->trait))
		return SQLITE_OK;
	int code = reads_collect(o->g);
	const uint32_t group = map_get(&o->g->waits->pipes, (uint64_t)f.pipe, 0);
	if (code ||
		(group &&
			ref_take(ref_last(&o->g->waits->pipe_reads, group, c->start, c->end,
					 o->track),
				HOW_EXACT, ret_wait)))
		return code;
	code = peer_find(o->g, f, o->track, c->start, &peer);
	if (!code && peer != PATH_NOWHERE && !is_using(o->g, peer, ROLE_READ, f, c->start))
		*ret_wait = (struct path_wait){peer, c->end, HOW_LIKELY};
	return code;
}

/* ---- the device ---- */

static int correlated_order(const void *one, const void *two)
{
	const struct correlated *a = one, *b = two;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->correlation != b->correlation)
		return a->correlation < b->correlation ? -1 : 1;
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	return (a->stream > b->stream) - (a->stream < b->stream);
}

static int correlated_add(
	struct path_graph *g, struct correlations *all, const struct correlated *one)
{
	int code = path_room(g, &all->list, all->count, &all->capacity, sizeof(*all->list));
	if (!code)
		all->list[all->count++] = *one;
	return code;
}

static int correlations_sort(struct path_graph *g, struct correlations *all)
{
	all->complete = true;
	return path_sort(
		g, &all->list, all->count, &all->capacity, sizeof(*all->list), correlated_order);
}

/* Return the last entry of a correlation id; NULL = none. */
static const struct correlated *correlated_find(
	const struct correlations *all, int64_t process, uint32_t correlation)
{
	uint32_t low = 0, high = all->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct correlated *at = &all->list[middle];
		if (at->process != process ? at->process < process : at->correlation <= correlation)
			low = middle + 1;
		else
			high = middle;
	}
	const struct correlated *found = low ? &all->list[low - 1] : NULL;
	return found && found->process == process && found->correlation == correlation ? found
										       : NULL;
}

static int sync_row(void *user, sqlite3_stmt *in)
{
	struct path_graph *g = user;
	const struct correlated one = {.process = sqlite3_column_int64(in, 0),
		.correlation = (uint32_t)sqlite3_column_int64(in, 1),
		.context = sqlite3_column_int64(in, 2),
		.stream = sqlite3_column_int64(in, 3),
		.has_stream = sqlite3_column_type(in, 3) != SQLITE_NULL};
	return correlated_add(g, &g->waits->syncs, &one);
}

/* Collect the streams of operations by the correlation ids of their calls. */
static int works_collect(struct path_graph *g)
{
	struct correlations *works = &g->waits->works;
	for (uint32_t i = 0; !works->complete && i < g->track_count; i++) {
		const struct path_track *t = &g->tracks[i];
		for (uint32_t k = 0; t->is_stream && k < t->count; k++) {
			const struct correlated one = {
				t->process, t->context, t->stream, t->calls[k].object, true};
			int code = one.correlation ? correlated_add(g, works, &one) : SQLITE_OK;
			spill_use(&g->spill, 1);
			if (code)
				return code;
		}
	}
	return works->complete ? SQLITE_OK : correlations_sort(g, works);
}

/* Find what a call waits for: a context, or a stream; NULL = not known. */
static int synced_find(struct path_graph *g, uint32_t track, const struct path_call *c,
	const struct correlated **ret_of)
{
	const int64_t process = g->tracks[track].process;
	*ret_of = c->object ? correlated_find(&g->waits->syncs, process, c->object) : NULL;
	int code = *ret_of ? SQLITE_OK : works_collect(g);
	if (!*ret_of && !code && c->object)
		*ret_of = correlated_find(&g->waits->works, process, c->object);
	return code;
}

/* Return whether a call of a process waits for a stream. `of`: what it waits for, or NULL. */
static bool is_synced(const struct path_track *t, int64_t process, const struct correlated *of)
{
	return t->is_stream && t->process == process && (!of || t->context == of->context) &&
		(!of || !of->has_stream || t->stream == of->stream);
}

int path_synced_stream(
	struct path_graph *g, uint32_t track, const struct path_call *c, uint32_t *ret_track)
{
	const struct correlated *of;
	int code = synced_find(g, track, c, &of);
	*ret_track = PATH_NOWHERE;
	for (uint32_t i = 0; !code && of && of->has_stream && i < g->track_count; i++)
		if (is_synced(&g->tracks[i], g->tracks[track].process, of)) {
			*ret_track = i;
			break;
		}
	return code;
}

/* Calls that wait for the device: the operation that ended last before the call did, of the stream
 * or context that it waits for. */
static int device_find(const struct wait_of *o, struct path_wait *ret_wait)
{
	const struct path_graph *g = o->g;
	const struct path_call *c = o->call;
	const struct correlated *of;
	int code = synced_find(o->g, o->track, c, &of);
	for (uint32_t i = 0; !code && i < g->track_count; i++) {
		const struct path_track *t = &g->tracks[i];
		if (!is_synced(t, o->own->process, of))
			continue;
		const struct path_call *work = path_ended_before(t, c->end);
		if (work && work->end > c->start && (!ret_wait->how || work->end > ret_wait->time))
			*ret_wait = (struct path_wait){i, work->end, of ? HOW_EXACT : HOW_LIKELY};
	}
	return code;
}

/* ---- all of them ---- */

static int known_order(const void *one, const void *two)
{
	const struct known_wait *a = one, *b = two;
	return (a->number > b->number) - (a->number < b->number);
}

static int known_row(void *user, sqlite3_stmt *in)
{
	struct path_graph *g = user;
	struct path_waits *w = g->waits;
	const char *how = (const char *)sqlite3_column_text(in, 3);
	const bool has_other = sqlite3_column_type(in, 1) != SQLITE_NULL;
	int code = path_room(g, &w->known, w->known_count, &w->known_capacity, sizeof(*w->known));
	if (code)
		return code;
	w->known[w->known_count++] = (struct known_wait){sqlite3_column_int64(in, 0),
		{has_other ? path_graph_track(g, sqlite3_column_int64(in, 1)) : PATH_NOWHERE,
			sqlite3_column_int64(in, 2), path_how_of(how)}};
	return SQLITE_OK;
}

int path_waits_read(struct path_graph *g)
{
	static const char syncs[] =
		"SELECT process, correlation, context, stream FROM temp.GPU_SYNCS WHERE context IS "
		"NOT NULL";
	static const char known[] =
		"SELECT number, other, other_time, how FROM temp.PATH_OTHER_WAITS";
	if (g->waits)
		return SQLITE_OK;
	g->waits = calloc(1, sizeof(*g->waits));
	if (!g->waits)
		return SQLITE_NOMEM;
	struct path_waits *w = g->waits;
	int code = path_descriptors_sort(g);
	code = code ? code : path_launches_sort(g);
	code = code ? code : ends_collect(g);
	code = code ? code : path_rows(g->connection, syncs, g, sync_row);
	code = code ? code : path_rows(g->connection, known, g, known_row);
	code = code ? code : correlations_sort(g, &w->syncs);
	return code ? code
		    : path_sort(g, &w->known, w->known_count, &w->known_capacity, sizeof(*w->known),
			      known_order);
}

void path_waits_free(struct path_graph *g)
{
	struct path_waits *w = g->waits;
	g->waits = NULL;
	if (!w)
		return;
	map_release(&w->processes);
	map_release(&w->pipes);
	map_release(&w->ends);
	map_release(&w->held);
	free(w);
}

/* Return whether a call waited for somebody, where nobody is known. Who sleeps, until a timeout,
 * too, or reads a file, waits for nobody; nor does pthread_join() for a thread that had ended,
 * waitpid() that only asks, or of a process that made its last record, or who comes last to a
 * barrier of OpenMP. */
static bool waits_for_unknown(const struct wait_of *o)
{
	const struct path_call *c = o->call;
	const struct path_name *name = path_name_of(o->g, c);
	const struct path_file f = name->role == ROLE_READ ? path_file_of_call(o->g, o->track, c)
							   : (struct path_file){0};
	switch (name->role) {
	case ROLE_PROCESS:
		return name->trait || c->value < 0 ||
			(c->value && path_first_thread(o->g, o->track, c->value) == PATH_NOWHERE);
	case ROLE_LOCK:
	case ROLE_CONDITION:
	case ROLE_SEMAPHORE:
	case ROLE_BARRIER:
	case ROLE_POLL:
	case ROLE_DEVICE:
	case ROLE_WAIT:
		return !path_timed_out(o->g, c);
	case ROLE_READ:
		return !name->trait && (c->value >= 0 || c->value == PATH_NO_VALUE) && !f.is_file &&
			!has_data(o, f);
	default:
		return false;
	}
}

static int rule_apply(const struct wait_of *o, struct path_wait *ret_wait)
{
	switch (path_name_of(o->g, o->call)->role) {
	case ROLE_JOIN:
		return join_find(o, ret_wait);
	case ROLE_PROCESS:
		return process_find(o, ret_wait);
	case ROLE_LOCK:
		return lock_find(o, ret_wait);
	case ROLE_CONDITION:
		return condition_find(o, ret_wait);
	case ROLE_SEMAPHORE:
	case ROLE_BARRIER:
		return object_find(o, ret_wait);
	case ROLE_READ:
	case ROLE_POLL:
		return data_find(o, ret_wait);
	case ROLE_WRITE:
		return room_find(o, ret_wait);
	case ROLE_DEVICE:
		return device_find(o, ret_wait);
	case ROLE_WAIT:
		return futex_find(o, ret_wait);
	default:
		return SQLITE_OK;
	}
}

int path_wait_find(
	struct path_graph *g, uint32_t track, const struct path_call *c, struct path_wait *ret_wait)
{
	const struct wait_of o = {g, track, c, &g->tracks[track]};
	const struct path_waits *w = g->waits;
	const struct path_name *name = path_name_of(g, c);
	const struct known_wait key = {.number = path_number(g, c)};
	*ret_wait = (struct path_wait){.track = PATH_NOWHERE};
	if (name->role == ROLE_NONE)
		return SQLITE_OK;
	const struct known_wait *known = w->known_count
		? bsearch(&key, w->known, w->known_count, sizeof(*w->known), known_order)
		: NULL;
	const bool is_short = c->end - c->start < PATH_SHORT_NS;
	if (known)
		*ret_wait = known->wait;
	if (known || (is_short && name->role != ROLE_LOCK && name->role != ROLE_BARRIER))
		return SQLITE_OK;
	int code = rule_apply(&o, ret_wait);
	if (!code && !ret_wait->how && c->error == ERROR_INTERRUPTED &&
		(name->role == ROLE_POLL || name->role == ROLE_SEMAPHORE ||
			name->role == ROLE_WAIT))
		interrupted_find(&o, ret_wait);
	if (!code && !ret_wait->how && !is_short && waits_for_unknown(&o))
		ret_wait->how = HOW_UNKNOWN;
	return code;
}

#endif
