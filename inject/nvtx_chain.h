/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_chain.h - another NVTX tool, which the user named: it is loaded as NVTX would have loaded
 * it, and called before us, with what the program gave.
 *
 * The program gets that tool's handles and ids, so the tool meets nothing of ours; ours are found
 * by tracer/handles.h. Ranges between start and end are the exception: the program has our ids, and
 * the tool's are kept with the open range. A tool that fills only a part of what handles go
 * through is not joined, and has NVTX to itself. Any thread; NVTX calls the init functions once per
 * object.
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

/* What became of the other tool, once it was asked. */
enum chain_state {
	CHAIN_NONE = 0, /* there is none, or it does not want to: NVTX is ours alone */
	CHAIN_JOINED,   /* both are called */
	CHAIN_LEFT      /* NVTX is left to it */
};

/* NVTX asks, on this thread, which tool to load: this one. NULL = none but us. */
void chain_want(const char *path);

/* The same file as last wanted on this thread, if it could be loaded: its function of this name.
 * NULL = there is none to call. */
chain_fn chain_symbol(const char *name);

/* What goes into a slot: `ours` or, where a tool has joined, a function that calls `theirs`, if it
 * is not NULL, and then `ours`. There is one function of theirs for all objects: an object for
 * which the tool has another gets that alone, and the report says so. */
chain_fn chain_function(unsigned module, size_t slot, chain_fn theirs, chain_fn ours);

/* The tool has been asked: this holds from now on. */
void chain_decide(enum chain_state state);

/* CHAIN_NONE where NVTX asked for no other tool on this thread. */
enum chain_state chain_state(void);

#endif
