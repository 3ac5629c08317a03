/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.h - the part of the address space that may be read as the running thread's stack.
 *
 * A range is the memory found readable around a stack pointer: it grows page by page as chains need
 * it and is dropped when the stack pointer leaves it (signal stack, coroutine). Readable means that
 * the kernel could read there; no page is touched to find out. All functions: owning thread,
 * async-signal-safe, no allocation.
 */
#ifndef UNWIND_STACK_H
#define UNWIND_STACK_H

#include <stdbool.h>
#include <stdint.h>

#define STACK_PAGE_BYTES 4096u

/*
 * [low, high) is readable; both are page boundaries, except that `low` may be the start of a signal
 * stack. low == high: nothing is known. On the stack of the program or of a thread, the part below
 * `sure` stays readable as long as anything runs on the stack. sure == 0: not known, since memory
 * above a stack that the program created itself may be unmapped.
 */
struct stack_range {
	uint64_t low, high;
	uint64_t sure;
};

/* Initialize, once, in the program's first thread if possible. Two system calls. */
void stack_init(void);

/* Return true if 8 bytes at `address` (a multiple of 8) can be read. One system call, about 0.1
 * us. */
bool stack_readable(uint64_t address);

/* Make `range` include `sp`, and drop its former content if that is another stack. Return false if
 * nothing can be read there; *range is then empty. */
bool stack_range_hold(struct stack_range *range, uint64_t sp);

/* Return the part of `range` that a walk from `sp` can read without asking the kernel again. */
static inline struct stack_range stack_range_now(const struct stack_range *range, uint64_t sp)
{
	uint64_t page = sp & ~(uint64_t)(STACK_PAGE_BYTES - 1);
	if (__builtin_expect(range->sure != 0, 1))
		return (struct stack_range){range->low, range->sure, range->sure};
	return (struct stack_range){page, page + STACK_PAGE_BYTES, 0};
}

/*
 * Make ranges[0] the range of the stack that the caller runs on, at `sp`; ranges[1] is the previous
 * one. Return false if nothing can be read there, or less than `room_bytes` of an alternate signal
 * stack are left. main_top is an address at the outer end of the program's stack (0 = not known).
 * Makes no system call if one of the two ranges is that of this stack and includes `sp`.
 */
bool stack_ranges_switch(
	struct stack_range *ranges, uint64_t sp, uint64_t room_bytes, uint64_t main_top);

/* Raise range->high to at least `end`. Return false if something in between cannot be read. */
bool stack_range_raise(struct stack_range *range, uint64_t end);

#endif
