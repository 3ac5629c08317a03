/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.c - the rare ways into a source that another library calls back.
 */
#include "tracer/session/entry.h"

#include "tracer/core/state.h"
#include "tracer/session/attach.h"
#include "tracer/session/fork.h"

/* Enter after a handler interrupted the tracer or left it by siglongjmp. */
static struct thread *enter_interrupted(struct thread *t)
{
	thread_mend_guard(t);
	if (!t->busy)
		return thread_enter_attached(t) ? t : NULL;
	if (t->lane)
		t->lane->dropped[DROP_NESTED]++;
	else if (session.spool)
		session_count_drop(DROP_NESTED);
	return NULL;
}

struct thread *event_enter_first(struct thread *t)
{
	if (gate_is_wiped() && !gate_opens(&own_words.session_mask) && gate_is_wiped())
		return NULL; /* the tracer was interrupted when the process was forked */
	if (t->shared && thread_is_stray(t))
		return NULL;
	if (t->busy)
		return enter_interrupted(t);
	return thread_enter_attached(t) ? t : NULL;
}
