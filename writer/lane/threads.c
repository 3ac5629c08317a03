/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - records of threads, and of the processes that they start.
 */
#define _GNU_SOURCE
#include "writer/lane/threads.h"

#include <string.h>

#include "writer/base/notes.h"
#include "writer/process/process.h"

void thread_guess(struct segment *s)
{
	struct lane *lane = lane_of(s->spool, s->view);
	s->view->tid = lane ? __atomic_load_n(&lane->tid, __ATOMIC_RELAXED) : 0;
}

/* End the vfork child that ran on this lane, because its parent has continued. */
static void guest_leave(struct segment *s, uint64_t ns)
{
	if (!s->view->owner)
		return;
	process_guest_end(s->w, s->spool, s->view, ns, false);
	s->view->owner = s->view->owner_pid = 0;
	s->view->guest = (struct tally){0};
	s->view->guest_execs = false;
	s->view->guest_exec.verdict = VERDICT_TRACED;
}

uint32_t thread_start_put(struct segment *s, const struct record_at *at)
{
	const struct record *r = at->r;
	struct thread_start start = {0};
	uint64_t ns = segment_ns(s, r->tick);
	memcpy(&start, at->payload, at->bytes < sizeof(start) ? at->bytes : sizeof(start));
	segment_run_end(s, s->at);
	guest_leave(s, ns);
	s->view->tid = (uint32_t)r->a;
	if (start.flags & THREAD_RESUMED) {
		s->overhead++;
		return at->slots;
	}
	if (start.flags & THREAD_VFORK_CHILD) {
		s->view->owner_pid = (uint32_t)r->b;
		s->view->owner = process_guest(s->w, s->spool, (uint32_t)r->b, ns);
	}
	s->spool->threads += !(start.flags & THREAD_VFORK_CHILD) && !s->w->recovering;
	struct batch *b = segment_row_add(s, EVENT_THREAD_START, ns);
	batch_set(b, THREAD_START_NAME,
		strings_id(&s->w->report.strings, start.name,
			strnlen(start.name, sizeof(start.name))));
	batch_set(b, THREAD_START_PARENT_TID, start.parent_tid);
	batch_set(b, THREAD_START_FLAGS, start.flags);
	batch_set(b, THREAD_START_PRIORITY, start.priority);
	return at->slots;
}

uint32_t thread_end_put(struct segment *s, const struct record_at *at)
{
	segment_row_add(s, EVENT_THREAD_END, segment_ns(s, at->r->tick));
	segment_run_end(s, s->at + 1);
	s->view->tid = 0;
	return at->slots;
}

uint32_t thread_name_put(struct segment *s, const struct record_at *at)
{
	char name[16];
	memcpy(name, &at->r->a, 8);
	memcpy(name + 8, &at->r->b, 8);
	struct batch *b = segment_row_add(s, EVENT_THREAD_NAME, segment_ns(s, at->r->tick));
	batch_set(b, THREAD_NAME_NAME,
		strings_id(&s->w->report.strings, name, strnlen(name, sizeof(name))));
	return at->slots;
}

/* Return the process of the events on this lane. */
static uint32_t own_pid(const struct segment *s)
{
	return s->view->owner ? s->view->owner_pid : s->spool->pid;
}

/* Add the row of a child, or of an exec. Return its time in ns. */
static uint64_t child_row_add(
	struct segment *s, const struct record_at *at, uint32_t pid, uint32_t how)
{
	const char *path = (const char *)at->payload;
	uint64_t ns = segment_ns(s, at->r->tick);
	struct batch *b = segment_row_add(s, EVENT_CHILD, ns);
	batch_set(b, CHILD_PID, pid);
	batch_set(b, CHILD_HOW, how);
	batch_set(b, CHILD_VERDICT, (uint32_t)at->r->b);
	batch_set(b, CHILD_PATH, strings_id(&s->w->report.strings, path, strnlen(path, at->bytes)));
	return ns;
}

/* Copy the path of the payload, truncated to `bytes`, including NUL. */
static void path_copy(const struct record_at *at, char *ret_path, size_t bytes)
{
	const char *path = (const char *)at->payload;
	size_t length = strnlen(path, at->bytes);
	length = length < bytes ? length : bytes - 1;
	memcpy(ret_path, path, length);
	ret_path[length] = 0;
}

uint32_t child_put(struct segment *s, const struct record_at *at)
{
	uint32_t pid = (uint32_t)at->r->a, verdict = (uint32_t)at->r->b;
	uint32_t how = (uint32_t)(at->r->b >> 32);
	char path[sizeof(s->spool->exec.path)];
	uint64_t ns = child_row_add(s, at, pid, how);
	bool is_copy = how == CHILD_FORK || how == CHILD_CLONE;
	bool is_shell = how == CHILD_SYSTEM || how == CHILD_POPEN;
	path_copy(at, path, sizeof(path));
	if (!verdict && is_copy && s->spool->same_namespace && !process_known_since(s->w, pid, ns))
		process_watch_child(s->w, pid, ns);
	if (is_shell || (!verdict && how == CHILD_SPAWN))
		process_expect(s->w, s->spool, own_pid(s), is_shell ? 0 : pid, verdict, ns, path);
	else if (pid && verdict_is_listed(verdict))
		process_put_untraced(s->w, pid, own_pid(s), 0, verdict, ns, path);
	return at->slots;
}

uint32_t exec_put(struct segment *s, const struct record_at *at)
{
	struct last_exec *last = s->view->owner ? &s->view->guest_exec : &s->spool->exec;
	if ((uint32_t)(at->r->b >> 32) == CHILD_EXEC_FAILED) {
		if (at->r->a)
			expected_withdraw(&s->w->expected, own_pid(s));
		else
			s->view->guest_execs = false;
		s->overhead++;
		return at->slots;
	}
	last->verdict = (uint32_t)at->r->b;
	last->ns = child_row_add(s, at, own_pid(s), CHILD_EXEC);
	path_copy(at, last->path, sizeof(last->path));
	s->view->guest_execs = s->view->owner != 0;
	return at->slots;
}

uint32_t waited_put(struct segment *s, const struct record_at *at)
{
	process_waited(s->w, s->spool,
		&(struct waited){.pid = (uint32_t)at->r->a,
			.status = (int32_t)at->r->b,
			.tick = at->r->tick,
			.ns = segment_ns(s, at->r->tick),
			.pid_namespace = s->spool->pid_namespace});
	s->overhead++;
	return at->slots;
}

void thread_end_of_dead_put(struct ending *e)
{
	if (ending_has_thread(e) && e->lane->state != LANE_PARTING) /* else it has a record */
		ending_row_add(e, EVENT_THREAD_END, ending_ns(e, e->end_tick));
}
