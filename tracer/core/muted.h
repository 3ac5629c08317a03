/* SPDX-License-Identifier: Apache-2.0 */
/*
 * muted.h - calls that the tracer makes of a library, within a call of the program: what the
 * library then calls of the C library is not taken for the program's.
 */
#ifndef TRACER_CORE_MUTED_H
#define TRACER_CORE_MUTED_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/core/thread.h"

struct muted {
	struct thread *thread;
	struct lane *lane; /* the thread's, which it does not have meanwhile */
	uint64_t signals;
	bool within; /* the caller had the guard already */
};

/* Take the guard of the calling thread, mute it, and block its signals, until muted_leave().
 * Return false if the tracer runs on this thread already, or nothing may be recorded. */
bool muted_enter(struct muted *ret_muted);

/* Mute the calling thread for a caller that has its guard and keeps it. Return false if nothing
 * may be recorded, or a handler has interrupted the tracer. */
bool muted_begin(struct muted *ret_muted);

/* Unmute the thread, and give the guard back unless the caller had it before. */
void muted_leave(const struct muted *muted);

#endif
