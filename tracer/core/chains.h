/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains.h - callchains of events: when one is due, and where its nodes and modules are stored.
 *
 * All sources use it alike: an event of a class that lasted at least the threshold of its class
 * carries the callchain of its thread at the time of recording. A source tests chains_due(), one
 * comparison, and then calls chains_room() in place of lane_room().
 *
 * Nodes are stored in chunks of the spool, where the writer reads them (unwind/nodes.h). A module
 * is recorded before the first chain that leads through it, together with all that were loaded at
 * the start. Modules that dlopen() brings are found in the table of the C library
 * (_dl_find_object), without a lock. All functions: with thread.busy set, unless stated otherwise.
 */
#ifndef TRACER_CORE_CHAINS_H
#define TRACER_CORE_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/core/gate.h"
#include "tracer/core/thread.h"

struct callchain_thread; /* unwind/callchain.h */
struct registers_all;    /* unwind/registers.h */
struct dl_phdr_info;     /* declared in <link.h> */

/* Return true if an event of the class that lasted `ticks` ticks is to carry a callchain. */
static inline bool chains_due(enum chain_class class, uint64_t ticks)
{
	return __builtin_expect(ticks >= own_words.chains_ticks[class], 0);
}

/* Set up what the options ask for. Once, when the session starts, outside of any traced call. */
void chains_start(void);

/* Forget, in a forked child, what the parent's spool has: the child has a spool of its own. */
void chains_forked(void);

/* Report, at the end of the process and in check mode, the result of the comparison with
 * libunwind. */
void chains_end(void);

/* Record the modules of chains that a vfork child has taken on this thread. Owning thread,
 * thread.busy set. */
void chains_vfork_parent(struct thread *t);

/* Return true if chains are taken in this process and the calling thread may look at its modules
 * now. */
bool chains_follow_modules(void);

/* Prepare for the application's dlclose(); call if chains_follow_modules() is true. */
void chains_before_unload(void);

/* Forget the modules that the application's dlclose() has unloaded, after chains_before_unload().
 * Owning thread, with a lane, thread.busy not set: may wait for the loader's lock. */
void chains_after_unload(void);

/* Record the modules that are in the map, for a source whose events have addresses outside of
 * chains. Owning thread, with a lane, thread.busy set. */
void chains_record_modules(void);

/* True while libunwind is used. While it runs, within the tracer's guard, dl_iterate_phdr() is
 * answered from our own map: chains_iterate_modules(). */
extern bool chains_ask_libunwind __attribute__((visibility("hidden")));
int chains_iterate_modules(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);

/*
 * Make room for an event and its callchain, which is that of the traced call that the calling code
 * is part of. Return the address of the event's own record, or NULL as lane_room() does. *slots is
 * the number of the event's own slots, and becomes the number to publish: a record of the chain
 * precedes the event, if a chain was found. Owning thread, thread.busy set; async-signal-safe.
 */
struct record *chains_room(struct thread *t, uint64_t tick, unsigned *slots);

/* As chains_room(), for an event of code that a signal has interrupted, in its handler: the chain
 * begins at the registers of that code. `memory` is the thread's, for such chains alone. */
struct record *chains_room_at(struct thread *t, uint64_t tick, struct callchain_thread *memory,
	const struct registers_all *from, unsigned *slots);

#endif
