/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.h - the handler of CPU samples, AArch64. Included by tracer/cpu/sample.c alone; the
 * contracts are in machine/machine.h.
 */
#ifndef MACHINE_AARCH64_SAMPLES_H
#define MACHINE_AARCH64_SAMPLES_H

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
	"	hint	#34\n" /* bti c */
	"	mrs	x10, tpidr_el0\n"
	"	adrp	x11, :gottprel:thread_self\n"
	"	ldr	x11, [x11, #:gottprel_lo12:thread_self]\n"
	"	add	x10, x10, x11\n"
	"	ldr	w9, [x1, #" MACHINE_STRING(MACHINE_SAMPLE_CODE_AT) "]\n"
	"	cmn	w9, #2\n"
	"	b.ne	2f\n"
	"	ldr	x12, [x1, #" MACHINE_STRING(MACHINE_SAMPLE_VALUE_AT) "]\n"
	"	cmp	x12, x10\n"
	"	b.ne	1f\n"
	"3:	ldr	x11, [x10, #" MACHINE_STRING(MACHINE_SAMPLE_STACK_AT) "]\n"
	"	cbz	x11, 1f\n"
	"	stp	x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 29, -16\n"
	"	.cfi_offset 30, -8\n"
	"	mov	x29, sp\n"
	"	.cfi_def_cfa_register 29\n"
	"	mov	sp, x11\n"
	"	bl	cpu_handle\n"
	"	mov	sp, x29\n"
	"	ldp	x29, x30, [sp], #16\n"
	"	.cfi_def_cfa 31, 0\n"
	"	.cfi_restore 29\n"
	"	.cfi_restore 30\n"
	"1:	ret\n"
	"2:	cmp	w9, #1\n"
	"	b.ne	1b\n"
	"	adrp	x9, cpu_is_on\n"
	"	ldrb	w9, [x9, #:lo12:cpu_is_on]\n"
	"	cbz	w9, 1b\n"
	"	mov	x11, x0\n"
	"	mov	x8, #" MACHINE_STRING(__NR_gettid) "\n"
	"	svc	#0\n"
	"	mov	w9, w0\n"
	"	mov	x0, x11\n"
	"	ldr	w12, [x10, #" MACHINE_STRING(MACHINE_SAMPLE_TID_AT) "]\n"
	"	cmp	w9, w12\n"
	"	b.ne	1b\n"
	"	b	3b\n"
	"	.cfi_endproc\n"
	MACHINE_FUNCTION_END("cpu_entry"));
/* clang-format on */

/* Debuggers and unwinders recognize the return from a handler by these instructions. */
/* clang-format off */
__asm__(".text\n\tnop\n\t" MACHINE_HIDDEN_FUNCTION("cpu_return")
	"\tmov x8, #139\n\tsvc #0\n"
	MACHINE_FUNCTION_END("cpu_return"));
/* clang-format on */

/* Store the registers of a signal's context by their DWARF numbers. Any thread. */
static inline void machine_registers_of(
	const ucontext_t *context, uint64_t ret_registers[MACHINE_REGISTERS])
{
	for (unsigned i = 0; i < 31; i++)
		ret_registers[i] = context->uc_mcontext.regs[i];
	ret_registers[MACHINE_SP] = context->uc_mcontext.sp;
	ret_registers[MACHINE_IP] = context->uc_mcontext.pc;
}

/* The registers do not show it. */
static inline bool machine_is_system_call(const uint64_t registers[MACHINE_REGISTERS])
{
	(void)registers;
	return false;
}

#endif
