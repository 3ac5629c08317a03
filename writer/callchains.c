/*
 * callchains.c - nodes of a process's callchain tree, from its spool into the report.
 *
 * A node goes into the report before the first event whose chain leads through it. Nodes are told
 * in the order of their ids; one that is not stored yet (a thread is just adding it, and no event
 * names it) is told as a hole, and again when it is there.
 */
#define _GNU_SOURCE
#include "writer/writer.h"

#define NODES_PER_ENTRY 4096u

/* A copy of node `id`; all zero when it is not there. */
static struct callchain_node node_load(struct spool *spool, uint32_t id)
{
	struct callchain_node none = {0};
	uint32_t number = id / CALLCHAIN_CHUNK_NODES;
	if (number >= CALLCHAIN_CHUNKS_MAX)
		return none;
	uint64_t offset =
		__atomic_load_n(&spool_header(spool)->callchain_chunk[number], __ATOMIC_ACQUIRE);
	const struct callchain_node *chunk =
		offset ? (const void *)spool_at(spool, offset, CHUNK_BYTES) : NULL;
	if (!chunk)
		return none;
	const struct callchain_node *node = &chunk[id % CALLCHAIN_CHUNK_NODES];
	uint64_t address = __atomic_load_n(&node->address, __ATOMIC_ACQUIRE);
	struct callchain_node copy = {address, node->parent, node->flags};
	return address && copy.parent < id ? copy : none;
}

/* Nodes [first, end), as many as an entry holds. Returns the id behind the last one told. */
static uint32_t entry_put(struct writer *w, struct spool *spool, uint32_t first, uint32_t end)
{
	static uint32_t parents[NODES_PER_ENTRY];
	static int64_t addresses[NODES_PER_ENTRY];
	Libtrace__Callchains callchains = LIBTRACE__CALLCHAINS__INIT;
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	uint64_t previous = 0;
	uint32_t count = 0;
	for (; count < NODES_PER_ENTRY && first + count < end; count++) {
		struct callchain_node node = node_load(spool, first + count);
		uint64_t address = node.address + ((node.flags & NODE_EXACT) != 0);
		if (!node.address) {
			spool->last_hole = first + count;
			if (!spool->first_hole)
				spool->first_hole = first + count;
		}
		parents[count] = node.parent;
		addresses[count] = (int64_t)(address - previous);
		previous = address;
	}
	callchains.has_process = callchains.has_first_id = 1;
	callchains.process = spool->id;
	callchains.first_id = first;
	callchains.n_parents = callchains.n_addresses = count;
	callchains.parents = parents;
	callchains.addresses = addresses;
	entry.callchains = &callchains;
	block_put_entry(&w->block, &entry);
	return first + count;
}

/* Does the chain lead through what may have been told as holes? Some of them may be there while the
 * first is not. */
static bool meets_holes(struct spool *spool, uint32_t id)
{
	for (; spool->first_hole && id >= spool->first_hole; id = node_load(spool, id).parent)
		if (id <= spool->last_hole && id <= spool->nodes_told)
			return true;
	return false;
}

uint32_t callchains_addresses(
	struct spool *spool, uint32_t id, uint64_t *ret_addresses, uint32_t most)
{
	uint32_t count = 0;
	while (id && count < most) {
		struct callchain_node node = node_load(spool, id);
		if (!node.address)
			break;
		ret_addresses[count++] = node.address + ((node.flags & NODE_EXACT) != 0);
		id = node.parent;
	}
	return count;
}

void callchains_tell(struct writer *w, struct spool *spool, uint32_t id)
{
	uint32_t from = spool->nodes_told + 1;
	if (meets_holes(spool, id)) {
		from = spool->first_hole;
		spool->first_hole = 0;
	}
	uint32_t end = (id > spool->nodes_told ? id : spool->nodes_told) + 1;
	if (end > CALLCHAIN_CHUNKS_MAX * CALLCHAIN_CHUNK_NODES)
		end = CALLCHAIN_CHUNKS_MAX * CALLCHAIN_CHUNK_NODES;
	while (from < end)
		from = entry_put(w, spool, from, end);
	spool->nodes_told = end - 1;
}
