/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_hooks.h - what a source does about calls that the source `functions` sees.
 *
 * A source that must look at arguments and results of a library's functions, or change them, gives
 * its hooks to `functions` before the first call is recorded. They run on the calling thread,
 * before and after the real function, and may use all registers. The calls are recorded, too, where
 * the source has a LIBRARY row; where it has patterns of its own, they are only seen by its hooks.
 */
#ifndef TRACER_CORE_CALL_HOOKS_H
#define TRACER_CORE_CALL_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"

struct name;

#define CALL_SCRATCH_WORDS 8u
#define CALL_REGISTER_WORDS MACHINE_ARGUMENT_WORDS /* arguments in registers */

/* A call of a function with a hook. */
struct hooked_call {
	uint64_t *words; /* before: the arguments in registers; after: words[0] is the result, and
			    words[1] is lost */
	uint64_t *arguments; /* those on the stack; the callee's, so that they may be changed
			      */
	uint32_t count;      /* arguments that can be read */
	bool is_recorded;    /* false = the call itself is not recorded now */
	uint64_t begin_tick, end_tick; /* end_tick: after the call only */
	uint64_t *scratch;             /* kept from before to after; all 0 at first */
	uint64_t *kept; /* the arguments that are recorded with the call, in the order of the
			   prototype; NULL = none is */
	uint32_t kept_count;
	uint64_t real;              /* the function */
	const struct name *library; /* the name of its library's file */
	uint64_t code;              /* its return address */
};

/* The payload of a further record of the kind `kind` with a = `value`, in `words` scratch words. */
#define CALL_ADDED(kind, value, words) \
	((uint64_t)(value) << 32 | (uint64_t)(kind) << 16 | (uint64_t)(words))

/* A call that is recorded and has ended. */
struct ended_call {
	uint64_t result, begin_tick;
	const uint64_t *kept; /* and the others as in struct hooked_call */
	uint64_t *scratch;
	uint32_t kept_count;
};
#define CALL_AFTER UINT64_MAX

/* Return argument number `index`, from 0; it must be less than count. */
static inline uint64_t *call_argument(const struct hooked_call *call, uint32_t index)
{
	return index < CALL_REGISTER_WORDS ? &call->words[index]
					   : &call->arguments[index - CALL_REGISTER_WORDS];
}

#define CALL_HOOK_NUMBERS 0x10000u
#define CALL_ANY_ROW UINT32_MAX

struct call_hooks {
	/* The LIBRARY row; with CALL_ANY_ROW, all rows that are recorded; with LIBRARY_ROWS, the
	 * library and its functions: patterns. */
	uint32_t row;
	const char *files, *functions[2];
	/* Return the number of the hook of a function, from 1 on; 0 = it has none. */
	uint32_t (*find)(const char *name);
	/* Called before the first call of a function with a hook can be seen, with its address:
	 * look up here what takes the loader's lock, which this thread may hold. NULL = nothing.
	 * Busy. */
	void (*found)(uint32_t hook, uint64_t real);
	/* Return false if the hook is called only after calls that are recorded; its scratch words
	 * are undefined. NULL = all are called before and after. */
	bool (*has_before)(uint32_t hook);
	/* Called before and after each call, also of calls that are not recorded. Not called after
	 * a call that ends by an exception or longjmp. Not yet busy. */
	void (*before)(uint32_t hook, struct hooked_call *call);
	void (*after)(uint32_t hook, struct hooked_call *call);
	/* Called after a call that is recorded and whose arguments are kept, if not NULL. Return
	 * CALL_ADDED() to make a record of the source's own a part of that of the call, which is
	 * cheaper than a record of its own, 0 for nothing, CALL_AFTER to call after(). For sources
	 * that are is_plain. */
	uint64_t (*end)(uint32_t hook, const struct ended_call *call);
	/* No function with a hook has an argument or result in a vector or x87 register, so that
	 * these need not be saved. */
	bool is_plain;
};

enum call_hook_source {
	CALL_HOOKS_MPI,
	CALL_HOOKS_OPENCL,
	CALL_HOOKS_OPENMP,
	CALL_HOOKS_VULKAN,
	CALL_HOOKS_OPENGL,
	CALL_HOOKS_LOOKUP,
	CALL_HOOK_SOURCES
};

/* NULL = the source has no hooks. Set before functions_start(). */
extern const struct call_hooks *call_hooks[CALL_HOOK_SOURCES] __attribute__((visibility("hidden")));

#endif
