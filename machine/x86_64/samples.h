/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.h - the handler of CPU samples, x86-64. Included by tracer/cpu/sample.c alone; the
 * contracts are in machine/machine.h.
 */
#ifndef MACHINE_X86_64_SAMPLES_H
#define MACHINE_X86_64_SAMPLES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>
#include <stdint.h>
#include <sys/ucontext.h>

#include "machine/machine.h"

#define MACHINE_SAMPLE_STACK_AT 224
#define MACHINE_SAMPLE_TID_AT 136
#define MACHINE_SAMPLE_CODE_AT 8
#define MACHINE_SAMPLE_VALUE_AT 24
#define MACHINE_SAMPLE_GETTID 186

#define MACHINE_TEXT_OF(number) #number
#define MACHINE_TEXT(number) MACHINE_TEXT_OF(number)

/* clang-format off */
__asm__(".text\n"
	"	.globl cpu_entry\n"
	"	.hidden cpu_entry\n"
	"	.type cpu_entry, @function\n"
	"	.p2align 4\n"
	"cpu_entry:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	cmpl	$-2, " MACHINE_TEXT(MACHINE_SAMPLE_CODE_AT) "(%rsi)\n"
	"	jne	2f\n"
	"	movq	thread_self@gottpoff(%rip), %rax\n"
	"	addq	%fs:0, %rax\n"
	"	cmpq	" MACHINE_TEXT(MACHINE_SAMPLE_VALUE_AT) "(%rsi), %rax\n"
	"	jne	1f\n"
	"3:	movq	" MACHINE_TEXT(MACHINE_SAMPLE_STACK_AT) "(%rax), %rax\n"
	"	testq	%rax, %rax\n"
	"	je	1f\n"
	"	pushq	%rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq	%rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	movq	%rax, %rsp\n"
	"	call	cpu_handle\n"
	"	movq	%rbp, %rsp\n"
	"	popq	%rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"1:	ret\n"
	"2:	cmpl	$1, " MACHINE_TEXT(MACHINE_SAMPLE_CODE_AT) "(%rsi)\n"
	"	jne	1b\n"
	"	cmpb	$0, cpu_is_on(%rip)\n"
	"	je	1b\n"
	"	movl	$" MACHINE_TEXT(MACHINE_SAMPLE_GETTID) ", %eax\n"
	"	syscall\n"
	"	movl	%eax, %ecx\n"
	"	movq	thread_self@gottpoff(%rip), %rax\n"
	"	addq	%fs:0, %rax\n"
	"	cmpl	" MACHINE_TEXT(MACHINE_SAMPLE_TID_AT) "(%rax), %ecx\n"
	"	jne	1b\n"
	"	jmp	3b\n"
	"	.cfi_endproc\n"
	"	.size cpu_entry, . - cpu_entry\n");
/* clang-format on */

/* Debuggers and unwinders recognize the return from a handler by these bytes. */
__asm__(".text\n\tnop\n\t.p2align 4\n\t.globl cpu_return\n\t.hidden cpu_return\n"
	"\t.type cpu_return, @function\ncpu_return:\n"
	"\tmovq $15, %rax\n\tsyscall\n\t.size cpu_return, . - cpu_return\n");

/* Store the registers of a signal's context by their DWARF numbers. Any thread. */
static inline void machine_registers_of(
	const ucontext_t *context, uint64_t ret_registers[MACHINE_REGISTERS])
{
	/* Index in the kernel's frame of each register, by its DWARF number. */
	static const uint8_t order[MACHINE_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX,
		REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12,
		REG_R13, REG_R14, REG_R15, REG_RIP};
	for (unsigned i = 0; i < MACHINE_REGISTERS; i++)
		ret_registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}

#endif
