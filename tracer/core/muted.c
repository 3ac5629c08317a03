/* SPDX-License-Identifier: Apache-2.0 */
/*
 * muted.c - the guard around calls that the tracer makes of a library.
 */
#include "tracer/core/muted.h"

#include "common/sys.h"
#include "tracer/core/state.h"

bool muted_enter(struct muted *ret_muted)
{
	struct thread *t = &thread_self;
	*ret_muted = (struct muted){.thread = t};
	if (!session.spool || session.restricted || t->vfork_pid || t->shared ||
		!session_is_ours() || !thread_try_enter(t))
		return false;
	ret_muted->signals = sys_signals_block();
	ret_muted->lane = thread_mute(t);
	return true;
}

void muted_leave(const struct muted *muted)
{
	thread_unmute(muted->thread, muted->lane);
	sys_signals_set(muted->signals);
	thread_give(muted->thread);
}
