/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - profile of recorded calls or NVTX ranges: their callchains, summed up in a tree of
 * functions.
 *
 *   profile_init(); profile_read(); profile_order(), profile_flat(); profile_release()
 *
 * Memory grows with the number of distinct callchains, not of events. One thread; allocates.
 */
#ifndef READER_STATS_PROFILE_H
#define READER_STATS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/report/cursor.h"
#include "reader/stats/range_paths.h"
#include "reader/symbols/symbols.h"

#define PROFILE_NODES_MAX (1u << 23) /* half a gigabyte; only hostile reports reach it */
#define PROFILE_CALLS_OPEN_MAX CALLCHAIN_FRAMES_MAX /* calls of functions within each other */

enum profile_weight { PROFILE_TIME, PROFILE_COUNT };

/* Events whose callchains are summed up. Marks are weighted by count alone, because they take no
 * time. CPU samples are weighted by the processor time that they represent, and belong to the
 * function that was running. Calls of functions of libraries are below the recorded calls that they
 * were made in, and the outermost below its callchain, as far as it has one; a call's own time is
 * without the calls in it. PROFILE_OFFCPU and PROFILE_WALL have no events of their own: the caller
 * adds leaves, the parts of each thread's life without and with the time that it ran. */
enum profile_source {
	PROFILE_OSRT,
	PROFILE_NVTX,
	PROFILE_CPU,
	PROFILE_OFFCPU,
	PROFILE_WALL,
	PROFILE_FUNCTIONS
};

/* A function, regardless of its callers. */
struct profile_frame {
	const char *function; /* name, or module+0xoffset, or 0xaddress */
	const char *module;   /* of a recorded call of a library, its file name; NULL = none: the
			       * frame is the OS runtime function that was called, or
			       * "domain:text" of NVTX */
	const char *file;     /* source line of the first occurrence; NULL = not known */
	uint32_t line;
};

/* Calls whose callchain begins with the functions from the root to this node. */
struct profile_node {
	uint32_t parent; /* 0 = a root; always a smaller index */
	uint32_t frame;
	uint64_t self_ns, self_count;   /* calls that end at this node */
	uint64_t total_ns, total_count; /* including callees; set by profile_order() */
};

/* Root of a tree: of all calls, or of the calls of one thread, in ranges of one path. */
struct profile_root {
	const struct process *process;
	uint32_t tid;
	uint32_t range; /* number of the path (range_paths.h); 0 = in no range */
	uint32_t name;  /* Strings id of the thread's last name, if `range` is 0 */
	uint32_t node;  /* a node without a frame */
};

struct profile {
	struct contents *contents;
	struct symbols *symbols;
	struct cursor_filter filter;
	struct name_filter names;
	enum profile_source source;
	bool by_thread;
	const struct range_paths *ranges; /* by_thread: roots by ranges, too; NULL = not */
	struct profile_node *nodes;       /* the first one is unused */
	uint32_t node_count, node_capacity;
	struct profile_frame *frames;
	uint32_t frame_count, frame_capacity;
	struct profile_root *roots; /* in order of first mention; one root, unless by_thread */
	uint32_t root_count, root_capacity;
	uint64_t without_chain, unfinished; /* events that were left out */
	uint64_t too_deep; /* calls within PROFILE_CALLS_OPEN_MAX others, whose innermost one keeps
			    * their time */
	struct profile_tables *tables;
};

/* Return the source with this name: osrt, nvtx, cpu, offcpu, wall or functions; NULL = osrt. */
enum profile_source profile_source_named(const char *name);

/* Return the name of a source. */
const char *profile_source_name(enum profile_source source);

/* Return how to record events of a source that are not recorded by default, or NULL. */
const char *profile_source_advice(enum profile_source source);

/*
 * Initialize. `contents` (filled by profile_read()), `symbols` and the pattern of the filter must
 * outlive `p`. Of the filter, pid, tid and name (of a function, or NVTX text) are used. by_thread:
 * create a root for each thread. Returns 0 or -ENOMEM.
 */
int profile_init(struct profile *p, struct contents *contents, struct symbols *symbols,
	const struct cursor_filter *filter, enum profile_source source, bool by_thread);
void profile_release(struct profile *p);

/* Read the report in two passes. `visitor` as in contents.h; its `batch` is ignored.
 * Returns 0; -ENOMEM; -E2BIG if there are more callchains than PROFILE_NODES_MAX allows; or another
 * negative errno. */
int profile_read(
	struct profile *p, const struct report *report, const struct contents_visitor *visitor);

/* Like the second pass of profile_read(), for a report whose first pass has filled `contents`. */
int profile_batches(
	struct profile *p, const struct report *report, const struct contents_visitor *visitor);

#define PROFILE_CHAIN_MAX (CALLCHAIN_FRAMES_MAX * 4u) /* functions, with inlined ones */

/* Return the index + 1 of a frame; add it if needed. 0 = out of memory. Its texts must be in the
 * pool of `symbols`, so that equal texts have the same address. */
uint32_t profile_frame(struct profile *p, const struct profile_frame *frame);

/* Find the node of a callchain below the node *root, which is 0 before the first call; nodes
 * without weight are added. is_interrupted: the innermost frame is an interrupted instruction, as
 * in a CPU sample. *ret_node 0 = no callchain. `ns`: as for symbols_find(). Returns 0 or a negative
 * errno. */
int profile_chain(struct profile *p, const struct process *process, uint32_t *root, uint32_t chain,
	bool is_interrupted, uint64_t ns, uint32_t *ret_node);

/* Write the frames of a callchain, outermost first; of a longer callchain, the PROFILE_CHAIN_MAX
 * innermost. Its nodes are cached in the tree, without weight, below the node *root, which is 0
 * before the first call. `ns`: as for symbols_find(). Returns 0 or a negative errno. */
int profile_callers(struct profile *p, const struct process *process, uint32_t *root,
	uint32_t chain, uint64_t ns, uint32_t ret_frames[PROFILE_CHAIN_MAX], uint32_t *ret_count);

/* Return the name of an address without a function, in the pool of `symbols`: module+0xoffset, the
 * module without folders, or 0xaddress if `module` is NULL. NULL = out of memory. */
const char *profile_unknown_name(
	struct profile *p, const char *module, uint64_t offset, uint64_t address);

/* Return the weight to use instead of `weight`: samples of nsys have no time, so they are
 * counted. */
enum profile_weight profile_weight_of(const struct profile *p, enum profile_weight weight);

/* Return the Strings id of the last name of a root's thread; by_thread only. */
uint32_t profile_thread_name(const struct profile *p, const struct profile_root *root);

/* Time of a thread below a path of functions. All texts must be in the pool of `symbols`. */
struct profile_leaf {
	const struct process *process;
	uint32_t tid;
	const struct profile_frame *frames; /* the outermost first */
	uint32_t count;
	const char *name; /* innermost, below the frames; NULL = none */
	uint64_t ns, events;
};

/* Add a leaf. Returns 0 or a negative errno, as profile_read(). */
int profile_leaf_add(struct profile *p, const struct profile_leaf *leaf);

/* A node in depth-first order. */
struct profile_entry {
	uint32_t node, depth; /* children of a root have depth 0 */
};

/* Compute the totals, then return all nodes that have a frame, depth first and heaviest child
 * first. The caller frees the array of *ret_count entries. NULL = out of memory, or no nodes. */
struct profile_entry *profile_order(
	struct profile *p, enum profile_weight weight, uint32_t *ret_count);

struct profile_flat {
	uint32_t frame;
	uint64_t self_ns, self_count, total_ns, total_count; /* recursive calls count once */
};

/* Return one row per function, heaviest first, from the result of profile_order(). The caller
 * frees it. NULL = out of memory. */
struct profile_flat *profile_flat(const struct profile *p, const struct profile_entry *entries,
	uint32_t entry_count, enum profile_weight weight);

#endif
