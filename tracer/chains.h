/*
 * chains.h - callchains of events: when one is due, where its nodes and modules go.
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

#include "tracer/thread.h"

struct dl_phdr_info; /* of <link.h> */

/* OS runtime calls that last so many ticks carry a callchain; UINT64_MAX = none does. */
extern uint64_t chains_osrt_ticks __attribute__((visibility("hidden")));

/* Sets up what the options ask for. Once, when the session starts, outside of any traced call. */
void chains_start(void);

/* A forked child has a spool of its own. */
void chains_forked(void);

/* The process ends: in check mode, what the comparison found. */
void chains_end(void);

/* After the application's dlclose(): forgets what was unloaded. May wait for the loader's lock; not
 * from within the guard. */
void chains_refresh(void);

/* libunwind is in use: while it runs, in the tracer's guard, our own map answers it. */
extern bool chains_ask_libunwind __attribute__((visibility("hidden")));
int chains_iterate_modules(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);

/* The callchain of the traced call that the calling code is part of: the id of its innermost node,
 * 0 = none. *ret_method is for REC_CALLCHAIN. Owning thread; async-signal-safe. */
uint32_t chains_take(struct thread *t, uint32_t *ret_method);

#endif
