/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - state of the sources of events, stored with a spool or with the whole tree.
 *
 * A row of sources.def is a slot; the file that owns the state allocates it at first use and
 * provides the function that frees it, so spools and writer free it without knowing its type. All
 * zero = empty. One thread.
 */
#ifndef WRITER_SPOOL_SLOTS_H
#define WRITER_SPOOL_SLOTS_H

#include <stddef.h>

enum spool_slot {
#define SPOOL_SLOT(id) SLOT_##id,
#include "writer/sources.def"
	SPOOL_SLOTS
};

enum tree_slot {
#define TREE_SLOT(id) SLOT_##id,
#include "writer/sources.def"
	TREE_SLOTS
};

struct slot {
	void *data; /* NULL = none yet */
	void (*release)(void *data);
};

/* Return the state, allocated as `bytes` of zeros if there is none yet. `release` frees what the
 * state owns, and may be NULL; slot_release() frees the state itself. Return NULL if memory is
 * short. */
void *slot_get(struct slot *o, size_t bytes, void (*release)(void *data));

/* Free the state, if there is one. */
void slot_release(struct slot *o);

#endif
