/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.h - forked children: detected, detached from their parent's spool, and started.
 *
 * Until its first call, a child runs only code in FORKED_TEXT. All functions: the thread that
 * forked, async-signal-safe, raw system calls only.
 */
#ifndef TRACER_SESSION_FORK_H
#define TRACER_SESSION_FORK_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/core/gate.h"
#include "tracer/core/state.h"

/* Forget the parent: the first step of a forked child, which may not touch the parent's spool. If
 * the fork interrupted the tracer, the child records nothing until the tracer has been left. */
void session_child(void);

/* Forget the parent when a call detects the fork: a raw system call forked, or this is the child's
 * first call. */
void session_forked(void);

/* Count as dropped, as soon as there is a spool, a call that ends here and began in the parent,
 * before a handler forked: the parent records it. Any thread, async-signal-safe. */
void session_count_inherited(void);

/*
 * Called before and after a fork that runs atfork handlers. Most children exec or end at once, so
 * the handler changes nothing but the thread's own state (each page that it wrote would be copied),
 * and session_child() runs at the child's first call. It runs at once if other threads of the child
 * could call first.
 */
void session_before_fork(void);
void session_child_handler(void);

/* Return false in a task that runs on the memory of a forked child's first thread (clone() with
 * CLONE_VM, without CLONE_SETTLS). The task's calls are not recorded from then on. */
bool session_is_childs_own(void);

/* Start recording in a forked child, at its first event, unless another thread has done so. Return
 * false if tracing is off. Signals are blocked. */
bool session_child_start(void);

/* Test the gate if the words are not set up: detect a fork that no wrapper has seen, and test
 * again. */
bool gate_opens(const uint32_t *mask);

/* Return true if events are recorded now. Two loads, unless this may be a forked child. */
static inline __attribute__((always_inline)) bool gate_is_open(void)
{
	return __builtin_expect(GATE_LOOKS_OPEN(session_mask), 1) ||
		(!own_words.alive && gate_opens(&own_words.session_mask));
}

/* Return true if OS runtime calls are recorded now. */
static inline __attribute__((always_inline)) bool gate_is_open_for_osrt(void)
{
	return __builtin_expect(GATE_LOOKS_OPEN(osrt_mask), 1) ||
		(!own_words.alive && gate_opens(&own_words.osrt_mask));
}

#endif
