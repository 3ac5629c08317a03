#define _GNU_SOURCE
#include "unwind/stack.h"

#include <errno.h>

#include "common/sys.h"

#define PAGE_MASK ((uint64_t)STACK_PAGE_BYTES - 1)
#define NEAR_PAGES 64u      /* probed one by one */
#define MINCORE_PAGES 1024u /* of a large frame, per call */
#define FAR_BYTES (64ull << 20)

/*
 * The kernel copies the new mask before it looks at `how`: EFAULT where it cannot, else EINVAL, and
 * nothing is changed. No filter of system calls forbids it, it opens nothing and needs no right,
 * unlike process_vm_readv, /proc or a pipe; mincore() also says yes to guard pages.
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

/* A frame of megabytes: that it is mapped is enough to know, its untouched pages stay untouched. */
static bool pages_mapped(uint64_t from, uint64_t to)
{
	unsigned char present[MINCORE_PAGES];
	while (from < to) {
		uint64_t bytes = to - from;
		if (bytes > (uint64_t)MINCORE_PAGES * STACK_PAGE_BYTES)
			bytes = (uint64_t)MINCORE_PAGES * STACK_PAGE_BYTES;
		if (SYS3(SYS_mincore, from, bytes, present) < 0)
			return false;
		from += bytes;
	}
	return true;
}

bool stack_range_hold(struct stack_range *range, uint64_t sp)
{
	uint64_t page = sp & ~PAGE_MASK;
	if (sp >= range->low && sp < range->high)
		return true;
	if (sp < range->low && range->low - page <= (uint64_t)NEAR_PAGES * STACK_PAGE_BYTES &&
		pages_readable(page, range->low)) {
		range->low = page;
		return true;
	}
	range->low = range->high = page;
	if (page + STACK_PAGE_BYTES < page || !stack_readable(page))
		return false;
	range->high = page + STACK_PAGE_BYTES;
	return true;
}

bool stack_range_raise(struct stack_range *range, uint64_t end)
{
	uint64_t high = (end + PAGE_MASK) & ~PAGE_MASK, last = high - STACK_PAGE_BYTES;
	if (end <= range->high)
		return true;
	if (high < end || high - range->high > FAR_BYTES)
		return false;
	bool near = high - range->high <= (uint64_t)NEAR_PAGES * STACK_PAGE_BYTES;
	if (near ? !pages_readable(range->high, high)
		 : !pages_mapped(range->high, last) || !stack_readable(last))
		return false;
	range->high = high;
	return true;
}
