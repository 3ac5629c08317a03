/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callchains.h - callchain nodes of one process: a callchain is identified by its innermost node
 * and continues outwards through parents.
 *
 * Format: Callchains entries of docs/FORMAT.md. A node takes 12 bytes. A writer that took over may
 * define nodes again; lost blocks leave gaps. callchain_nodes_release() at the end. One thread
 * while nodes are added or chosen, then any thread.
 */
#ifndef READER_SYMBOLS_CALLCHAINS_H
#define READER_SYMBOLS_CALLCHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/frame_address.h"
#include "report.pb-c.h"

/* Maximum number of frames read of a callchain. Parents have smaller ids, so every callchain ends,
 * but a hostile one may be as long as the file. Recorded callchains are much shorter. */
#define CALLCHAIN_FRAMES_MAX 1024u

/* Nodes with consecutive ids. */
struct callchain_piece {
	uint32_t first_id, count, capacity;
	uint32_t *parents;   /* id of the caller's node; 0 = outermost frame */
	uint64_t *addresses; /* return addresses: the call is just before them */
};

/* All zero = empty. */
struct callchain_nodes {
	struct callchain_piece *pieces; /* sorted by id; one piece unless blocks were lost */
	uint32_t count, capacity;
};

/* Frames of callchains that readers get. The addresses below stand for frames that are left out. */
enum callchain_view {
	CALLCHAINS_MERGED, /* all: Python frames in place of the interpreter's own */
	CALLCHAINS_NATIVE, /* consecutive Python frames are one: CALLCHAIN_FOLDED_PYTHON */
	CALLCHAINS_PYTHON  /* Python frames; CALLCHAIN_NO_PYTHON if the callchain has none */
};

#define CALLCHAIN_FOLDED (ADDRESS_PYTHON | UINT64_C(1) << 61)
#define CALLCHAIN_FOLDED_PYTHON CALLCHAIN_FOLDED
#define CALLCHAIN_NO_PYTHON (CALLCHAIN_FOLDED | 1)

/* Free all nodes and leave the table empty. */
void callchain_nodes_release(struct callchain_nodes *n);

/* Add an entry; the caller keeps the message. Returns 0, -ENOMEM, or -EBADMSG with the cause:
 * invalid nodes are skipped. */
int callchain_nodes_add(
	struct callchain_nodes *n, const Libtrace__Callchains *entry, const char **ret_cause);

/* Reduce all callchains to the frames of the view. Ids keep their callchains; a node that is left
 * out becomes a copy of its nearest caller that is not. Call it once, after all nodes were added.
 */
void callchain_nodes_choose(struct callchain_nodes *n, enum callchain_view view);

/* Look up node `id`. Returns false, with the results unchanged, if the file does not define it. */
bool callchain_node(
	const struct callchain_nodes *n, uint32_t id, uint32_t *ret_parent, uint64_t *ret_address);

/*
 * Return the addresses of the callchain of node `id`, innermost first, at most `room` of them.
 * Returns their number; *ret_whole: the callchain ends at an outermost frame, and was not cut.
 */
uint32_t callchain_addresses(const struct callchain_nodes *n, uint32_t id, uint64_t *ret_addresses,
	uint32_t room, bool *ret_whole);

#endif
