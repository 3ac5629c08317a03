/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_beside.c - makes calls from a hand-switched stack directly below a mapping of data, with an
 * address of that data in rbp. The data is unmapped before the last call.
 *
 * A callchain by frame pointers (LIBTRACE_BACKTRACE=fp) must not read memory only because it was
 * once found readable: memory next to a stack is not a part of it.
 */
#include "app.h"

#include <sched.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES (64 << 10)
static ucontext_t back, there;
static char *data;

/* sched_yield() with the argument in rbp, as code without frame pointers may have it. */
void yield_with(void *rbp);
__asm__(".text\n"
	"yield_with:\n\t"
	".cfi_startproc\n\t"
	"push %rbp\n\t"
	".cfi_adjust_cfa_offset 8\n\t"
	".cfi_rel_offset %rbp, 0\n\t"
	"mov %rdi, %rbp\n\t"
	"call sched_yield@PLT\n\t"
	"pop %rbp\n\t"
	".cfi_adjust_cfa_offset -8\n\t"
	"ret\n\t"
	".cfi_endproc");

static void body(void)
{
	yield_with(data);
	syscall(SYS_munmap, data, 4096);
	yield_with(data);
}

int main(void)
{
	char *pages = mmap(NULL, STACK_BYTES + 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return 1;
	data = pages + STACK_BYTES;
	getcontext(&there);
	there.uc_stack.ss_sp = pages;
	there.uc_stack.ss_size = STACK_BYTES;
	there.uc_link = &back;
	makecontext(&there, body, 0);
	swapcontext(&back, &there);
	check(1, "calls beside data that comes and goes");
	say("expect 2 sched_yield");
	return app_result();
}
