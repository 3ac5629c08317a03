/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merged.c - native and Python frames of a thread as one chain of nodes.
 */
#include "unwind/merged.h"

static uint32_t generation = 1;

/* A chain whose nodes are being looked up, the outermost first. */
struct merge {
	struct merged_thread *thread;
	struct node_index index;
	struct node_name name;
	uint32_t count;
	uint32_t known; /* frames of the last chain */
	uint32_t root;  /* flags of the outermost node, 0 after it */
	bool same;      /* all frames so far are those of the last chain */
};

void merged_forked(void)
{
	generation++;
}

static inline bool put(struct merge *m, uint64_t address, uint32_t flags)
{
	struct merged_frame *f = &m->thread->frames[m->count];
	flags |= m->root;
	m->root = 0;
	m->same = m->same && m->count < m->known && f->address == address && f->flags == flags;
	if (m->same) {
		m->name = (struct node_name){f->hash, f->id};
	} else {
		m->name = nodes_child(callchain_tree(), m->index, m->name, address, flags);
		*f = (struct merged_frame){address, m->name.hash, m->name.id, flags};
	}
	m->count++;
	return m->name.id != 0;
}

/* Put the Python frames whose address on the stack is above `slot`: they run in the C frame just
 * above it, or further out. *left: Python frames that are not in the chain yet. */
static inline bool put_python(
	struct merge *m, const struct python_thread *python, uint32_t *left, uint64_t slot)
{
	while (*left && python->frames[*left - 1].at > slot)
		if (!put(m, python->frames[--*left].address, 0))
			return false;
	return true;
}

/* Find the C frames of Python frames whose `at` is 0, from the innermost outward. Each belongs to
 * the next C frame of the evaluating function; in 3.13 consecutive ones share a C frame. */
static void places_find(struct python_thread *python, const struct merged_interpreter *interpreter,
	const struct callchain_thread *native, uint32_t count)
{
	uint64_t at = 0;
	for (uint32_t i = 0; i < python->count; i++) {
		struct python_frame *f = &python->frames[i];
		struct callchain_found found;
		if (f->at) {
			at = 0;
			continue;
		}
		if (at && !python->one_each) {
			f->at = at;
			continue;
		}
		at = UINT64_MAX;
		while (count > 0) {
			if (callchain_frame_get(native, --count, &found) &&
				found.ip - interpreter->eval_begin <
					interpreter->eval_end - interpreter->eval_begin &&
				(!i || found.slot > python->frames[i - 1].at)) {
				at = found.slot + 1;
				break;
			}
		}
		f->at = at;
	}
}

uint32_t merged_take(struct merged_thread *thread, const struct merged_interpreter *interpreter,
	const struct callchain_thread *native, const struct callchain_result *result,
	struct python_thread *python, bool cut)
{
	struct callchain_nodes *nodes = callchain_tree();
	uint32_t left = python->count, now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
	struct merge m = {.thread = thread, .same = thread->generation == now};
	m.index = nodes_index(nodes, __atomic_load_n(&nodes->level, __ATOMIC_ACQUIRE));
	m.root = result->end == CALLCHAIN_LOST        ? NODE_LOST
		: cut || result->end == CALLCHAIN_CUT ? NODE_CUT
						      : 0;
	if (!python->frames[left - 1].at)
		places_find(python, interpreter, native, result->count);
	m.known = thread->count;
	/* A handler may leave by siglongjmp while frames are being put in place. */
	thread->count = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	bool done = true, first = true;
	for (uint32_t i = 0; done && i < result->count; i++) {
		struct callchain_found f;
		if (!callchain_frame_get(native, i, &f))
			continue;
		/* The outermost C frame found is not known to be the caller of these. */
		if (first)
			done = put_python(&m, python, &left, f.slot);
		first = false;
		bool inner = f.ip - interpreter->begin < interpreter->end - interpreter->begin;
		done = done && (inner || put(&m, f.ip, f.flags)) &&
			put_python(&m, python, &left, f.slot);
	}
	done = done && put_python(&m, python, &left, 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->generation = now;
	thread->count = done ? m.count : 0;
	return done ? m.name.id : 0;
}
