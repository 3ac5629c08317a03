/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callchains.c - copying of the callchain nodes of a process from its spool to the report.
 *
 * Nodes are written in the order of their ids. A node that is not stored yet (a thread is adding
 * it, and no event refers to it) is written as a hole, and separately once a callchain contains it.
 *
 * A spool may claim anything: only chunks that are in the file and overlap no other chunk are read,
 * and nothing is written for an id without a node. So the amount written is bounded by the nodes
 * that exist.
 */
#include "writer/lane/callchains.h"

#include <stdlib.h>

#include "writer/base/writer.h"

#define NODES_PER_ENTRY 4096u
#define FRAMES_LOOKED_AT 1024u /* per chain, when holes are filled: readers follow as many */
#define WORD_BITS 64u

struct callchains {
	uint64_t offset[CALLCHAIN_CHUNKS_MAX];   /* offset when first read; 0 = not read yet */
	uint64_t *written[CALLCHAIN_CHUNKS_MAX]; /* a bit for each node; NULL = none of them */
	uint32_t end;               /* all nodes below it are written or are holes; 0 = 1 */
	uint32_t holes, first_hole; /* unwritten nodes below `end`: number, first */
};

static void callchains_release(void *data)
{
	struct callchains *c = data;
	for (uint32_t i = 0; i < CALLCHAIN_CHUNKS_MAX; i++)
		free(c->written[i]);
}

static struct callchains *callchains_of(struct spool *spool)
{
	return slot_get(
		&spool->slots[SLOT_CALLCHAINS], sizeof(struct callchains), callchains_release);
}

/* Return the offset of chunk `number`; 0 = there is none, or it overlaps another chunk. */
static uint64_t chunk_offset(struct spool *spool, uint32_t number)
{
	struct callchains *c = callchains_of(spool);
	if (!c || number >= CALLCHAIN_CHUNKS_MAX || c->offset[number])
		return c && number < CALLCHAIN_CHUNKS_MAX ? c->offset[number] : 0;
	uint64_t offset =
		__atomic_load_n(&spool_header(spool)->callchain_chunk[number], __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; offset && i < CALLCHAIN_CHUNKS_MAX; i++)
		if (c->offset[i] && offset + CHUNK_BYTES > c->offset[i] &&
			c->offset[i] + CHUNK_BYTES > offset)
			return 0;
	return c->offset[number] = offset;
}

/* Copy node `id`; all zero if there is none. */
static struct callchain_node node_load(struct spool *spool, uint32_t id)
{
	struct callchain_node none = {0};
	uint64_t offset = chunk_offset(spool, id / CALLCHAIN_CHUNK_NODES);
	const struct callchain_node *chunk =
		offset ? (const void *)spool_at(spool, offset, CHUNK_BYTES) : NULL;
	if (!chunk)
		return none;
	const struct callchain_node *node = &chunk[id % CALLCHAIN_CHUNK_NODES];
	uint64_t address = __atomic_load_n(&node->address, __ATOMIC_ACQUIRE);
	struct callchain_node copy = {address, node->parent, node->flags};
	return address && copy.parent < id ? copy : none;
}

static bool is_written(const struct callchains *c, uint32_t id)
{
	const uint64_t *words = c->written[id / CALLCHAIN_CHUNK_NODES];
	uint32_t bit = id % CALLCHAIN_CHUNK_NODES;
	return words && words[bit / WORD_BITS] >> bit % WORD_BITS & 1;
}

/* Mark a node written. Return false if memory is short: the node then counts as a hole. */
static bool written_set(struct callchains *c, uint32_t id)
{
	uint64_t **words = &c->written[id / CALLCHAIN_CHUNK_NODES];
	uint32_t bit = id % CALLCHAIN_CHUNK_NODES;
	if (!*words)
		*words = calloc(CALLCHAIN_CHUNK_NODES / WORD_BITS, sizeof(**words));
	if (*words)
		(*words)[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
	return *words;
}

static void holes_add(struct callchains *c, uint32_t first, uint32_t count)
{
	c->first_hole = c->holes && c->first_hole < first ? c->first_hole : first;
	c->holes += count;
}

/* Write the nodes [first, end), as many as fit into an entry. Return the id after the last
 * node. */
static uint32_t entry_put(struct writer *w, struct spool *spool, uint32_t first, uint32_t end)
{
	static uint32_t parents[NODES_PER_ENTRY];
	static int64_t addresses[NODES_PER_ENTRY];
	struct callchains *c = callchains_of(spool);
	Libtrace__Callchains callchains = LIBTRACE__CALLCHAINS__INIT;
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	uint64_t previous = 0;
	uint32_t count = 0;
	for (; count < NODES_PER_ENTRY && first + count < end; count++) {
		uint32_t id = first + count;
		struct callchain_node node = node_load(spool, id);
		if (!node.address || !written_set(c, id)) {
			node = (struct callchain_node){0};
			holes_add(c, id, 1);
		}
		uint64_t address = node.address + ((node.flags & NODE_EXACT) != 0);
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
	block_put_entry(&w->report.block, &entry);
	return first + count;
}

/* Write the nodes of the chain that were holes and are stored now. */
static void holes_fill(struct writer *w, struct spool *spool, uint32_t id)
{
	struct callchains *c = callchains_of(spool);
	for (uint32_t i = 0; i < FRAMES_LOOKED_AT && c->holes && id >= c->first_hole; i++) {
		struct callchain_node node = node_load(spool, id);
		if (node.address && !is_written(c, id)) {
			c->holes--;
			entry_put(w, spool, id, id + 1);
		}
		id = node.parent;
	}
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

static bool nodes_put(struct writer *w, struct spool *spool, uint32_t id)
{
	struct callchains *c = callchains_of(spool);
	if (!c || !node_load(spool, id).address)
		return true;
	uint32_t from = c->end ? c->end : 1;
	while (from <= id && !block_is_full(&w->report.block, &w->report.strings)) {
		uint32_t number = from / CALLCHAIN_CHUNK_NODES, next = number + 1;
		uint32_t chunk_end = next * CALLCHAIN_CHUNK_NODES;
		if (chunk_offset(spool, number)) {
			from = entry_put(w, spool, from, id < chunk_end ? id + 1 : chunk_end);
		} else {
			holes_add(c, from, chunk_end - from);
			from = chunk_end;
		}
		c->end = from;
	}
	if (from <= id)
		return false;
	holes_fill(w, spool, id);
	return true;
}

/* Chains of a vfork child consist of nodes of its parent, as Process.memory_of states. */
uint32_t callchain_put(struct segment *s, const struct record_at *at)
{
	const uint32_t id = (uint32_t)at->r->a, method = (uint32_t)at->r->b;
	while (!nodes_put(s->w, s->spool, id))
		if (!segment_cut(s))
			return 0;
	s->overhead++;
	s->callchain = id;
	s->callchain_method = method;
	segment_tally(s)->callchains++;
	segment_tally(s)->callchains_cut += (method & CALLCHAIN_IS_CUT) != 0;
	segment_reload(s);
	return at->slots;
}
