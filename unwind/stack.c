/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.c - the part of the address space that may be read as the running thread's stack.
 */
#define _GNU_SOURCE
#include "unwind/stack.h"

#include <errno.h>
#include <signal.h>

#include "common/sys.h"
#include "machine/machine.h"

#define PAGE_MASK ((uint64_t)STACK_PAGE_BYTES - 1)
#define NEAR_BYTES (64ull * STACK_PAGE_BYTES)
#define FRAME_MAX_BYTES (16ull << 20) /* 0.6 ms to probe, once */

/*
 * rt_sigprocmask() copies the new mask before it checks `how`: EFAULT if the mask cannot be read,
 * else EINVAL, and nothing is changed. No filter of system calls forbids it, it opens nothing and
 * needs no permission, unlike process_vm_readv(), /proc or a pipe; mincore() accepts guard pages,
 * too.
 */
bool stack_readable(uint64_t address)
{
	return SYS4(SYS_rt_sigprocmask, -1, address, 0, 8) == -EINVAL;
}

static bool pages_readable(uint64_t from, uint64_t to)
{
	for (; from < to; from += STACK_PAGE_BYTES)
		if (!stack_readable(from))
			return false;
	return true;
}

bool stack_range_hold(struct stack_range *range, uint64_t sp)
{
	uint64_t page = sp & ~PAGE_MASK;
	if (sp >= range->low && sp < range->high)
		return true;
	if (sp < range->low && range->low - page <= NEAR_BYTES &&
		pages_readable(page, range->low)) {
		range->low = page;
		return true;
	}
	range->low = range->high = page;
	range->sure = 0;
	if (page + STACK_PAGE_BYTES < page || !stack_readable(page))
		return false;
	range->high = page + STACK_PAGE_BYTES;
	return true;
}

bool stack_range_raise(struct stack_range *range, uint64_t end)
{
	uint64_t high = (end + PAGE_MASK) & ~PAGE_MASK;
	if (end <= range->high)
		return true;
	if (high < end || high - range->high > FRAME_MAX_BYTES ||
		!pages_readable(range->high, high))
		return false;
	range->high = high;
	return true;
}

static uint64_t first_descriptor; /* that of the program's first thread; 0 = not known */

void stack_init(void)
{
	first_descriptor = sys_gettid() == sys_getpid() ? machine_thread_pointer() : 0;
}

/* Return the address of the thread's descriptor, which glibc stores at the outer end of the
 * thread's stack; 0 for the first thread, whose descriptor is elsewhere, and for a task that
 * shares it: clone() with CLONE_VM, without CLONE_SETTLS. */
static uint64_t thread_top(void)
{
	uint64_t top = machine_thread_pointer();
	return top == first_descriptor || sys_gettid() == sys_getpid() ? 0 : top;
}

static bool is_near_top(struct stack_range *range, uint64_t sp, uint64_t top)
{
	return sp < top && top - sp <= NEAR_BYTES && stack_range_raise(range, top);
}

/* Set range->sure if `sp` is on the stack of the program or of this thread. */
static void settle(struct stack_range *range, uint64_t sp, uint64_t main_top)
{
	if (is_near_top(range, sp, main_top) || is_near_top(range, sp, thread_top()))
		range->sure = range->high;
}

/* Return the lower end of the alternate signal stack that `sp` is on; 0 = `sp` is on none. */
static uint64_t signal_low(uint64_t sp)
{
	stack_t stack;
	if (SYS2(SYS_sigaltstack, 0, &stack) != 0 || stack.ss_flags & SS_DISABLE)
		return 0;
	uint64_t low = (uint64_t)(uintptr_t)stack.ss_sp;
	return sp - low < stack.ss_size ? low : 0;
}

/* Set the range to the stack that the caller runs on. The lowest `room_bytes` of an alternate
 * signal stack do not count: returns false if `sp` is within them. Makes one more system call. */
static bool hold_room(struct stack_range *range, uint64_t sp, uint64_t room_bytes)
{
	uint64_t low = signal_low(sp);
	if (low)
		low += room_bytes;
	if (sp < low || !stack_range_hold(range, sp))
		return false;
	if (range->low < low)
		range->low = low;
	return true;
}

bool stack_ranges_switch(
	struct stack_range *ranges, uint64_t sp, uint64_t room_bytes, uint64_t main_top)
{
	struct stack_range other = ranges[1];
	if (sp < other.low || sp >= other.high) {
		/* Deeper on the same stack than before, or on a new one. */
		other = ranges[0];
		if (!hold_room(&other, sp, room_bytes))
			return false;
		if (other.high == ranges[0].high) {
			ranges[0] = other;
			return true;
		}
	}
	if (!other.sure)
		settle(&other, sp, main_top);
	ranges[1] = ranges[0];
	ranges[0] = other;
	return true;
}
