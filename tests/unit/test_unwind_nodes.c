/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_nodes.c - tests of the tree of nodes: a chain has one id whoever adds it first, a
 * reader sees whole nodes at any moment, and a full tree does no harm.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "unwind/nodes.h"

#define THREADS 8
#define CHAINS 6000
#define DEPTH 6

static struct callchain_nodes nodes;
static void *chunks[NODES_CHUNKS_MAX];
static uint32_t chunks_allowed = NODES_CHUNKS_MAX, chunks_made;
static pthread_mutex_t chunks_lock = PTHREAD_MUTEX_INITIALIZER;

static void *more(void *arg, uint32_t number)
{
	(void)arg;
	pthread_mutex_lock(&chunks_lock);
	if (!chunks[number] && chunks_made < chunks_allowed) {
		__atomic_store_n(&chunks[number], calloc(1, NODES_CHUNK_BYTES), __ATOMIC_RELEASE);
		chunks_made++;
	}
	void *chunk = chunks[number];
	pthread_mutex_unlock(&chunks_lock);
	return chunk;
}

static void reset(void)
{
	nodes_forget(&nodes);
	for (uint32_t i = 0; i < NODES_CHUNKS_MAX; i++) {
		free(chunks[i]);
		chunks[i] = NULL;
	}
	chunks_made = 0;
	chunks_allowed = NODES_CHUNKS_MAX;
	nodes.more = more;
}

static struct node_name child(struct node_name parent, uint64_t address, uint32_t flags)
{
	uint32_t level = __atomic_load_n(&nodes.level, __ATOMIC_ACQUIRE);
	return nodes_child(&nodes, nodes_index(&nodes, level), parent, address, flags);
}

/* Return the address of frame number `i` of chain `chain`: many chains share outer frames. */
static uint64_t address_of(uint32_t chain, uint32_t i)
{
	return 0x7f0000000000u + ((chain >> (2 * (DEPTH - 1 - i))) * 2654435761u % 100000) * 16 + i;
}

static uint32_t chain_add(uint32_t chain)
{
	struct node_name name = {0, 0};
	for (uint32_t i = 0; i < DEPTH; i++)
		name = child(name, address_of(chain, i), 0);
	return name.id;
}

static bool chain_is(uint32_t id, uint32_t chain)
{
	for (uint32_t i = DEPTH; i-- > 0;) {
		struct callchain_node node;
		const struct callchain_node *chunk =
			__atomic_load_n(&chunks[id / NODES_PER_CHUNK], __ATOMIC_ACQUIRE);
		if (!chunk || !node_read(&chunk[id % NODES_PER_CHUNK], &node) ||
			node.address != address_of(chain, i) || node.parent >= id)
			return false;
		id = node.parent;
	}
	return id == 0;
}

static void equal_chains_have_one_id(void)
{
	reset();
	uint32_t wrong = 0;
	static uint32_t ids[CHAINS];
	for (uint32_t i = 0; i < CHAINS; i++)
		ids[i] = chain_add(i);
	for (uint32_t i = 0; i < CHAINS; i++)
		wrong += chain_add(i) != ids[i] || !chain_is(ids[i], i);
	check(wrong == 0, "%d chains get the same id again and can be read back: %u do not", CHAINS,
		wrong);
	check(nodes.next < CHAINS * 2, "outer frames are stored once: %u nodes", nodes.next);
	struct node_name root = {0, 0};
	uint32_t plain = child(root, 4096, 0).id, exact = child(root, 4096, NODE_EXACT).id;
	check(plain && exact && plain != exact, "nodes with different flags are different");
}

static uint32_t found[THREADS][CHAINS];
static uint32_t stop_reading, torn;
static uint64_t nodes_read;

static void *adder(void *arg)
{
	uint32_t *ids = arg;
	for (uint32_t i = 0; i < CHAINS; i++)
		ids[i] = chain_add(i);
	return NULL;
}

/* Act as the writer's process: read all chunks while they are filled. */
static void *reader(void *arg)
{
	(void)arg;
	do
		for (uint32_t id = 1; id < 4 * NODES_PER_CHUNK; id++) {
			struct callchain_node node;
			const struct callchain_node *chunk =
				__atomic_load_n(&chunks[id / NODES_PER_CHUNK], __ATOMIC_ACQUIRE);
			if (!chunk || !node_read(&chunk[id % NODES_PER_CHUNK], &node))
				continue;
			nodes_read++;
			torn += node.parent >= id || node.address < 0x7f0000000000u;
		}
	while (!__atomic_load_n(&stop_reading, __ATOMIC_RELAXED) || nodes_read == 0);
	return NULL;
}

static void threads_agree(void)
{
	pthread_t adders[THREADS], one_reader;
	uint32_t wrong = 0, twice = 0;
	reset();
	pthread_create(&one_reader, NULL, reader, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&adders[i], NULL, adder, found[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(adders[i], NULL);
	__atomic_store_n(&stop_reading, 1, __ATOMIC_RELAXED);
	pthread_join(one_reader, NULL);
	for (uint32_t i = 0; i < CHAINS; i++) {
		bool same = true;
		for (int t = 0; t < THREADS; t++) {
			wrong += !chain_is(found[t][i], i);
			same = same && found[t][i] == found[0][i];
		}
		twice += !same;
	}
	check(wrong == 0, "chains that %d threads add at once can be read back: %u cannot", THREADS,
		wrong);
	check(twice == 0, "threads agree on the ids of chains: %u of %d do not", twice, CHAINS);
	check(torn == 0 && nodes_read > 0,
		"a concurrent reader sees whole nodes: %u of %llu are not", torn,
		(unsigned long long)nodes_read);
}

static void without_room_there_is_no_id(void)
{
	reset();
	chunks_allowed = 2;
	uint32_t last = 0, none = 0;
	for (uint32_t i = 0; i < 3 * NODES_PER_CHUNK; i++) {
		uint32_t id = child((struct node_name){0, 0}, 0x1000 + i, 0).id;
		last = id ? id : last;
		none += !id;
	}
	check(last == 2 * NODES_PER_CHUNK - 1 && none == NODES_PER_CHUNK + 1,
		"two chunks hold %u nodes, then a new chain gets no id", last);
	check(child((struct node_name){0, 0}, 0x1000, 0).id == 1,
		"known nodes are found in a full tree");
	chunks_allowed = 3;
	check(child((struct node_name){0, 0}, 0x10, 0).id == last + 1,
		"room that becomes free is used");
}

static void all_ids_can_be_used(void)
{
	reset();
	uint32_t wrong = 0;
	for (uint32_t i = 1; i < NODES_MAX; i++)
		wrong += child((struct node_name){0, 0}, i, 0).id != i;
	check(wrong == 0, "%u nodes have consecutive ids: %u have not", NODES_MAX - 1, wrong);
	check(child((struct node_name){0, 0}, NODES_MAX, 0).id == 0,
		"a node beyond the limit has no id");
	wrong = 0;
	for (uint32_t i = 1; i < NODES_MAX; i += 7)
		wrong += child((struct node_name){0, 0}, i, 0).id != i;
	check(wrong == 0, "all nodes of a full tree are found again");
	reset();
	check(child((struct node_name){0, 0}, 77, 0).id == 1,
		"a tree that was forgotten starts with new ids");
}

int main(void)
{
	equal_chains_have_one_id();
	threads_agree();
	without_room_there_is_no_id();
	all_ids_can_be_used();
	reset();
	return tap_done();
}
