/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - the first test of each call: is anything recorded? It reads the tree's gate and words of
 * this process.
 *
 * The page of the control page that begins with the gate in force (capture_gate()) is mapped over a
 * page of this library, so that wrappers read the gate at a fixed address. The process's own words
 * are in pages that the kernel clears in a forked child, whatever created the child
 * (MADV_WIPEONFORK). There all words are 0: the gate is closed, and each call takes the slow path,
 * which detects that this is another process. All words are 0, too, before the loader has relocated
 * this library (relocate.h).
 */
#ifndef TRACER_CORE_GATE_H
#define TRACER_CORE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "common/tree.h"
#include "machine/machine.h"
#include "tracer/core/config.h"

#define GATE_PAGE MACHINE_PAGE_MAX
#define GATE_PAGES(bytes) (((bytes) + GATE_PAGE - 1) / GATE_PAGE * GATE_PAGE)

struct process_words {
	uint32_t alive;      /* 0 = not set up: a forked child, or no session */
	uint32_t pid;        /* of a forked child, once it knows that it is one */
	uint32_t forgetting; /* tid of the task that makes the child forget its parent; 0 = none */
	uint32_t session_mask; /* ANDed with the tree's gate: is anything recorded? */
	uint32_t osrt_mask;    /* ANDed likewise, for OS runtime calls that are only measured */
	/* Least duration, in ticks, of the events of a class that carry a callchain; UINT64_MAX =
	 * no event does. */
	uint64_t chains_ticks[CHAIN_CLASSES];
	/* Least duration, in ticks, of the calls of a function that are recorded; UINT64_MAX =
	 * calls are only counted. */
	uint64_t osrt_threshold[FN_MAX];
};

union own_pages {
	struct process_words words;
	char bytes[GATE_PAGES(sizeof(struct process_words))];
};
extern union own_pages own_pages __attribute__((visibility("hidden")));
_Static_assert(TREE_WRITER_AT % TREE_PAGE == 0 && TREE_SHARED_AT % TREE_PAGE == 0 &&
		offsetof(struct capture_state, gate) == 0,
	"each gate begins a page");
extern uint32_t tree_page[TREE_PAGE / sizeof(uint32_t)] __attribute__((visibility("hidden")));
#define own_words (own_pages.words)
#define tree_gate (tree_page[0])

/* Map the gate in force of the mapped control page of the tree in folder `tree` to the address
 * where wrappers read it. Return false if the kernel refuses. Once, before a gate opens. */
bool gate_place(const struct tree_control *control, const char *tree);

/* Have the kernel clear this process's words in its children. Once, before a gate opens. */
void gate_wipe_on_fork(void);

/* Start recording in this process, or stop. Any thread. */
void gate_use(bool opened);

/* Switch tracing off in this process for good; `reason` is stored in the spool and in the tree. Any
 * thread, async-signal-safe. */
void gate_shut(const char *reason);

/* Return true in a forked child that does not know yet that it is one. Makes no system call. */
bool gate_is_wiped(void);

/* The gate by the words of this process. In a forked child they say that it is closed, and
 * gate_opens() (fork.h) decides. Tracer code tests only this macro, because gate_opens() assumes
 * that its caller is a new call, and that an interrupted tracer was left. */
#define GATE_LOOKS_OPEN(mask) ((tree_gate & own_words.mask) != 0)

#endif
