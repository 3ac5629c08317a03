/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - what decides first whether a call is recorded: the tree's gate and this process's own
 * words.
 *
 * The page of the control page that begins with the gate in force (capture_gate()) is mapped over a
 * page of ours, so that wrappers read the gate at a fixed address. The process's own words are in
 * pages of their own that the kernel clears in a forked child, whoever made it (MADV_WIPEONFORK):
 * there all is 0, no gate is open, no threshold is ever below a call's duration, and each call
 * takes the slow way, which finds out that this is another process. All is 0, too, before the
 * loader has relocated this library (relocate.h).
 */
#ifndef TRACER_GATE_H
#define TRACER_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "common/tree.h"
#include "tracer/config.h"

#if defined(__x86_64__)
#define GATE_PAGE 4096u
#else
#define GATE_PAGE 65536u /* the largest that there is */
#endif
#define GATE_PAGES(bytes) (((bytes) + GATE_PAGE - 1) / GATE_PAGE * GATE_PAGE)

struct process_words {
	uint32_t alive;        /* 0 = nobody has set these up: a forked child, or no session */
	uint32_t session_mask; /* with the tree's gate: is anything recorded? */
	uint32_t osrt_mask;    /* the same of OS runtime calls that are only measured */
	/* Events of a class that lasted so many ticks carry a callchain; UINT64_MAX = none does. */
	uint64_t chains_ticks[CHAIN_CLASSES];
	/* Ticks a call must last to be recorded, by function; UINT64_MAX = only counted. */
	uint64_t osrt_threshold[FN_MAX];
};

union own_pages {
	struct process_words words;
	char bytes[GATE_PAGES(sizeof(struct process_words))];
};
extern union own_pages own_pages __attribute__((visibility("hidden")));
#define TREE_PAGE 4096u
_Static_assert(TREE_WRITER_AT % TREE_PAGE == 0 && TREE_SHARED_AT % TREE_PAGE == 0 &&
		offsetof(struct capture_state, gate) == 0,
	"each gate begins a page");
extern uint32_t tree_page[TREE_PAGE / sizeof(uint32_t)] __attribute__((visibility("hidden")));
#define own_words (own_pages.words)
#define tree_gate (tree_page[0])

/* Maps the gate in force of a mapped control page to where wrappers look. False = it cannot be. */
bool gate_place(const struct tree_control *control);

/* Has this process's words cleared in its children. Once, before a gate opens. */
void gate_wipe_on_fork(void);

/* The process records from now on, or no more. */
void gate_use(bool opened);

/* Is this a forked child that does not know it yet? A system call is only made by what follows. */
bool gate_is_wiped(void);

/* The words are not set up. Finds out about a fork that nobody has seen, and looks again. */
bool gate_opens(const uint32_t *mask);

/* As far as the words say, which say no in a forked child: then gate_opens(). Within the tracer
 * this alone is asked: gate_opens() takes its caller for a new call, and what was interrupted for
 * left. */
#define GATE_LOOKS_OPEN(mask) ((tree_gate & own_words.mask) != 0)

static inline __attribute__((always_inline)) bool gate_is_open(void)
{
	return __builtin_expect(GATE_LOOKS_OPEN(session_mask), 1) ||
		(!own_words.alive && gate_opens(&own_words.session_mask));
}

static inline __attribute__((always_inline)) bool gate_is_open_for_osrt(void)
{
	return __builtin_expect(GATE_LOOKS_OPEN(osrt_mask), 1) ||
		(!own_words.alive && gate_opens(&own_words.osrt_mask));
}

#endif
