/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_stubs.S - AArch64: calls of any function between two of ours, without knowing its
 * prototype, from an ordinary frame. x86_64/function_stubs.S says how.
 *
 * Arguments and results are in x0 to x8 and q0 to q7; the procedure call standard lets a call
 * change all else of the vectors and predicates of SVE. Functions of another standard have no stub:
 * MACHINE_SYMBOL_VARIANT. x16 and x17, which linkers use between a call and its function, lead to
 * landing pads (BTI). The frame is the caller's arguments, then x29 and x30, then what
 * function_enter() sees.
 */
#include "machine/aarch64/assembly.h"

	.set STUBS, 8192	/* FUNCTIONS_MAX */
	.set FRAME, 208		/* bytes of struct function_frame below x29 */

	.macro arguments_load from
	ldp x0, x1, [\from]
	ldp x2, x3, [\from, #16]
	ldp x4, x5, [\from, #32]
	ldp x6, x7, [\from, #48]
	ldp x8, x18, [\from, #64]
	.endm

	.text
	.p2align 4
	.globl function_stubs
	.hidden function_stubs
	.type function_stubs, %function
function_stubs:			/* FUNCTION_STUB_BYTES each */
	.cfi_startproc
	.set i, 0
	.rept STUBS
	BTI_C
	mov w17, #i
	b function_call
	nop
	.set i, i + 1
	.endr
	.cfi_endproc
	.size function_stubs, . - function_stubs

	.p2align 4
	.type function_call, %function
function_call:
	.cfi_startproc
	stp x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov x29, sp
	.cfi_def_cfa_register 29
	sub sp, sp, #FRAME
	stp x0, x1, [sp]
	stp x2, x3, [sp, #16]
	stp x4, x5, [sp, #32]
	stp x6, x7, [sp, #48]
	stp x8, x18, [sp, #64]
	str x17, [sp, #80]
	mov x0, sp
	bl function_enter
	mov x16, x0
	ldp w9, w10, [sp, #96]	/* copied, traced */
	cbz w10, 2f
	cbz w9, 1f
	sub sp, sp, x9
	add x10, x29, #16
	mov x11, sp
3:	ldp x12, x13, [x10], #16
	stp x12, x13, [x11], #16
	subs x9, x9, #16
	b.ne 3b
1:	sub x17, x29, #FRAME
	arguments_load x17
	blr x16
	sub sp, x29, #FRAME
	stp x0, x1, [sp]	/* function_leave() records x0 */
	mov x0, sp
	bl function_leave
	ldp x0, x1, [sp]
	mov sp, x29
	.cfi_def_cfa_register 31
	ldp x29, x30, [sp], #16
	.cfi_remember_state
	.cfi_def_cfa_offset 0
	.cfi_restore 29
	.cfi_restore 30
	ret
2:	/* not recorded: enter the function by a jump */
	.cfi_restore_state
	.cfi_def_cfa_register 29
	arguments_load sp
	mov sp, x29
	.cfi_def_cfa_register 31
	ldp x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore 29
	.cfi_restore 30
	br x16
	.cfi_endproc
	.size function_call, . - function_call

	NOTES_OF_FILE
