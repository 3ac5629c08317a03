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
#include <stdbool.h>
#include <stdint.h>
#include <sys/ucontext.h>

#include "machine/assembly.h"
#include "machine/machine.h"

/* clang-format off */
__asm__(MACHINE_HIDDEN_FUNCTION("cpu_entry")
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	cmpl	$-2, " MACHINE_STRING(MACHINE_SAMPLE_CODE_AT) "(%rsi)\n"
	"	jne	2f\n"
	"	movq	thread_self@gottpoff(%rip), %rax\n"
	"	addq	%fs:0, %rax\n"
	"	cmpq	" MACHINE_STRING(MACHINE_SAMPLE_VALUE_AT) "(%rsi), %rax\n"
	"	jne	1f\n"
	"3:	movq	" MACHINE_STRING(MACHINE_SAMPLE_STACK_AT) "(%rax), %rax\n"
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
	"2:	cmpl	$1, " MACHINE_STRING(MACHINE_SAMPLE_CODE_AT) "(%rsi)\n"
	"	jne	1b\n"
	"	cmpb	$0, cpu_is_on(%rip)\n"
	"	je	1b\n"
	"	movl	$" MACHINE_STRING(__NR_gettid) ", %eax\n"
	"	syscall\n"
	"	movl	%eax, %ecx\n"
	"	movq	thread_self@gottpoff(%rip), %rax\n"
	"	addq	%fs:0, %rax\n"
	"	cmpl	" MACHINE_STRING(MACHINE_SAMPLE_TID_AT) "(%rax), %ecx\n"
	"	jne	1b\n"
	"	jmp	3b\n"
	"	.cfi_endproc\n"
	MACHINE_FUNCTION_END("cpu_entry"));
/* clang-format on */

/* Debuggers and unwinders recognize the return from a handler by these bytes. */
/* clang-format off */
__asm__(".text\n\tnop\n\t" MACHINE_HIDDEN_FUNCTION("cpu_return")
	"\tmovq $15, %rax\n\tsyscall\n"
	MACHINE_FUNCTION_END("cpu_return"));
/* clang-format on */

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

/* The instruction leaves the address after it in rcx: a signal that arrives on the return from a
 * system call has the same address there. */
static inline bool machine_is_system_call(const uint64_t registers[MACHINE_REGISTERS])
{
	return registers[2] == registers[MACHINE_IP];
}

#endif
