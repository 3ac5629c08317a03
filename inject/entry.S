/*
 * entry.S - entries that C cannot write: functions that return twice on one stack.
 *
 * vfork: the child returns first, on the parent's stack, and may overwrite the return address; so it is kept in a register, which the
 * kernel restores for the parent, and pushed again on both sides.
 * syscall: the calls that make processes are passed on by a jump, before any frame exists; a fork without shared memory comes back by way of syscall_forked.
 */
#if defined(__x86_64__)
#include <asm/unistd.h>

	.text
	.globl vfork
	.type vfork, @function
	.p2align 4
vfork:
	.cfi_startproc
	endbr64
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
	.cfi_startproc
	endbr64
	cmpq $__NR_vfork, %rdi
	je 1f
	cmpq $__NR_clone, %rdi
	je 1f
	cmpq $435 /* clone3 */, %rdi
	je 1f
	cmpq $__NR_fork, %rdi
	je 2f
	cmpq $15 /* rt_sigreturn */, %rdi
	je 1f
	jmp syscall_traced
1:	/* the real one, with the stack as it is */
	jmp *syscall_real(%rip)
2:	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	call *syscall_real(%rip)
	movq %rax, %rdi
	call syscall_forked
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
#endif
