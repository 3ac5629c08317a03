/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - calls of the functions of any library: tables, stubs, frames.
 *
 * The tables (GOT) through which modules call the functions that the user names lead to stubs of
 * function_stubs.S of machine/. A stub makes an ordinary frame, calls function_enter(), the
 * function, function_leave(). Nothing of a call is stored outside of its frame, except for its
 * entry among the open calls in the spool, so exceptions, longjmp and fibers need no help: an entry
 * whose frame is gone is recorded as abandoned by the next call from a frame above it.
 *
 * Only with glibc 2.35 or later, whose _dl_find_object() finds the module of an
 * address without a lock.
 */
#ifndef TRACER_FUNCTIONS_FUNCTIONS_H
#define TRACER_FUNCTIONS_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/schema/libraries.h"
#include "common/schema/prototype.h"
#include "common/spool.h"
#include "tracer/core/call_hooks.h"
#include "tracer/core/names.h"
#include "tracer/core/thread.h"
#include "tracer/functions/hooks.h"
#include "tracer/functions/scope.h"

struct link_map; /* declared in <link.h> */

#define FUNCTIONS_MAX 8192u
#define FUNCTION_STUB_BYTES 16u
/* Patterns that are not the user's: of libraries.def, of hooks. */
#define OWN_PATTERNS_MAX (4u * LIBRARY_ROWS + 2u * CALL_HOOK_SOURCES)
#define FUNCTION_PATTERNS_MAX (FUNCTION_USER_PATTERNS_MAX + OWN_PATTERNS_MAX)
#define FUNCTION_PATTERNS_BYTES 16384u
#define FUNCTION_ARGUMENTS_BYTES_MAX 4096u /* of a call, on the stack */

#define COPIED_BY_FRAME UINT16_MAX
#define FUNCTION_PROTOTYPES_MAX 512u
#define FUNCTION_TAKEN_BITS (1u << 18)

/* The hook of a source (enum call_hook_source), by its number there. */
#define FUNCTION_HOOK(source, number) ((source)*CALL_HOOK_NUMBERS + (number))
#define FUNCTION_HOOK_ONLY 0x80000000u  /* the calls are not recorded, but for the hook */
#define FUNCTION_HOOK_AFTER 0x40000000u /* called only after calls that are recorded */
#define FUNCTION_HOOK_NUMBER(hook) ((hook) & ~(FUNCTION_HOOK_ONLY | FUNCTION_HOOK_AFTER))

/* The row of patterns of call_hooks that is no LIBRARY row, plus 1. */
#define FUNCTION_HOOK_ROW (LIBRARY_ROWS + 1u)

/* A function that has a stub. Never freed; only `names`, `epoch` and `is_given` change. */
struct traced_function {
	uint64_t real;
	uint64_t names;     /* for a record; in the spool of names_epoch `epoch` */
	struct name *name;  /* its domain is the name of the library */
	uint32_t epoch;     /* 0 = `names` is not known yet */
	uint32_t prototype; /* index in `prototypes`; 0 = no word is kept */
	uint32_t hook;      /* FUNCTION_HOOK(), and the flags above; 0 = none */
	uint16_t copied;    /* bytes of its arguments on the stack, a multiple of 16;
			       COPIED_BY_FRAME = as many as the caller's frame has */
	bool is_given;      /* a lookup gave the program the address of the stub */
};

/* A prototype, from `text` to `end`, and the words that it keeps. */
struct kept_words {
	const char *text, *end;
	struct name *name;       /* NULL until a function has it */
	uint8_t count, readable; /* readable: arguments up to the last one that is kept */
	bool is_whole;           /* the function has no further arguments on the stack */
	struct kept_word {
		uint8_t index, slot; /* among the arguments; in the frame, in words */
		uint64_t mask, sign; /* of word_value() */
	} words[PROTOTYPE_WORDS_MAX];
};

/* LIBRARY:FUNCTION, both with wildcards, within function_tables.text, or a row of libraries.def. */
struct function_pattern {
	const char *library, *library_end, *function, *function_end;
	uint32_t prototype; /* as in struct traced_function */
	uint32_t row;       /* 1 + enum library_row; FUNCTION_HOOK_ROW; 0 = none */
};

/* All memory of the source, mapped when functions are wanted. */
struct function_tables {
	struct traced_function functions[FUNCTIONS_MAX];
	uint16_t hash[2 * FUNCTIONS_MAX];               /* 1 + index in `functions`; 0 = free */
	struct function_stack *stacks[SPOOL_LANES_MAX]; /* of each lane; NULL = none yet */
	struct function_pattern patterns[FUNCTION_PATTERNS_MAX];
	uint32_t pattern_count;
	uint32_t prototype_count; /* with number 0, which keeps nothing; 0 = none is known */
	struct kept_words prototypes[FUNCTION_PROTOTYPES_MAX];
	struct function_scope scope;
	uint64_t taken[FUNCTION_TAKEN_BITS / 64]; /* names whose address a module imports */
	char text[FUNCTION_PATTERNS_BYTES];
};
extern struct function_tables *function_tables __attribute__((visibility("hidden")));
extern struct function_counts function_counts __attribute__((visibility("hidden")));

/* The stubs, given by inject/ before functions_start(): FUNCTIONS_MAX of FUNCTION_STUB_BYTES. */
extern const char *function_stubs_begin __attribute__((visibility("hidden")));

/* glibc's _dl_find_object(); NULL = functions are not recorded. */
extern int (*function_find_object)(void *address, void *ret_object)
	__attribute__((visibility("hidden")));

/* The frame of a call, made by function_stubs.S. */
struct function_frame {
	uint64_t words[CALL_REGISTER_WORDS]; /* then the result in place of the first */
	union {
		uint64_t others[2]; /* registers that arguments of another kind may be in */
		uint64_t added;     /* after the call: CALL_ADDED(), 0 = nothing */
	};
	uint64_t number; /* of the function */
	uint64_t tick;
	uint32_t copied; /* bytes of the caller's stack to copy below the frame; a multiple of 16 */
	uint32_t traced; /* enum function_traced */
	struct function_open *open; /* NULL = no entry */
	struct function_stack *stack;
	struct lane *lane;
	uint32_t epoch; /* names_epoch: another one in a forked child */
	uint32_t level;
	uint32_t prototype, hook; /* as in struct traced_function */
	uint64_t scratch[CALL_SCRATCH_WORDS];
	uint64_t bp, return_address; /* the caller's frame pointer */
	uint64_t arguments[];
};

/* Values of function_frame.traced. */
enum function_traced {
	TRACED_NOT = 0, /* the function is entered by a jump */
	TRACED,
	TRACED_BY_HOOK /* the call is not recorded, but has a hook */
};

/* Return true if some pattern matches the name of a function. */
bool function_name_is_wanted(const char *name);

/* Return true if some pattern matches both. `library` is a path. */
bool function_is_wanted(const char *name, const char *library);

/* Return the row of libraries.def that `library`, a path, belongs to, plus 1, or
 * FUNCTION_HOOK_ROW; 0 = none, or its calls are not requested. */
uint32_t function_library_row(const char *library);

/* Return true if calls from one module to another are recorded, whose function_library_row() these
 * are, if the functions are wanted. */
static inline bool function_is_between(
	const struct link_map *from, uint32_t from_row, const struct link_map *to, uint32_t to_row)
{
	return from != to && !(to_row && to_row == from_row);
}

/* Return true if calls of the function are recorded, not only seen by a hook. `library` is a
 * path. */
bool function_is_recorded(const char *name, const char *library);

/* Note which patterns of the user, the first ones, match a function of a library. */
void function_matched_note(const char *name, const char *library);

/* Return true if a function must never be recorded: it returns twice, has a calling convention of
 * its own, looks at its caller, or belongs to the C library or to the tracer. */
bool function_is_excluded(const char *name);
bool function_library_is_excluded(const char *library);

/* Return the stub of a function; NULL = none is left, which is counted. Create it with `library`, a
 * path, if there is none. Any thread, thread.busy set. */
void *function_stub(uint64_t real, const char *name, const char *library);

/* Return the existing stub of a function; NULL = none. As function_stub(). */
void *function_stub_known(uint64_t real, const char *name, const char *library);

/* As function_stub(), for a function that the program has looked up; it is counted. */
void *function_looked_up(uint64_t real, const char *name, const char *library);

/* Return true if function_looked_up() has returned a stub of the function: later lookups must give
 * the program the same address. Any thread. */
bool function_stub_is_given(uint64_t real, const char *name, const char *library);

/* Note that a module imports the address of functions of this name, so that the program may compare
 * it with one that it looks up; and return whether one does, or another name has the same bit. */
void function_taken_note(const char *name);
bool function_is_taken(const char *name);

/* Return the function of a stub; any other address as it is. */
const void *function_real(const void *address);

/*
 * Patch the tables of all modules that are loaded, or of the module at `address`, before its
 * constructors run. The loader's lock is held, so one thread at a time. Allocates nothing, except
 * where the C library's dlsym() does.
 */
void functions_patch_all(void);
void functions_patch_module_at(const void *address);

/*
 * Called by the stubs. function_enter() returns the address to call; function_leave() records. Both
 * use general registers only: others may hold arguments and results.
 */
uint64_t function_enter(struct function_frame *f) __attribute__((visibility("hidden")));
void function_leave(struct function_frame *f) __attribute__((visibility("hidden")));

/* Call the hook of a call before or after it; `end_tick` 0 = before. Uses all registers. */
void function_hook_slow(struct function_frame *f, uint64_t end_tick);

/* The slow paths of both, which may use all registers, since these are saved around them.
 * function_begin_slow() returns false if the call is not recorded. */
bool function_begin_slow(struct function_frame *f);
void function_leave_slow(struct function_frame *f, uint64_t ticks);

/* Set up a forked child whose first call has a hook. Return false if it is none, or is not traced.
 */
bool function_child_slow(void);

#define UNKNOWN_ARGUMENTS_BYTES 256u /* copied for a caller without a rule */
#define RULE_REFUSED UINT32_MAX

/* Return the rule of `address` if it is not in the first entry of the cache. For a caller without a
 * rule, return 0 if the bytes that may be arguments, from `from` on, cannot be read; RULE_REFUSED
 * if that cannot be found out, behind a system call filter. */
uint32_t function_rule_slow(uint64_t address, uint64_t from);

/* Return the stack of open calls of the thread's lane; NULL = it has none yet. */
static inline struct function_stack *function_stack_of(const struct lane *lane)
{
	return function_tables->stacks[lane->index % SPOOL_LANES_MAX];
}

/* Record a call that has ended, or was left. `open` is its entry or NULL, `f` its frame, or NULL if
 * that is gone. Owning thread, not yet busy. */
void function_put(struct thread *t, const struct record *record, struct function_open *open,
	const struct function_frame *f);

/* Return the names of a record for a function, and write them, and that of its prototype, to the
 * spool. thread.busy set. */
uint64_t function_names(uint32_t number);

#endif
