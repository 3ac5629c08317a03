/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains.h - callchains of events: when one is due, where its nodes and modules go.
 *
 * The same for all sources: an event of a class that lasted at least the threshold of its class
 * carries the chain that its thread is in when it is recorded. A source asks chains_due(), one
 * comparison, and then chains_room() in place of lane_room().
 *
 * Nodes go into chunks of the spool, where the writer reads them (unwind/nodes.h). A module is told
 * by a record before the first chain that leads through it, with all that were loaded at the start;
 * of those that dlopen brings the table of the C library (_dl_find_object) tells, without a lock.
 * Everything here runs with thread.busy set.
 */
#ifndef TRACER_CHAINS_H
#define TRACER_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/gate.h"
#include "tracer/thread.h"

struct dl_phdr_info; /* of <link.h> */

static inline bool chains_due(enum chain_class class, uint64_t ticks)
{
	return __builtin_expect(ticks >= own_words.chains_ticks[class], 0);
}

/* Sets up what the options ask for. Once, when the session starts, outside of any traced call. */
void chains_start(void);

/* A forked child has a spool of its own. */
void chains_forked(void);

/* The process ends: in check mode, what the comparison found. */
void chains_end(void);

/* Back from a vfork child, which may have taken chains on this thread. Owning thread, thread.busy
 * set. */
void chains_vfork_parent(struct thread *t);

/* After the application's dlclose(): forgets what was unloaded. May wait for the loader's lock; not
 * from within the guard. */
void chains_refresh(void);

/* Tells of the modules that are in the map: a source's events name addresses other than by chains.
 * Owning thread, with a lane, thread.busy set. */
void chains_tell_modules(void);

/* libunwind is in use: while it runs, in the tracer's guard, our own map answers it. */
extern bool chains_ask_libunwind __attribute__((visibility("hidden")));
int chains_iterate_modules(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);

/*
 * lane_room() for an event with its chain, that of the traced call that the calling code is part
 * of. Returns where the event's own record goes; *slots, its slots, has become the number to
 * publish: the chain's record stands before it, if a chain was found. Owning thread;
 * async-signal-safe.
 */
struct record *chains_room(struct thread *t, uint64_t tick, unsigned *slots);

#endif
