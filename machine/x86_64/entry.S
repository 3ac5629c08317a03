/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.S - x86-64: entries that C cannot express: functions that return twice on one stack, and jumps to
 * the real function.
 *
 * vfork: the child returns first, on the parent's stack, and may overwrite the return address; so
 * it is kept in a register, which the kernel restores for the parent, and pushed again on both
 * sides. syscall: calls that create processes are passed on by a jump, before any frame exists;
 * those without shared memory go through syscall_forking, whose child forgets its parent. dlopen:
 * the real one searches by the run path of its caller, so it is entered by a jump.
 */
#include <asm/unistd.h>

	.text
	.globl vfork
	.type vfork, @function
	.p2align 4
vfork:
	.cfi_startproc
	endbr64
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	call vfork_before
	movq %rax, %r8		/* the time at which the call began */
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
	movl $__NR_vfork, %eax
	syscall
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rip, -8
	pushq %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	movq %rax, %rbx
	testq %rax, %rax
	jnz 1f
	call vfork_child
	jmp 2f
1:	movq %rax, %rdi
	movq %r8, %rsi
	call vfork_parent
2:	movq %rbx, %rax
	popq %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	cmpq $-4095, %rax
	jae 3f
	ret
3:	/* failed: set errno */
	negl %eax
	pushq %rax
	.cfi_adjust_cfa_offset 8
	call *__errno_location@GOTPCREL(%rip)
	popq %rcx
	.cfi_adjust_cfa_offset -8
	movl %ecx, (%rax)
	movq $-1, %rax
	ret
	.cfi_endproc
	.size vfork, . - vfork

	.globl syscall
	.type syscall, @function
	.p2align 4
syscall:
syscall_entry:
	.cfi_startproc
	endbr64
	cmpq $__NR_vfork, %rdi
	je 1f
	cmpq $__NR_clone, %rdi
	je 3f
	cmpq $435 /* clone3 */, %rdi
	je 4f
	cmpq $__NR_fork, %rdi
	je 2f
	cmpq $15 /* rt_sigreturn */, %rdi
	je 1f
	jmp syscall_traced
1:	/* jump to the real function, with the stack unchanged */
	cmpq $0, syscall_real(%rip)
	je 5f
	jmp *syscall_real(%rip)
3:	/* clone(flags, stack, ...): on this stack, in memory of its own? */
	testq %rdx, %rdx
	jnz 1b
	testl $0x100 /* CLONE_VM */, %esi
	jnz 1b
	jmp 2f
4:	/* clone3(struct clone_args { flags, ... stack at 40 }) */
	testq %rsi, %rsi
	jz 1b
	testl $0x100, (%rsi)
	jnz 1b
	cmpq $0, 40(%rsi)
	jne 1b
2:	jmp syscall_forking
5:	/* called before our constructor: find it, and begin again */
	.irp register, rdi, rsi, rdx, rcx, r8, r9
	pushq %\register
	.cfi_adjust_cfa_offset 8
	.endr
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	call syscall_find
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	.irp register, r9, r8, rcx, rdx, rsi, rdi
	popq %\register
	.cfi_adjust_cfa_offset -8
	.endr
	jmp syscall_entry
	.cfi_endproc
	.size syscall, . - syscall

	.globl dlopen
	.type dlopen, @function
	.p2align 4
dlopen:
	.cfi_startproc
	endbr64
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	call dlopen_before
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	jmp *%rax
	.cfi_endproc
	.size dlopen, . - dlopen

	.section .note.GNU-stack, "", @progbits
