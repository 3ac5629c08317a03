/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callchains.h - callchain nodes of one process: a callchain is identified by its innermost node
 * and continues outwards through parents.
 *
 * Format: Callchains entries of docs/FORMAT.md. A node takes 12 bytes. A writer that took over may
 * define nodes again; lost blocks leave gaps. callchain_nodes_release() at the end. One thread
 * while nodes are added, then any thread.
 */
#ifndef READER_SYMBOLS_CALLCHAINS_H
#define READER_SYMBOLS_CALLCHAINS_H

#include <stdbool.h>
#include <stdint.h>

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

/* Free all nodes and leave the table empty. */
void callchain_nodes_release(struct callchain_nodes *n);

/* Add an entry; the caller keeps the message. Returns 0, -ENOMEM, or -EBADMSG with the cause:
 * invalid nodes are skipped. */
int callchain_nodes_add(
	struct callchain_nodes *n, const Libtrace__Callchains *entry, const char **ret_cause);

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
