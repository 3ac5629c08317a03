/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_stubs.S - x86-64: calls of any function between two of ours, without knowing its prototype, from
 * an ordinary frame.
 *
 * What the caller may have put on the stack as arguments is copied below the frame; how much that
 * can be follows from the unwind rule of the caller. Exceptions, cancellation, longjmp, fibers and
 * every unwinder see a usual function with a frame pointer. Vector and x87 registers, and al, which
 * a variadic function reads, pass through unchanged: function_enter() and function_leave() use
 * general registers only.
 */
	.set STUBS, 8192	/* FUNCTIONS_MAX */
	.set FRAME, 192		/* bytes of struct function_frame below rbp */

	.text
	.p2align 4
	.globl function_stubs
	.hidden function_stubs
	.type function_stubs, @function
function_stubs:			/* FUNCTION_STUB_BYTES each */
	.cfi_startproc
	.set i, 0
	.rept STUBS
	endbr64
	movl $i, %r11d		/* not used for arguments */
	.byte 0xe9		/* jmp with a displacement of 32 bits */
	.long function_call - . - 4
	nop
	.set i, i + 1
	.endr
	.cfi_endproc
	.size function_stubs, . - function_stubs

	.p2align 4
	.type function_call, @function
function_call:
	.cfi_startproc
	pushq %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq $FRAME, %rsp
	movq %rdi, (%rsp)
	movq %rsi, 8(%rsp)
	movq %rdx, 16(%rsp)
	movq %rcx, 24(%rsp)
	movq %r8, 32(%rsp)
	movq %r9, 40(%rsp)
	movq %rax, 48(%rsp)
	movq %r10, 56(%rsp)
	movq %r11, 64(%rsp)
	movq %rsp, %rdi
	call function_enter
	movq %rax, %r11
	cmpl $0, 84-FRAME(%rbp)	/* traced */
	je 2f
	movl 80-FRAME(%rbp), %ecx	/* copied */
	testl %ecx, %ecx
	jz 1f
	subq %rcx, %rsp
	leaq 16(%rbp), %rsi
	movq %rsp, %rax		/* vectors among the arguments are aligned to up to 64 bytes */
	subl %esi, %eax
	andl $63, %eax
	subq %rax, %rsp
	shrl $3, %ecx
	cmpl $64, %ecx
	ja 4f
	testl $2, %ecx		/* faster than rep for few words; their number is even */
	jz 3f
	movq -8(%rsi,%rcx,8), %rax
	movq -16(%rsi,%rcx,8), %rdx
	movq %rax, -8(%rsp,%rcx,8)
	movq %rdx, -16(%rsp,%rcx,8)
	subl $2, %ecx
	jz 1f
3:	movq -8(%rsi,%rcx,8), %rax
	movq -16(%rsi,%rcx,8), %rdx
	movq -24(%rsi,%rcx,8), %rdi
	movq -32(%rsi,%rcx,8), %r8
	movq %rax, -8(%rsp,%rcx,8)
	movq %rdx, -16(%rsp,%rcx,8)
	movq %rdi, -24(%rsp,%rcx,8)
	movq %r8, -32(%rsp,%rcx,8)
	subl $4, %ecx
	jnz 3b
1:	movq -FRAME(%rbp), %rdi
	movq 8-FRAME(%rbp), %rsi
	movq 16-FRAME(%rbp), %rdx
	movq 24-FRAME(%rbp), %rcx
	movq 32-FRAME(%rbp), %r8
	movq 40-FRAME(%rbp), %r9
	movq 48-FRAME(%rbp), %rax
	movq 56-FRAME(%rbp), %r10
	call *%r11
	leaq -FRAME(%rbp), %rsp
	movq %rax, (%rsp)	/* function_leave() records it */
	movq %rdx, 8(%rsp)
	movq %rsp, %rdi
	call function_leave
	movq (%rsp), %rax
	movq 8(%rsp), %rdx
	leave
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
4:	.cfi_restore_state
	.cfi_remember_state
	movq %rsp, %rdi
	rep movsq
	jmp 1b
2:	/* not recorded: enter the function by a jump */
	.cfi_restore_state
	movq (%rsp), %rdi
	movq 8(%rsp), %rsi
	movq 16(%rsp), %rdx
	movq 24(%rsp), %rcx
	movq 32(%rsp), %r8
	movq 40(%rsp), %r9
	movq 48(%rsp), %rax
	movq 56(%rsp), %r10
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	jmp *%r11
	.cfi_endproc
	.size function_call, . - function_call

	.section .note.GNU-stack, "", @progbits
