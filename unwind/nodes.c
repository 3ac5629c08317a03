/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes.c - callchains as a tree of nodes: chunks, and the index that grows.
 */
#define _GNU_SOURCE
#include "unwind/nodes.h"

#include <sys/mman.h>

#include "common/sys.h"

#define WAIT_TRIES 20000u /* about 10 ms; a chunk is allocated in 0.1 ms */
#define FIRST_BITS 12

_Static_assert(NODES_MAX == 1u << NODES_ID_BITS, "ids fill the lower bits of an index entry");
_Static_assert(NODES_FIRST_ENTRIES == 1u << FIRST_BITS, "the first table");
_Static_assert(NODES_PER_CHUNK * sizeof(struct callchain_node) == NODES_CHUNK_BYTES, "chunk");

/*
 * The index grows by a factor of 8 when it is half full. Nothing is copied: a node that is found in
 * a smaller table is entered in the current one, too, so nodes in use are found at once.
 */

static struct callchain_node *chunk_wait(struct callchain_nodes *nodes, uint32_t number)
{
	for (uint32_t i = 0; i < WAIT_TRIES; i++) {
		struct callchain_node *chunk =
			__atomic_load_n(&nodes->chunk[number], __ATOMIC_ACQUIRE);
		if (chunk || !__atomic_load_n(&nodes->asked[number], __ATOMIC_ACQUIRE))
			return chunk;
		SYS0(SYS_sched_yield);
	}
	/* The thread that asked has left by siglongjmp() from a handler, or was killed: ask
	 * again. */
	return nodes->more(nodes->arg, number);
}

/* Get a chunk: one thread asks for it, others that need it wait. */
static struct callchain_node *chunk_get(struct callchain_nodes *nodes, uint32_t number)
{
	struct callchain_node *chunk = __atomic_load_n(&nodes->chunk[number], __ATOMIC_ACQUIRE);
	uint8_t nobody = 0;
	if (chunk)
		return chunk;
	if (__atomic_compare_exchange_n(
		    &nodes->asked[number], &nobody, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		chunk = nodes->more(nodes->arg, number);
	else
		chunk = chunk_wait(nodes, number);
	__atomic_store_n(&nodes->without_memory, !chunk, __ATOMIC_RELAXED);
	if (chunk)
		__atomic_store_n(&nodes->chunk[number], chunk, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&nodes->asked[number], 0, __ATOMIC_RELEASE);
	return chunk;
}

/* Store a new node. Return its id, 0 without room. */
static uint32_t node_add(struct callchain_nodes *nodes, struct node_key key)
{
	uint32_t id = __atomic_load_n(&nodes->next, __ATOMIC_RELAXED) + 1;
	/* Get the chunk before an id is used: otherwise ids would be used up without room, and
	 * missing when there is room again. */
	if (id >= NODES_MAX || !chunk_get(nodes, id / NODES_PER_CHUNK))
		return 0;
	id = __atomic_add_fetch(&nodes->next, 1, __ATOMIC_RELAXED);
	if (id >= NODES_MAX) {
		__atomic_sub_fetch(&nodes->next, 1, __ATOMIC_RELAXED);
		return 0;
	}
	struct callchain_node *chunk = chunk_get(nodes, id / NODES_PER_CHUNK);
	if (!chunk)
		return 0;
	struct callchain_node *node = chunk + id % NODES_PER_CHUNK;
	node->parent = (uint32_t)key.link;
	node->flags = (uint32_t)(key.link >> 32);
	__atomic_store_n(&node->address, key.address, __ATOMIC_RELEASE);
	return id;
}

static bool level_open(struct callchain_nodes *nodes, uint32_t level)
{
	uint32_t *nothing = NULL;
	uint64_t bytes = sizeof(uint32_t) << nodes_level_bits[level];
	if (__atomic_load_n(&nodes->table[level], __ATOMIC_ACQUIRE))
		return true;
	uint32_t *table = level == 0 ? nodes->first_table : sys_mmap_private(bytes);
	if (!table)
		return false;
	if (!__atomic_compare_exchange_n(&nodes->table[level], &nothing, table, false,
		    __ATOMIC_RELEASE, __ATOMIC_RELAXED) &&
		level)
		sys_munmap(table, bytes);
	return true;
}

/* Return the table for new nodes: the next table if this one is half full and there is memory. */
static uint32_t level_for_new(struct callchain_nodes *nodes, uint32_t level, bool full)
{
	uint32_t half = 1u << (nodes_level_bits[level] - 1);
	full = full || __atomic_load_n(&nodes->entries[level], __ATOMIC_RELAXED) >= half;
	if (full && level + 1 < NODES_LEVELS && level_open(nodes, level + 1)) {
		__atomic_compare_exchange_n(&nodes->level, &level, level + 1, false,
			__ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
		return __atomic_load_n(&nodes->level, __ATOMIC_SEQ_CST);
	}
	return level;
}

/*
 * A node would get a second id if one thread enters it into a table while another opens the next
 * table, finds it in neither, and enters it there. So a thread that has entered a node checks that
 * the table is still the current one; if not, the next table decides, and the entry is corrected.
 */
uint32_t nodes_child_slow(struct callchain_nodes *nodes, uint64_t hash, struct node_key key)
{
	uint32_t level = __atomic_load_n(&nodes->level, __ATOMIC_SEQ_CST), made = 0, at;
	uint32_t *entered = NULL, entry = 0;
	if (!level_open(nodes, 0))
		return 0;
	for (bool full = false;;) {
		level = level_for_new(nodes, level, full);
		/* Search all older tables each time: other threads may have added the node
		 * meanwhile. */
		uint32_t id = 0, nothing = 0;
		for (uint32_t older = level; older-- > 0 && !id;)
			id = nodes_find(nodes, nodes_index(nodes, older), hash, key, &at);
		struct node_index index = nodes_index(nodes, level);
		uint32_t found = nodes_find(nodes, index, hash, key, &at);
		if (found && entered)
			__atomic_compare_exchange_n(entered, &entry, NODES_TAG(hash) | found, false,
				__ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
		if (found)
			return found;
		if (at > index.mask) {
			if (full || level + 1 == NODES_LEVELS)
				return id;
			full = true;
			continue;
		}
		if (!id && !made)
			made = node_add(nodes, key);
		id = id ? id : made;
		if (!id)
			return 0;
		entry = NODES_TAG(hash) | id;
		if (!__atomic_compare_exchange_n(&index.table[at], &nothing, entry, false,
			    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			continue; /* another thread was faster: this may be our node */
		__atomic_add_fetch(&nodes->entries[level], 1, __ATOMIC_RELAXED);
		uint32_t now = __atomic_load_n(&nodes->level, __ATOMIC_SEQ_CST);
		if (now == level)
			return id;
		entered = &index.table[at];
		level = now;
	}
}

void nodes_forget(struct callchain_nodes *nodes)
{
	for (uint32_t i = 1; i < NODES_LEVELS; i++) {
		if (nodes->table[i])
			sys_munmap(nodes->table[i], sizeof(uint32_t) << nodes_level_bits[i]);
		nodes->table[i] = NULL;
		nodes->entries[i] = 0;
	}
	for (uint32_t i = 0; nodes->entries[0] && i < NODES_FIRST_ENTRIES; i++)
		nodes->first_table[i] = 0;
	nodes->entries[0] = 0;
	nodes->level = 0;
	nodes->next = 0;
	nodes->without_memory = false;
	for (uint32_t i = 0; i < NODES_CHUNKS_MAX; i++) {
		nodes->chunk[i] = NULL;
		nodes->asked[i] = 0;
	}
}
