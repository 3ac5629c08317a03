/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_memory.c - asking the kernel which pages of the interpreter's memory are readable.
 */
#include "unwind/python_memory.h"

#include "unwind/stack.h"

bool python_page_ask(struct python_thread *t, uint64_t page)
{
	if (!page || !stack_readable(page << PAGE_SHIFT))
		return false;
	t->pages[page % PYTHON_PAGE_SETS][t->next_way++ % PYTHON_PAGE_WAYS] = page + 1;
	return true;
}
