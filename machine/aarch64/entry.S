/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.S - AArch64: entries that C cannot express: functions that return twice on one stack, and
 * jumps to the real function. x86_64/entry.S says what each does.
 *
 * The return address stays in x30, which the kernel restores on both sides of a fork.
 */
#include <asm/unistd.h>

#include "machine/aarch64/assembly.h"

#define CLONE_VM_BIT 8

	.macro frame_make bytes
	stp x29, x30, [sp, #-\bytes]!
	.cfi_adjust_cfa_offset \bytes
	.cfi_rel_offset 29, 0
	.cfi_rel_offset 30, 8
	mov x29, sp
	.endm
	.macro frame_drop bytes
	ldp x29, x30, [sp], #\bytes
	.cfi_restore 29
	.cfi_restore 30
	.cfi_adjust_cfa_offset -\bytes
	.endm

	.text
	.globl vfork
	.type vfork, %function
	.p2align 4
vfork:
	.cfi_startproc
	BTI_C
	frame_make 16
	bl vfork_before
	mov x9, x0		/* the time at which the call began */
	frame_drop 16
	mov x0, #0x4111		/* CLONE_VFORK | CLONE_VM | SIGCHLD */
	mov x1, #0
	mov x2, #0
	mov x3, #0
	mov x4, #0
	mov x8, #__NR_clone
	svc #0			/* keeps all registers but x0 on both sides */
	frame_make 32
	str x19, [sp, #16]
	.cfi_rel_offset 19, 16
	mov x19, x0
	cbnz x0, 1f
	bl vfork_child
	b 2f
1:	mov x1, x9
	bl vfork_parent
2:	cmn x19, #4095
	b.cs 3f
	mov x0, x19
	b 5f
3:	neg x19, x19		/* failed: set errno */
	bl __errno_location
	str w19, [x0]
	mov x0, #-1
5:	ldr x19, [sp, #16]
	.cfi_restore 19
	frame_drop 32
	ret
	.cfi_endproc
	.size vfork, . - vfork

	.globl syscall
	.type syscall, %function
	.p2align 4
syscall:
syscall_entry:
	.cfi_startproc
	BTI_C
	cmp x0, #__NR_clone
	b.eq 3f
	cmp x0, #435		/* clone3 */
	b.eq 4f
	cmp x0, #__NR_rt_sigreturn
	b.eq 1f
	b syscall_traced
1:	adrp x16, syscall_real	/* jump to the real function, with the stack unchanged */
	ldr x16, [x16, :lo12:syscall_real]
	cbz x16, 5f
	br x16
3:	cbnz x2, 1b		/* clone(flags, stack, ...): on this stack, in memory of its own? */
	tbnz x1, #CLONE_VM_BIT, 1b
	b 2f
4:	cbz x1, 1b		/* clone3(struct clone_args { flags, ... stack at 40 }) */
	ldr x9, [x1]
	tbnz x9, #CLONE_VM_BIT, 1b
	ldr x9, [x1, #40]
	cbnz x9, 1b
2:	b syscall_forking
5:	frame_make 80		/* called before our constructor: find it, and begin again */
	stp x0, x1, [sp, #16]
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	str x6, [sp, #64]
	bl syscall_find
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldr x6, [sp, #64]
	frame_drop 80
	b syscall_entry
	.cfi_endproc
	.size syscall, . - syscall

	.globl dlopen
	.type dlopen, %function
	.p2align 4
dlopen:
	.cfi_startproc
	BTI_C
	frame_make 32
	stp x0, x1, [sp, #16]
	bl dlopen_before
	mov x16, x0
	ldp x0, x1, [sp, #16]
	frame_drop 32
	br x16
	.cfi_endproc
	.size dlopen, . - dlopen

	NOTES_OF_FILE
