/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwinding.h - registers and code as the unwinder meets them, x86-64. Included by
 * unwind/registers.c alone; the contracts are in machine/machine.h.
 */
#ifndef MACHINE_X86_64_UNWINDING_H
#define MACHINE_X86_64_UNWINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/assembly.h"
#include "machine/machine.h"

/* The kernel's struct sigcontext: r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. */
static const uint8_t machine_signal_order[MACHINE_REGISTERS] = {
	8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};

/* registers_here() */
/* clang-format off */
__asm__(MACHINE_HIDDEN_FUNCTION("registers_here")
	"\tmov %rbx, 24(%rdi)\n\tmov %rbp, 48(%rdi)\n\tmov %r12, 96(%rdi)\n"
	"\tmov %r13, 104(%rdi)\n\tmov %r14, 112(%rdi)\n\tmov %r15, 120(%rdi)\n"
	"\tlea 8(%rsp), %rax\n\tmov %rax, 56(%rdi)\n"
	"\tmov (%rsp), %rax\n\tmov %rax, 128(%rdi)\n"
	"\tmovb $0, 136(%rdi)\n\tret\n"
	MACHINE_FUNCTION_END("registers_here"));
/* clang-format on */

/* `add $N, %rsp; ret`, as in CPython's trampolines for perf, which keep no rbp. */
static inline uint64_t machine_room_behind(const void *code)
{
	const uint8_t *c = code;
	if (c[0] != 0x48 || c[1] != 0x83 || c[2] != 0xc4)
		return 0;
	return c[4] == 0xc3 && c[3] < 0x80 && c[3] % 8 == 0 ? c[3] : 0;
}

/* There are tables for it. */
static inline bool machine_is_sigreturn(const void *code)
{
	(void)code;
	return false;
}

#endif
