/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_hooks.h - what a source does about calls that the source `functions` records.
 *
 * A source that must look at arguments and results of a library's functions, or change them, gives
 * its hooks to `functions` before the first call is recorded. They run on the calling thread,
 * before and after the real function, and may use all registers.
 */
#ifndef TRACER_CORE_CALL_HOOKS_H
#define TRACER_CORE_CALL_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/schema/libraries.h"

#define CALL_SCRATCH_WORDS 4u
#define CALL_REGISTER_WORDS 6u /* arguments in registers */

/* A call of a function with a hook. */
struct hooked_call {
	uint64_t *words;     /* before: the first six arguments; after: words[0] is the result, and
				words[1] is lost */
	uint64_t *arguments; /* the seventh and following; the callee's, so that they may be changed
			      */
	uint32_t count;      /* arguments that can be read */
	bool is_recorded;    /* false = the call itself is not recorded now */
	uint64_t begin_tick, end_tick; /* end_tick: after the call only */
	uint64_t *scratch;             /* kept from before to after; all 0 at first */
	uint64_t *kept; /* the arguments that are recorded with the call, in the order of the
			   prototype; NULL = none is */
	uint32_t kept_count;
	uint64_t real; /* the function */
};

/* Return argument number `index`, from 0; it must be less than count. */
static inline uint64_t *call_argument(const struct hooked_call *call, uint32_t index)
{
	return index < CALL_REGISTER_WORDS ? &call->words[index]
					   : &call->arguments[index - CALL_REGISTER_WORDS];
}

struct call_hooks {
	/* Return the number of the hook of a function of the library, at most CALL_HOOK_MASK; 0 =
	 * it has none. */
	uint32_t (*find)(const char *name);
	/* Called before and after each call, also of calls that are not recorded. Not called after
	 * a call that ends by an exception or longjmp. Not yet busy. */
	void (*before)(uint32_t hook, struct hooked_call *call);
	void (*after)(uint32_t hook, struct hooked_call *call);
	/* No function with a hook has an argument or result in a vector or x87 register, so that
	 * these need not be saved. */
	bool is_plain;
};

/* The hooks of each LIBRARY row; NULL = it has none. Set before functions_start(). */
extern const struct call_hooks *call_hooks[LIBRARY_ROWS] __attribute__((visibility("hidden")));

#define CALL_HOOK_BITS 16 /* a traced function has row << CALL_HOOK_BITS | number of the hook */
#define CALL_HOOK_MASK 0xffffu

#endif
