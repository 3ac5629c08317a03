/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merged.c - native and Python frames of a thread as one chain of nodes.
 */
#include "unwind/merged.h"

#include "common/frame_address.h"

static uint32_t generation = 1;

/* A chain whose nodes are being looked up, the outermost first. */
struct merge {
	struct merged_thread *thread;
	const struct python_thread *python;
	struct node_index index;
	struct node_name name;
	uint32_t count;
	uint32_t native, step; /* used so far: frames, and steps of `python` */
	uint32_t root;         /* flags of the outermost node, 0 after it */
};

void merged_forked(void)
{
	generation++;
}

static inline bool put(struct merge *m, uint64_t address, uint32_t flags)
{
	flags |= m->root;
	m->root = 0;
	m->name = nodes_child(callchain_tree(), m->index, m->name, address, flags);
	m->thread->frames[m->count++] = (struct merged_frame){
		address, m->name.hash, m->name.id, flags, (uint16_t)m->native, (uint16_t)m->step};
	return m->name.id != 0;
}

/* Put the Python frames whose address on the stack is above `slot`: they run in the C frame just
 * above it, or further out. */
static inline bool put_python(struct merge *m, uint64_t slot)
{
	while (m->step < m->python->count) {
		const struct python_step *s = &m->python->steps[m->step];
		if (s->address && s->at <= slot)
			break;
		m->step++;
		if (s->address && !put(m, s->address, 0))
			return false;
	}
	return true;
}

/* Find the C frames of the Python frames, from the innermost outward, for versions in which each
 * runs in a C frame of the evaluating function of its own. */
static void places_find(struct python_thread *python, const struct merged_interpreter *interpreter,
	const struct callchain_thread *native, uint32_t count)
{
	for (uint32_t i = python->count; i-- > python->first;) {
		struct python_step *s = &python->steps[i];
		uint64_t at = UINT64_MAX;
		struct callchain_found found;
		while (count > 0) {
			if (callchain_frame_get(native, --count, &found) &&
				found.ip - interpreter->eval_begin <
					interpreter->eval_end - interpreter->eval_begin) {
				at = found.slot + 1;
				break;
			}
		}
		if (s->at != at && python->kept > i)
			python->kept = i;
		s->at = at;
	}
}

/* Return true if the chain up to `f` is unchanged. It is not if the next Python frame is new: this
 * frame may belong outside of an unchanged C frame. */
static inline bool is_kept(
	const struct merged_frame *f, const struct python_thread *python, uint32_t native_kept)
{
	return f->native <= native_kept && f->steps <= python->kept &&
		(f->steps < python->kept || python->kept == python->count ||
			f->address & ADDRESS_PYTHON);
}

/* Continue after the outer part that this chain shares with the last one, of `known` frames. */
static void resume(struct merge *m, uint32_t known, uint32_t native_kept)
{
	const struct merged_frame *last = m->thread->frames + known;
	while (known && !is_kept(--last, m->python, native_kept))
		known--;
	if (!known)
		return;
	m->count = known;
	m->name = (struct node_name){last->hash, last->id};
	m->native = last->native;
	m->step = last->steps;
	m->root = 0;
}

/* Put the frames that are not in the chain yet. Return false without room. */
static bool put_all(struct merge *m, const struct merged_interpreter *interpreter,
	const struct callchain_thread *native, uint32_t count)
{
	struct callchain_found f;
	bool first = m->native == 0;
	/* The last chain may have had other Python frames behind this C frame. */
	if (!first && callchain_frame_get(native, m->native - 1, &f) && !put_python(m, f.slot))
		return false;
	for (; m->native < count; first = false) {
		if (!callchain_frame_get(native, m->native, &f)) {
			m->native++;
			continue;
		}
		/* Put Python frames that run outside of the outermost C frame found. */
		if (first && !put_python(m, f.slot))
			return false;
		m->native++;
		bool inner = f.ip - interpreter->begin < interpreter->end - interpreter->begin;
		if ((!inner && !put(m, f.ip, f.flags)) || !put_python(m, f.slot))
			return false;
	}
	m->native = UINT16_MAX; /* if more C frames are found, these may belong elsewhere */
	return put_python(m, 0);
}

uint32_t merged_take(struct merged_thread *thread, uint32_t known,
	const struct merged_interpreter *interpreter, const struct callchain_thread *native,
	const struct callchain_result *result, struct python_thread *python, bool cut)
{
	struct callchain_nodes *nodes = callchain_tree();
	uint32_t now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
	struct merge m = {.thread = thread, .python = python, .step = python->first};
	m.root = result->end == CALLCHAIN_LOST        ? NODE_LOST
		: cut || result->end == CALLCHAIN_CUT ? NODE_CUT
						      : 0;
	bool same = thread->generation == now && thread->root == m.root &&
		thread->first == python->first;
	bool fresh = result->kept < result->count || python->kept < python->count ||
		thread->native != result->count || thread->steps != python->count;
	thread->generation = now;
	thread->root = m.root;
	thread->first = python->first;
	thread->native = result->count;
	thread->steps = python->count;
	if (python->one_each && (fresh || !same))
		places_find(python, interpreter, native, result->count);
	m.index = nodes_index(nodes, __atomic_load_n(&nodes->level, __ATOMIC_ACQUIRE));
	bool whole = same && !fresh && known;
	if (same)
		resume(&m, known, whole ? UINT16_MAX : result->kept);
	bool done = whole || put_all(&m, interpreter, native, result->count);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->count = done ? m.count : 0;
	return done ? m.name.id : 0;
}
