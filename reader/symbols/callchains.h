/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callchains.h - the callchain nodes of one process: a chain is named by its innermost node and
 * leads outwards by parents.
 *
 * Source: the Callchains entries of docs/FORMAT.md. Nodes cost 12 bytes. A writer that took over
 * may tell nodes again; lost blocks leave holes. callchain_nodes_release() at the end. One thread
 * while nodes are added, then any thread.
 */
#ifndef READER_SYMBOLS_CALLCHAINS_H
#define READER_SYMBOLS_CALLCHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "report.pb-c.h"

/* Frames of a chain that are looked at: parents always have smaller ids, so chains end, but a
 * hostile one is as long as the file. Real ones are cut far below. */
#define CALLCHAIN_FRAMES_MAX 1024u

/* Nodes that follow each other by id. */
struct callchain_piece {
	uint32_t first_id, count, capacity;
	uint32_t *parents;   /* 0 = outermost frame */
	uint64_t *addresses; /* return addresses: the call stands before them */
};

/* All zero = empty. */
struct callchain_nodes {
	struct callchain_piece *pieces; /* by id; one, unless blocks were lost */
	uint32_t count, capacity;
};

void callchain_nodes_release(struct callchain_nodes *n);

/* Takes an entry in; the message stays the caller's. 0, -ENOMEM, or -EBADMSG with the cause: what
 * is wrong is left out. */
int callchain_nodes_add(
	struct callchain_nodes *n, const Libtrace__Callchains *entry, const char **ret_cause);

/* The node `id`. Returns false, and leaves the results, where the file does not tell it. */
bool callchain_node(
	const struct callchain_nodes *n, uint32_t id, uint32_t *ret_parent, uint64_t *ret_address);

/*
 * The addresses of the chain of node `id`, innermost first, at most `room` of them. Returns their
 * number; *ret_whole: the chain ends at an outermost frame, and was not cut.
 */
uint32_t callchain_addresses(const struct callchain_nodes *n, uint32_t id, uint64_t *ret_addresses,
	uint32_t room, bool *ret_whole);

#endif
