/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_chain.h - another NVTX tool that the user named: loaded as NVTX would have loaded it, and
 * called before us with the program's arguments.
 *
 * The program gets that tool's handles and ids, so the tool never sees ours, which are found by
 * tracer/nvtx/handles.h. Ranges between start and end are the exception: the program has our ids,
 * and the tool's id is kept with the open range. A tool that sets only some of the functions that
 * handles pass through is not joined: it alone uses NVTX. Any thread; NVTX calls the init functions
 * once per object.
 */
#ifndef INJECT_NVTX_CHAIN_H
#define INJECT_NVTX_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/nvtx_abi.h"

typedef void (*chain_fn)(void);

#define CHAIN_MODULES 16u
#define CHAIN_SLOTS 18u
#define CHAIN_EXTENSION 8u /* modules of extensions are numbered from here */

/* The state of the other tool, after it was asked. */
enum chain_state {
	CHAIN_NONE = 0, /* there is no other tool, or it declined: only we use NVTX */
	CHAIN_JOINED,   /* both tools are called */
	CHAIN_LEFT      /* NVTX is left to the other tool */
};

/* Set which other tool NVTX is to load on this thread: `path`; NULL = none. */
void chain_want(const char *path);

/* Return the function `name` of the tool that this thread asked for last, if it could be loaded.
 * NULL = there is none to call. */
chain_fn chain_symbol(const char *name);

/* Return the function for a slot of NVTX's table: `ours` or, if a tool has joined, a function that
 * calls `theirs`, if it is not NULL, and then `ours`. All objects share one function of the tool:
 * an object for which the tool has another function gets only that function, and the report says
 * so. */
chain_fn chain_function(unsigned module, size_t slot, chain_fn theirs, chain_fn ours);

/* Store the state, once the tool has been asked. */
void chain_decide(enum chain_state state);

/* Return the state; CHAIN_NONE if NVTX asked for no other tool on this thread. */
enum chain_state chain_state(void);

#endif
