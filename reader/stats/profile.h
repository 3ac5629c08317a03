/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - where the time of recorded calls, or of NVTX ranges, comes from: their callchains,
 * summed up in a tree of functions.
 *
 *   profile_init(); profile_read(); profile_sum(), profile_order(), profile_flat();
 * profile_release()
 *
 * Memory follows the number of distinct callchains, not of events. One thread; allocates.
 */
#ifndef READER_STATS_PROFILE_H
#define READER_STATS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/report/cursor.h"
#include "reader/symbols/symbols.h"

#define PROFILE_NODES_MAX (1u << 23) /* half a gigabyte; only hostile reports get there */

enum profile_weight { PROFILE_TIME, PROFILE_COUNT };

/* Whose callchains. Marks weigh by count alone: they take no time. */
enum profile_source { PROFILE_OSRT, PROFILE_NVTX };

/* A function, of whatever callers. */
struct profile_frame {
	const char *function; /* or module+0xoffset, or 0xaddress */
	const char *module;   /* NULL = none: the OS runtime function that was called, or
				 "domain:text" of NVTX */
	const char *file;     /* where it was first met; NULL = not known */
	uint32_t line;
};

/* The calls whose chain begins with the functions from the root to here. */
struct profile_node {
	uint32_t parent; /* 0 = a root; always a smaller index */
	uint32_t frame;
	uint64_t self_ns, self_count;   /* of calls made here */
	uint64_t total_ns, total_count; /* those of the callees as well; by profile_sum() */
};

/* Where chains begin: all calls together, or those of a thread. */
struct profile_root {
	const struct process *process;
	uint32_t tid;
	uint32_t name; /* Strings id of the thread's last name */
	uint32_t node; /* a node without frame */
};

struct profile {
	struct contents *contents;
	struct symbols *symbols;
	struct cursor_filter filter;
	struct name_filter names;
	enum profile_source source;
	bool by_thread;
	struct profile_node *nodes; /* the first one is not used */
	uint32_t node_count, node_capacity;
	struct profile_frame *frames;
	uint32_t frame_count, frame_capacity;
	struct profile_root *roots; /* in order of first mention; one, unless by_thread */
	uint32_t root_count, root_capacity;
	uint64_t without_chain, unfinished; /* events left out */
	struct profile_tables *tables;
};

/*
 * `contents` will be read by profile_read(), and lives longer; so do `symbols` over it and the
 * pattern of the filter, of which pid, tid and name (of a function, or the text of NVTX) count.
 * by_thread: each thread has a root of its own.
 */
int profile_init(struct profile *p, struct contents *contents, struct symbols *symbols,
	const struct cursor_filter *filter, enum profile_source source, bool by_thread);
void profile_release(struct profile *p);

/* Reads the report in two passes. `block` is called for every block, `problem` as in contents.h.
 * 0, -ENOMEM, -E2BIG for more callchains than can be held, or another negative errno. */
int profile_read(
	struct profile *p, const struct report *report, const struct contents_visitor *visitor);

/* A node in depth-first order. */
struct profile_place {
	uint32_t node, depth; /* a root's children have depth 0 */
};

/* Sums up the totals, then gives all nodes with a frame, depth first, the heaviest child first.
 * *ret_count of them; the caller frees. NULL = out of memory, or none. */
struct profile_place *profile_order(
	struct profile *p, enum profile_weight weight, uint32_t *ret_count);

struct profile_flat {
	uint32_t frame;
	uint64_t self_ns, self_count, total_ns, total_count; /* recursion counts once */
};

/* One row for each function, the heaviest first; from what profile_order() gave. The caller frees.
 * NULL = out of memory. */
struct profile_flat *profile_flat(const struct profile *p, const struct profile_place *places,
	uint32_t place_count, enum profile_weight weight);

#endif
