/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_oracle.h - the chain that libunwind returns for a stack, and chains read back from nodes,
 * for the unwinder's tests. libunwind is opened at run time, as the library does it.
 */
#ifndef TESTS_UNIT_UNWIND_ORACLE_H
#define TESTS_UNIT_UNWIND_ORACLE_H

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "machine/machine.h"
#include "unwind/callchain.h"

#define ORACLE_MAX 400

/* Frames, innermost first. */
struct oracle_chain {
	int count;
	uint64_t address[ORACLE_MAX];
};

static struct {
	int (*getcontext)(void *);
	int (*init_local)(unw_cursor_t *, unw_context_t *);
	int (*step)(unw_cursor_t *);
	int (*get_reg)(unw_cursor_t *, int, unw_word_t *);
	int (*backtrace)(void **, int);
	void (*flush_cache)(unw_addr_space_t, unw_word_t, unw_word_t);
	unw_addr_space_t *address_space;
} oracle;

static void *oracle_chunks[NODES_CHUNKS_MAX];

__attribute__((unused)) static void *oracle_more(void *arg, uint32_t number)
{
	void *nothing = NULL,
	     *chunk = mmap(NULL, NODES_CHUNK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)arg;
	if (__atomic_compare_exchange_n(&oracle_chunks[number], &nothing, chunk, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return chunk;
	munmap(chunk, NODES_CHUNK_BYTES);
	return nothing;
}

__attribute__((unused)) static void oracle_init(void)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		printf("1..0 # SKIP no libunwind.so.8\n");
		exit(0);
	}
	const char *getcontext_name = MACHINE_UNW_GETCONTEXT;
	if (getcontext_name)
		*(void **)&oracle.getcontext = dlsym(library, getcontext_name);
	*(void **)&oracle.init_local = dlsym(library, "_UL" MACHINE_NAME "_init_local");
	*(void **)&oracle.step = dlsym(library, "_UL" MACHINE_NAME "_step");
	*(void **)&oracle.get_reg = dlsym(library, "_UL" MACHINE_NAME "_get_reg");
	*(void **)&oracle.flush_cache = dlsym(library, "_U" MACHINE_NAME "_flush_cache");
	*(void **)&oracle.address_space = dlsym(library, "_UL" MACHINE_NAME "_local_addr_space");
	*(void **)&oracle.backtrace = dlsym(library, "unw_backtrace");
	struct callchain_setup setup = {
		.more = oracle_more, .main_top = (uint64_t)getauxval(AT_RANDOM)};
	*(void **)&setup.find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
	callchain_init(&setup);
}

/* Return the callers of the caller of the calling function: that caller is the first frame of
 * both. */
__attribute__((unused, noinline)) static void oracle_step(struct oracle_chain *ret_chain)
{
	unw_context_t context;
	unw_cursor_t cursor;
	ret_chain->count = 0;
	machine_unw_context(oracle.getcontext, &context);
	if (oracle.init_local(&cursor, &context) < 0)
		return;
	while (ret_chain->count < ORACLE_MAX && oracle.step(&cursor) > 0) {
		unw_word_t ip;
		oracle.get_reg(&cursor, UNW_REG_IP, &ip);
		if (!ip)
			break;
		ret_chain->address[ret_chain->count++] = ip;
	}
	/* AArch64's libunwind finds the outermost frame of a coroutine twice. */
	const uint64_t *end = ret_chain->address + ret_chain->count;
	ret_chain->count -= ret_chain->count > 1 && end[-1] == end[-2];
}

/* Return the chain named `id`. */
__attribute__((unused)) static void oracle_nodes(uint32_t id, struct oracle_chain *ret_chain)
{
	ret_chain->count = 0;
	while (id && ret_chain->count < ORACLE_MAX) {
		const struct callchain_node *chunk =
			__atomic_load_n(&oracle_chunks[id / NODES_PER_CHUNK], __ATOMIC_ACQUIRE);
		struct callchain_node node;
		if (!chunk || !node_read(&chunk[id % NODES_PER_CHUNK], &node))
			break;
		ret_chain->address[ret_chain->count++] = node.address;
		id = node.parent;
	}
}

/* The first frame is one function, at two of its calls. */
__attribute__((unused)) static bool oracle_same(
	const struct oracle_chain *expected, const struct oracle_chain *found, uint32_t depth)
{
	int count = expected->count < (int)depth ? expected->count : (int)depth;
	bool same = found->count == count;
	for (int i = 1; i < count && same; i++)
		same = expected->address[i] == found->address[i];
	return same;
}

__attribute__((unused)) static void oracle_print(const char *who, const struct oracle_chain *chain)
{
	printf("# %s, %d frames:\n", who, chain->count);
	for (int i = 0; i < chain->count; i++) {
		Dl_info info = {0};
		void *address = (void *)(uintptr_t)chain->address[i];
		dladdr(address, &info);
		printf("#   %2d %p %s (%s)\n", i, address, info.dli_sname ? info.dli_sname : "?",
			info.dli_fname ? info.dli_fname : "?");
	}
}

#endif
