/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.c - records of a lane to rows of batches, a chunk at a time.
 *
 * Every segment (what lies in one chunk, at most BATCH_ROWS records) ends with its batches encoded
 * and its position noted, so a block may be sealed between any two. Nothing allocates per call.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "common/schema/functions.h"
#include "writer/cubins.h"
#include "writer/modules.h"
#include "writer/segment.h"

#define SLOTS_PER_CHUNK (CHUNK_BYTES / RECORD_BYTES)
_Static_assert(SLOTS_PER_CHUNK <= BATCH_ROWS, "a chunk must fit a batch");

static struct batch *batch_for(struct segment *s, enum event_kind kind)
{
	return s->w->batches[kind];
}

uint64_t spool_ns(struct writer *w, const struct spool *spool, uint64_t tick)
{
	return spool_header(spool)->clock_kind == CLOCK_KIND_TSC ? clockfit_ns(&w->clock, tick)
								 : tick;
}

uint64_t segment_ns(struct segment *s, uint64_t tick)
{
	return s->monotonic ? tick : clockfit_ns(&s->w->clock, tick);
}

static void note_time(struct writer *w, uint64_t first_ns, uint64_t last_ns)
{
	if (first_ns < w->batch_first_ns)
		w->batch_first_ns = first_ns;
	if (last_ns > w->batch_last_ns)
		w->batch_last_ns = last_ns;
}

void segment_run_end(struct segment *s, uint32_t slot)
{
	struct writer *w = s->w;
	struct tally *tally = segment_tally(s);
	uint64_t rows = 0;
	for (uint32_t kind = 1; kind < EVENT_KINDS; kind++) {
		struct batch *b = w->batches[kind];
		if (!b->count)
			continue;
		b->process = s->view->owner ? s->view->owner : s->spool->id;
		b->tid = s->view->tid;
		block_put_batch(&w->block, b);
		rows += b->count;
		b->count = 0;
	}
	block_note_events(&w->block, rows, w->batch_first_ns, w->batch_last_ns);
	tally->produced += slot - s->run - s->overhead;
	tally->written += rows;
	w->total_events += rows;
	w->batch_first_ns = UINT64_MAX;
	w->batch_last_ns = 0;
	s->run = slot;
	s->overhead = 0;
}

struct batch *segment_row_add(struct segment *s, enum event_kind kind, uint64_t ns)
{
	struct batch *b = batch_for(s, kind);
	while (!batch_row_add(b, ns))
		segment_run_end(s, s->at);
	note_time(s->w, ns, ns);
	return b;
}

static size_t text_bytes(const char *text, size_t limit)
{
	return strnlen(text, limit);
}

/* Before records of a thread whose start is not known come in: the lane itself says whose it is
 * now. */
static void thread_guess(struct segment *s)
{
	struct lane *lane = lane_of(s->spool, s->view);
	s->view->tid = lane ? __atomic_load_n(&lane->tid, __ATOMIC_RELAXED) : 0;
}

static void guest_leave(struct segment *s, uint64_t ns, bool killed)
{
	if (!s->view->owner)
		return;
	process_guest_end(s->w, s->spool, s->view, ns, killed);
	s->view->owner = s->view->owner_pid = 0;
	s->view->guest = (struct tally){0};
	s->view->guest_execs = false;
}

static void put_thread_start(struct segment *s, const struct record *r, const uint8_t *payload,
	uint32_t bytes, uint32_t slots)
{
	struct thread_start start = {0};
	uint64_t ns = segment_ns(s, r->tick);
	memcpy(&start, payload, bytes < sizeof(start) ? bytes : sizeof(start));
	segment_run_end(s, s->at);
	guest_leave(s, ns, false);
	s->overhead += slots - 1;
	s->view->tid = (uint32_t)r->a;
	if (start.flags & THREAD_RESUMED) {
		s->overhead++;
		return;
	}
	if (start.flags & THREAD_VFORK_CHILD) {
		s->view->owner_pid = (uint32_t)r->b;
		s->view->owner = process_guest(s->w, s->spool, (uint32_t)r->b, ns);
	}
	struct batch *b = segment_row_add(s, EVENT_THREAD_START, ns);
	batch_set(b, THREAD_START_NAME,
		strings_id(&s->w->strings, start.name, text_bytes(start.name, sizeof(start.name))));
	batch_set(b, THREAD_START_PARENT_TID, start.parent_tid);
	batch_set(b, THREAD_START_FLAGS, start.flags);
	batch_set(b, THREAD_START_PRIORITY, start.priority);
}

static void put_thread_end(struct segment *s, const struct record *r)
{
	segment_row_add(s, EVENT_THREAD_END, segment_ns(s, r->tick));
	segment_run_end(s, s->at + 1);
	s->view->tid = 0;
}

static void put_thread_name(struct segment *s, const struct record *r)
{
	char name[16];
	memcpy(name, &r->a, 8);
	memcpy(name + 8, &r->b, 8);
	struct batch *b = segment_row_add(s, EVENT_THREAD_NAME, segment_ns(s, r->tick));
	batch_set(b, THREAD_NAME_NAME,
		strings_id(&s->w->strings, name, text_bytes(name, sizeof(name))));
}

static void summary_put(
	struct segment *s, uint64_t ns, uint32_t fn, uint64_t count, uint64_t total_ns)
{
	struct batch *b = segment_row_add(s, EVENT_OSRT_SUMMARY, ns);
	batch_set(b, OSRT_SUMMARY_FUNCTION, strings_function_id(&s->w->strings, fn));
	batch_set(b, OSRT_SUMMARY_COUNT, count);
	batch_set(b, OSRT_SUMMARY_TOTAL, total_ns);
	segment_tally(s)->summarized += count;
}

/* Length of time in ns of a sum of ticks, which began nowhere. */
static uint64_t sum_ns(struct segment *s, uint64_t ticks)
{
	return s->monotonic ? ticks : clockfit_scale(&s->w->clock, ticks);
}

static void gap_put(
	struct segment *s, uint64_t reason, uint64_t count, uint64_t first_tick, uint64_t last_tick)
{
	uint64_t first_ns = segment_ns(s, first_tick), last_ns = segment_ns(s, last_tick);
	struct batch *b = segment_row_add(s, EVENT_GAP, first_ns);
	batch_set(b, GAP_DURATION, last_ns > first_ns ? last_ns - first_ns : 0);
	batch_set(b, GAP_COUNT, count);
	batch_set(b, GAP_REASON, reason);
	s->view->gaps += count;
	s->w->block.num_dropped += count;
	s->w->total_dropped += count;
}

static void put_child(
	struct segment *s, const struct record *r, bool exec, const char *path, uint32_t bytes)
{
	uint32_t verdict = (uint32_t)r->b, how = (uint32_t)(r->b >> 32);
	if (exec && how == CHILD_EXEC_FAILED) {
		s->view->guest_execs = false;
		s->overhead++;
		return;
	}
	uint32_t self = s->view->owner ? s->view->owner_pid : s->spool->pid;
	uint32_t pid = exec ? self : (uint32_t)r->a;
	uint64_t ns = segment_ns(s, r->tick);
	size_t length = text_bytes(path, bytes);
	struct batch *b = segment_row_add(s, EVENT_CHILD, ns);
	batch_set(b, CHILD_PID, pid);
	batch_set(b, CHILD_HOW, exec ? CHILD_EXEC : how);
	batch_set(b, CHILD_VERDICT, verdict);
	batch_set(b, CHILD_PATH, strings_id(&s->w->strings, path, length));
	if (!exec && !verdict && (how == CHILD_FORK || how == CHILD_CLONE))
		if (s->spool->same_namespace && !process_known_since(s->w, pid, ns))
			child_watch(s->w, pid, ns);
	struct last_exec *last = &s->spool->exec;
	if (exec || (verdict && verdict != VERDICT_MISSING && pid)) {
		char copy[sizeof(last->path)];
		length = length < sizeof(copy) ? length : sizeof(copy) - 1;
		memcpy(copy, path, length);
		copy[length] = 0;
		if (exec) {
			last->verdict = verdict;
			last->ns = ns;
			memcpy(last->path, copy, sizeof(copy));
			s->view->guest_execs = s->view->owner != 0;
		} else {
			process_untraced(s->w, pid, self, 0, verdict, ns, copy);
		}
	}
}

static void put_path(struct segment *s, const struct record *r, const char *path, uint32_t bytes)
{
	struct batch *b = segment_row_add(s, EVENT_FILE_PATH, segment_ns(s, r->tick));
	batch_set(b, FILE_PATH_DESCRIPTOR, r->a);
	batch_set(b, FILE_PATH_OPEN_FLAGS, r->b >> 32);
	batch_set(b, FILE_PATH_MODE, (uint32_t)r->b);
	batch_set(b, FILE_PATH_PATH, strings_id(&s->w->strings, path, text_bytes(path, bytes)));
}

static void put_module_load(
	struct segment *s, const struct record *r, const uint8_t *payload, uint32_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	struct module_load module = {0};
	char build_id[2 * BUILD_ID_BYTES];
	uint32_t digit = 0;
	uint32_t head = bytes < sizeof(module) ? bytes : sizeof(module);
	memcpy(&module, payload, head);
	const char *path = (const char *)payload + head;
	for (uint32_t i = 0; i < module.build_id_bytes && i < BUILD_ID_BYTES; i++) {
		build_id[digit++] = digits[module.build_id[i] >> 4];
		build_id[digit++] = digits[module.build_id[i] & 15];
	}
	struct batch *b = segment_row_add(s, EVENT_MODULE_LOAD, segment_ns(s, r->tick));
	batch_set(b, MODULE_LOAD_BEGIN, r->a);
	batch_set(b, MODULE_LOAD_END, r->b);
	batch_set(b, MODULE_LOAD_BIAS, module.bias);
	batch_set(b, MODULE_LOAD_PATH,
		strings_id(&s->w->strings, path, text_bytes(path, bytes - head)));
	modules_note_load(s->spool, &(struct module_range){r->tick, r->a, r->b}, path,
		text_bytes(path, bytes - head));
	batch_set(b, MODULE_LOAD_BUILD_ID, strings_id(&s->w->strings, build_id, digit));
}

static void put_module_unload(struct segment *s, const struct record *r)
{
	struct batch *b = segment_row_add(s, EVENT_MODULE_UNLOAD, segment_ns(s, r->tick));
	batch_set(b, MODULE_UNLOAD_BEGIN, r->a);
	modules_note_unload(s->spool, r->a, r->tick);
}

/* Write the block where it is full, between two records: what it holds ends at s->at. Returns false
 * where it cannot be written. */
static bool segment_cut(struct segment *s)
{
	uint64_t chunk = s->view->position / CHUNK_BYTES;
	if (!block_is_full(&s->w->block, &s->w->strings))
		return true;
	segment_run_end(s, s->at);
	s->view->position = chunk * CHUNK_BYTES + (uint64_t)s->at * RECORD_BYTES;
	lane_mark(s->w, s->spool, s->view);
	s->error = writer_make_room(s->w);
	s->records = spool_at(s->spool, s->offset, CHUNK_BYTES); /* may lie elsewhere now */
	return !s->error;
}

/* A vfork child's chains lead through its parent's nodes: Process.memory_of says so. Returns false
 * where the block cannot be written. */
static bool put_callchain(struct segment *s, const struct record *r)
{
	const uint32_t id = (uint32_t)r->a, method = (uint32_t)r->b;
	while (!callchain_nodes_put(s->w, s->spool, id))
		if (!segment_cut(s))
			return false;
	s->overhead++;
	s->callchain = id;
	s->callchain_method = method;
	s->records = spool_at(s->spool, s->offset, CHUNK_BYTES); /* may lie elsewhere now */
	return true;
}

/* A slot that the head counts and nobody wrote: two have taken one lane, or its head was moved. */
static uint32_t put_unwritten(struct segment *s)
{
	s->overhead++;
	s->view->unwritten++;
	return 1;
}

/* Any record but a call. Returns the slots it takes, 0 when it cannot be, or with s->error. */
static uint32_t other_put(struct segment *s, const struct record *r, uint64_t word)
{
	uint64_t bytes = word >> RECORD_LENGTH_SHIFT;
	uint32_t kind = (uint32_t)(word & RECORD_KIND_MASK), left = s->end - s->at;
	if (kind == REC_PAD) {
		s->overhead += left;
		return left;
	}
	if (!word && !r->tick)
		return put_unwritten(s);
	if (bytes > (uint64_t)(left - 1) * RECORD_BYTES)
		return 0;
	uint32_t slots = 1 + (uint32_t)((bytes + RECORD_BYTES - 1) / RECORD_BYTES);
	const uint8_t *payload = (const uint8_t *)(r + 1);
	if (kind == REC_THREAD_START) {
		put_thread_start(s, r, payload, (uint32_t)bytes, slots);
		return slots;
	}
	s->overhead += slots - 1;
	switch (kind) {
	case REC_THREAD_END:
		put_thread_end(s, r);
		return slots;
	case REC_THREAD_NAME:
		put_thread_name(s, r);
		return slots;
	case REC_SUMMARY:
		summary_put(s, segment_ns(s, r->tick), (uint32_t)(r->a >> 48), r->a & MASK_48,
			sum_ns(s, r->b));
		return slots;
	case REC_GAP:
		gap_put(s, r->a >> 48, r->a & MASK_48, r->b, r->tick);
		return slots;
	case REC_CHILD:
	case REC_EXEC:
		put_child(s, r, kind == REC_EXEC, (const char *)payload, (uint32_t)bytes);
		return slots;
	case REC_CALLCHAIN:
		s->overhead -= slots - 1; /* it may come again */
		if (!put_callchain(s, r))
			return 0;
		s->overhead += slots - 1;
		return slots;
	case REC_MODULE_LOAD:
		put_module_load(s, r, payload, (uint32_t)bytes);
		return slots;
	case REC_MODULE_UNLOAD:
		put_module_unload(s, r);
		return slots;
	case REC_PATH:
		put_path(s, r, (const char *)payload, (uint32_t)bytes);
		return slots;
	case REC_NVTX_MARK:
	case REC_NVTX_RANGE:
	case REC_NVTX_START_END:
		return nvtx_run_put(s, slots);
	case REC_NVTX_NAME:
		nvtx_name_put(s, (uint32_t)bytes);
		return slots;
	case REC_NVTX_EXT:
		return nvtx_ext_put(s, (uint32_t)bytes) ? slots : 0;
	case REC_CUDA_CUBIN:
		s->overhead++;
		cubins_piece_put(s, r, (uint32_t)bytes);
		return slots;
	case REC_CUDA_API:
	case REC_CUDA_ROW:
		return cuda_put(s, word, (uint32_t)bytes) ? slots : 0;
	default:
		return 0;
	}
}

/* Returns false at a record that cannot be. A chain belongs to the record behind it, so the block
 * is not cut between them. */
static bool segment_decode(struct segment *s)
{
	struct batch *calls = batch_for(s, EVENT_OSRT_CALL);
	uint32_t functions = fn_count();
	while (s->at < s->end && s->records) {
		const struct record *r = &s->records[s->at];
		uint64_t word = __atomic_load_n(&r->word, __ATOMIC_RELAXED);
		uint32_t kind = (uint32_t)(word & RECORD_KIND_MASK);
		if (__builtin_expect(!s->view->tid, 0) && kind != REC_THREAD_START)
			thread_guess(s);
		if (__builtin_expect(kind && kind < functions, 1)) {
			if (__builtin_expect(!batch_room(calls), 0))
				segment_run_end(s, s->at);
			calls_put(s, calls, functions);
			continue;
		}
		if ((!s->callchain || kind == REC_CALLCHAIN) && !segment_cut(s))
			return true;
		if (!s->records)
			return false;
		uint32_t slots = other_put(s, &s->records[s->at], word);
		if (!slots)
			return s->error;
		s->at += slots;
		if (kind != REC_CALLCHAIN)
			s->callchain = 0;
	}
	return s->records;
}

static void segment_init(
	struct segment *s, struct writer *w, struct spool *spool, struct lane_view *view)
{
	const struct spool_header *h = spool_header(spool);
	*s = (struct segment){.w = w, .spool = spool, .view = view};
	s->monotonic = h->clock_kind != CLOCK_KIND_TSC;
	s->least_tick = h->first.tick;
	s->most_tick = w->other_boot ? UINT64_MAX : s->monotonic ? w->now.mono_ns : w->now.tick;
	w->batch_first_ns = UINT64_MAX;
	w->batch_last_ns = 0;
}

void lane_mark(struct writer *w, struct spool *spool, struct lane_view *view)
{
	Libtrace__LanePosition p = LIBTRACE__LANE_POSITION__INIT;
	p.has_process = p.has_lane = p.has_position = p.has_tid = p.has_events = 1;
	p.process = spool->id;
	p.lane = view->index;
	p.position = view->position;
	p.tid = view->tid;
	p.events = view->own.written;
	p.has_owner = p.has_owner_events = view->owner != 0;
	p.owner = view->owner;
	p.owner_events = view->guest.written;
	p.has_summarized = (p.summarized = view->own.summarized) != 0;
	p.has_abandoned = (p.abandoned = view->own.abandoned) != 0;
	p.has_impossible_times = (p.impossible_times = view->own.impossible) != 0;
	p.has_unfinished = (p.unfinished = view->own.unfinished) != 0;
	p.has_closed = p.closed = view->closed;
	block_put_position(&w->block, &p);
	view->touched = true;
}

static void lane_damage(struct spool *spool, struct lane_view *view)
{
	view->damaged = true;
	spool->damaged_lanes++;
}

/* One segment: up to `head` or the end of the chunk. */
static int segment_drain(
	struct writer *w, struct spool *spool, struct lane_view *view, uint64_t head)
{
	struct lane *lane = lane_of(spool, view);
	uint64_t number = view->position / CHUNK_BYTES, chunk_end = (number + 1) * CHUNK_BYTES;
	uint64_t end = head < chunk_end ? head : chunk_end;
	uint64_t offset = lane
		? __atomic_load_n(&lane->chunk[number % LANE_CHUNKS_MAX], __ATOMIC_RELAXED)
		: 0;
	struct segment s;
	segment_init(&s, w, spool, view);
	s.offset = offset;
	s.records = spool_at(spool, offset,
		CHUNK_BYTES); /* may map the file anew: no pointer into it outlives this */
	s.at = s.run = (uint32_t)(view->position % CHUNK_BYTES / RECORD_BYTES);
	s.end = (uint32_t)((end - number * CHUNK_BYTES) / RECORD_BYTES);
	bool sound = s.records && segment_decode(&s);
	if (s.latest_tick > spool->latest_tick)
		spool->latest_tick = s.latest_tick;
	if (s.error)
		return s.error; /* all before it is in the block */
	if (s.records)
		segment_run_end(&s, s.at);
	view->position = number * CHUNK_BYTES + (uint64_t)s.at * RECORD_BYTES;
	if (!sound)
		lane_damage(spool, view);
	lane_mark(w, spool, view);
	return writer_make_room(w);
}

int lane_drain(struct writer *w, struct spool *spool, struct lane_view *view, uint64_t bytes)
{
	uint64_t begin = view->position;
	int error = 0;
	while (!error && !view->damaged && view->position < view->head &&
		view->position - begin < bytes)
		error = segment_drain(w, spool, view, view->head);
	return error;
}
