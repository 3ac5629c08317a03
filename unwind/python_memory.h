/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_memory.h - checked reading of the interpreter's memory: a page is read once the kernel has
 * confirmed that it is readable. Owning thread of `t`, in the guard.
 */
#ifndef UNWIND_PYTHON_MEMORY_H
#define UNWIND_PYTHON_MEMORY_H

#include "unwind/python.h"

#define PAGE_SHIFT 12

/* Ask the kernel whether a page is readable, and remember that it is. */
bool python_page_ask(struct python_thread *t, uint64_t page) __attribute__((noinline));

/* Return true if a page, by its number, is readable. */
static inline bool page_readable(struct python_thread *t, uint64_t page)
{
	const uint64_t *set = t->pages[page % PYTHON_PAGE_SETS];
	if (__builtin_expect(set[0] == page + 1, 1))
		return true;
	for (unsigned i = 1; i < PYTHON_PAGE_WAYS; i++)
		if (set[i] == page + 1)
			return true;
	return python_page_ask(t, page);
}

/* Return true if `bytes` (1 to a page) at `address`, a multiple of 8, are readable. */
static inline bool readable(struct python_thread *t, uint64_t address, uint32_t bytes)
{
	uint64_t first = address >> PAGE_SHIFT, last = (address + bytes - 1) >> PAGE_SHIFT;
	return !(address & 7) && page_readable(t, first) &&
		(__builtin_expect(last == first, 1) || page_readable(t, last));
}

/* Not instrumented: the memory may belong to a sanitizer. */
#define UNCHECKED __attribute__((no_sanitize("address"))) static inline

/* Return the 8 bytes at an address that is readable(). */
UNCHECKED uint64_t word(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

/* Likewise, for a word that is only compared: the compiler may read it more than once. */
UNCHECKED uint64_t glance(uint64_t address)
{
	typedef uint64_t __attribute__((may_alias)) any;
	return *(const any *)(uintptr_t)address;
}

/* Likewise 4 bytes. */
UNCHECKED uint32_t half(uint64_t address)
{
	return *(const volatile uint32_t *)(uintptr_t)address;
}

/* Likewise 2 bytes. */
UNCHECKED uint16_t quarter(uint64_t address)
{
	return *(const volatile uint16_t *)(uintptr_t)address;
}

/* Likewise 1 byte. */
UNCHECKED uint8_t byte(uint64_t address)
{
	return *(const volatile uint8_t *)(uintptr_t)address;
}

#endif
