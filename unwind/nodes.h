/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes.h - callchains as a tree of nodes: a chain is named by the id of its innermost node, and
 * equal outer parts are stored once.
 *
 * A node says "`address`, called from the chain `parent`". Ids count from 1; 0 means no node; it is
 * the parent of an outermost frame. Node `id` is element id % NODES_PER_CHUNK of chunk number id /
 * NODES_PER_CHUNK (element 0 of chunk 0 stays empty).
 *
 * Guarantees for a reader in another process:
 * - Nodes are only added, never changed. Chunks begin as zeros. `parent` and `flags` are stored
 *   first, then `address` with release; so a node whose `address` (acquire) is not 0 is whole
 *   (node_read()).
 * - An id is handed out after its node and all its ancestors are stored. A thread that got the id
 * by a release/acquire pair (an event published in a lane) finds the whole chain.
 * - A parent's id is always smaller than its child's, so a walk to the root ends.
 * - Ids may have holes: a thread that loses the race to add a node leaves a whole node that is in
 *   no chain; one that could not get its chunk leaves zeros.
 */
#ifndef UNWIND_NODES_H
#define UNWIND_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"

#define NODES_CHUNK_BYTES CHUNK_BYTES
#define NODES_PER_CHUNK CALLCHAIN_CHUNK_NODES
#define NODES_CHUNKS_MAX CALLCHAIN_CHUNKS_MAX
#define NODES_MAX (NODES_PER_CHUNK * NODES_CHUNKS_MAX)
#define NODES_LEVELS 4u
#define NODES_FIRST_ENTRIES 4096u /* the smallest table of the index, within the struct */

/* The tree and its private index. Zeroed, with `more` and `arg` set, it is empty. */
struct callchain_nodes {
	/*
	 * Return NODES_CHUNK_BYTES of zeros for chunk `number`, or NULL if there is no room. Called
	 * in the tracer's guard; any thread. A second call for the same number must return the same
	 * memory: the thread that made the first call may have ended before it stored the address.
	 */
	void *(*more)(void *arg, uint32_t number);
	void *arg;
	uint32_t next;  /* id of the next node, less 1 */
	uint32_t level; /* table in use; the smaller tables are still read */
	uint32_t entries[NODES_LEVELS];
	uint32_t *table[NODES_LEVELS]; /* tag << 20 | id; 0 = empty */
	struct callchain_node *chunk[NODES_CHUNKS_MAX];
	uint8_t asked[NODES_CHUNKS_MAX];
	bool without_memory; /* `more` had no room for the last chunk that was asked for */
	uint32_t first_table[NODES_FIRST_ENTRIES];
};

/* A node, and the hash of its whole chain, which is computed on the way: so the lookup of a frame
 * need not wait for its caller's id. {0, 0} is the parent of an outermost frame. */
struct node_name {
	uint64_t hash;
	uint32_t id;
};

/* Return true if all ids are used: no node can be added any more. Any thread. */
static inline bool nodes_are_full(const struct callchain_nodes *nodes)
{
	return __atomic_load_n(&nodes->next, __ATOMIC_RELAXED) + 1 >= NODES_MAX;
}

/* Return true if nodes are missing because `more` had no room for them. Any thread. */
static inline bool nodes_lack_memory(const struct callchain_nodes *nodes)
{
	return __atomic_load_n(&nodes->without_memory, __ATOMIC_RELAXED);
}

/* Start an empty tree in a forked child: its parent's chunks are in its parent's spool. No other
 * thread may use the tree. */
void nodes_forget(struct callchain_nodes *nodes);

/* ---- the usual case ---- */

#define NODES_ID_BITS 20
#define NODES_PROBES_MAX 128u
#define NODES_TAG(hash) ((uint32_t)((hash) >> 20) << NODES_ID_BITS)

static const uint8_t nodes_level_bits[NODES_LEVELS] = {12, 15, 18, 21};

static inline struct callchain_node *node_at(const struct callchain_nodes *nodes, uint32_t id)
{
	struct callchain_node *chunk =
		__atomic_load_n(&nodes->chunk[id / NODES_PER_CHUNK], __ATOMIC_RELAXED);
	return chunk + id % NODES_PER_CHUNK;
}

/* A node's fields in two words, which the compiler passes in registers. */
struct node_key {
	uint64_t address;
	uint64_t link; /* flags << 32 | parent */
};

/* A table of the index, ready to be searched. */
struct node_index {
	uint32_t *table;
	uint32_t shift, mask;
};

static inline struct node_index nodes_index(const struct callchain_nodes *nodes, uint32_t level)
{
	return (struct node_index){__atomic_load_n(&nodes->table[level], __ATOMIC_ACQUIRE),
		64u - nodes_level_bits[level], (1u << nodes_level_bits[level]) - 1};
}

/* Search one table of the index. Return the id; or 0, with *ret_at on an empty entry, or > mask if
 * there is none near. */
static inline uint32_t nodes_find(const struct callchain_nodes *nodes, struct node_index index,
	uint64_t hash, struct node_key key, uint32_t *ret_at)
{
	uint32_t at = (uint32_t)(hash >> index.shift), tag = NODES_TAG(hash);
	for (uint32_t i = 0; i < NODES_PROBES_MAX; i++) {
		uint32_t entry = __atomic_load_n(&index.table[at], __ATOMIC_ACQUIRE);
		uint32_t id = entry ^ tag;
		if (id < NODES_MAX && id) {
			const struct callchain_node *node = node_at(nodes, id);
			if (node->address == key.address &&
				((uint64_t)node->flags << 32 | node->parent) == key.link)
				return id;
		} else if (!entry) {
			*ret_at = at;
			return 0;
		}
		at = (at + 1) & index.mask;
	}
	*ret_at = index.mask + 1;
	return 0;
}

/* Get a node as nodes_child() does, if it is not in the current table. Return the id. */
uint32_t nodes_child_slow(struct callchain_nodes *nodes, uint64_t hash, struct node_key key);

/*
 * Get the node (parent, address, flags), and add it if it is new. The id is 0 without room. `index`
 * is the current table. Any thread, lock-free but for a new chunk (bounded wait); async-signal-safe
 * outside itself. Threads that add the same node at once get the same id, with one rare exception:
 * a thread that began before the index grew, and that reads the old table while two others add the
 * node to the old and to the new table.
 */
static inline struct node_name nodes_child(struct callchain_nodes *nodes, struct node_index index,
	struct node_name parent, uint64_t address, uint32_t flags)
{
	struct node_key key = {address, (uint64_t)flags << 32 | parent.id};
	/* The next frame's hash depends on this one, so there is only one multiplication per frame.
	 * Its upper bits are well mixed. */
	uint64_t hash = (parent.hash ^ parent.hash >> 32 ^ address ^ (uint64_t)flags << 60) *
		0x9e3779b97f4a7c15ull;
	uint32_t id = 0, at;
	if (__builtin_expect(index.table != NULL, 1))
		id = nodes_find(nodes, index, hash, key, &at);
	if (__builtin_expect(id == 0, 0))
		id = nodes_child_slow(nodes, hash, key);
	return (struct node_name){hash, id};
}

/* Copy a node: for readers of chunks, in any process. Return false if it is not stored (yet). */
static inline bool node_read(const struct callchain_node *node, struct callchain_node *ret_node)
{
	uint64_t address = __atomic_load_n(&node->address, __ATOMIC_ACQUIRE);
	if (!address)
		return false;
	*ret_node = (struct callchain_node){address, node->parent, node->flags};
	return true;
}

#endif
