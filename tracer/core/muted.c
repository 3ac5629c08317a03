/* SPDX-License-Identifier: Apache-2.0 */
/*
 * muted.c - the guard around calls that the tracer makes of a library.
 */
#include "tracer/core/muted.h"

#include "common/sys.h"
#include "tracer/core/state.h"

static bool is_possible(const struct thread *t)
{
	return session.spool && !session.restricted && !t->vfork_pid && !t->shared &&
		session_is_ours();
}

static void mute(struct muted *m)
{
	m->signals = sys_signals_block();
	m->lane = thread_mute(m->thread);
}

bool muted_enter(struct muted *ret_muted)
{
	struct thread *t = &thread_self;
	*ret_muted = (struct muted){.thread = t};
	if (!is_possible(t) || !thread_try_enter(t))
		return false;
	mute(ret_muted);
	return true;
}

bool muted_begin(struct muted *ret_muted)
{
	struct thread *t = &thread_self;
	*ret_muted = (struct muted){.thread = t, .within = true};
	if (!is_possible(t) || !t->busy || t->nested)
		return false;
	mute(ret_muted);
	return true;
}

void muted_leave(const struct muted *muted)
{
	thread_unmute(muted->thread, muted->lane);
	sys_signals_set(muted->signals);
	if (!muted->within)
		thread_give(muted->thread);
}
