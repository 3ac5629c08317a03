/*
 * nodes.h - callchains as a tree of nodes: a chain is named by the id of its innermost node, and
 * equal outer parts are stored once.
 *
 * A node says "`address`, called from the chain `parent`". Ids count from 1; 0 is no node, the
 * parent of an outermost frame. Node `id` is element id % NODES_PER_CHUNK of chunk number id /
 * NODES_PER_CHUNK (element 0 of chunk 0 stays empty).
 *
 * What a reader in another process may rely on:
 * - Nodes are only added, never changed. Chunks begin as zeros. `parent` and `flags` are stored
 *   first, then `address` with release; so a node whose `address` (acquire) is not 0 is whole
 *   (node_read()).
 * - An id is handed out after its node and all its ancestors are stored. Who got the id by a
 *   release/acquire pair (an event published in a lane) finds the whole chain.
 * - A parent's id is always smaller than its child's, so a walk to the root ends.
 * - Ids may have holes: a thread that loses the race to add one node leaves a whole node that no
 *   chain names; one that could not get its chunk leaves zeros.
 */
#ifndef UNWIND_NODES_H
#define UNWIND_NODES_H

#include <stdbool.h>
#include <stdint.h>

#define NODES_CHUNK_BYTES 65536u
#define NODES_PER_CHUNK 4096u
#define NODES_CHUNKS_MAX 256u
#define NODES_MAX (NODES_PER_CHUNK * NODES_CHUNKS_MAX)
#define NODES_LEVELS 4u
#define NODES_FIRST_ENTRIES 4096u /* the smallest index, within the struct */

enum node_flag {
	NODE_EXACT = 1, /* `address` is an interrupted instruction, not a return address: no -1 */
	NODE_CUT = 2,   /* there are more frames outside, beyond the depth asked for */
	NODE_LOST = 4   /* it was called from somewhere, but the way there was not found */
};

struct callchain_node {
	uint64_t address; /* return address; 0 = not stored */
	uint32_t parent;
	uint32_t flags; /* enum node_flag */
};

/* The tree and its private index. Zeroed, with `more` and `arg` set, it is empty. */
struct callchain_nodes {
	/*
	 * NODES_CHUNK_BYTES of zeros for chunk `number`, or NULL when there is no room. Called in
	 * the tracer's guard; any thread. A second call for the same number (a thread got lost
	 * between asking and storing) must give the same memory.
	 */
	void *(*more)(void *arg, uint32_t number);
	void *arg;
	uint32_t next;  /* id of the next node, less 1 */
	uint32_t level; /* table in use; those below it are still read */
	uint32_t entries[NODES_LEVELS];
	uint32_t *table[NODES_LEVELS]; /* tag << 20 | id; 0 = empty */
	struct callchain_node *chunk[NODES_CHUNKS_MAX];
	uint8_t asked[NODES_CHUNKS_MAX];
	uint32_t first_table[NODES_FIRST_ENTRIES];
};

/*
 * The id of (parent, address, flags), which is added when it is new. Returns 0 when there is no
 * room. Any thread, lock-free but for a new chunk (bounded wait); async-signal-safe outside itself.
 * Two threads that add the same node at once get the same id; only while the index grows may one
 * node get two ids.
 */
uint32_t nodes_child(
	struct callchain_nodes *nodes, uint32_t parent, uint64_t address, uint32_t flags);

/* A forked child starts an empty tree: its parent's chunks lie in its parent's spool. No other
 * thread may be inside. */
void nodes_forget(struct callchain_nodes *nodes);

/* For readers of chunks, in any process: copies a node. False when it is not stored (yet). */
static inline bool node_read(const struct callchain_node *node, struct callchain_node *ret_node)
{
	uint64_t address = __atomic_load_n(&node->address, __ATOMIC_ACQUIRE);
	if (!address)
		return false;
	*ret_node = (struct callchain_node){address, node->parent, node->flags};
	return true;
}

#endif
