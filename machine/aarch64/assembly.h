/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assembly.h - AArch64: what the assembler files share. Preprocessor macros alone.
 */
#ifndef MACHINE_AARCH64_ASSEMBLY_H
#define MACHINE_AARCH64_ASSEMBLY_H

/* clang-format off */
/* A landing pad of indirect calls; a no-op for older assemblers and processors. */
#define BTI_C hint #34

#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define NOTE_OF_BTI .section .note.gnu.property, "a", %note; \
	.p2align 3; \
	.word 4, 16, 5; \
	.asciz "GNU"; \
	.word 0xc0000000, 4, 1, 0
#else
#define NOTE_OF_BTI
#endif

/* The end of each file. Without the second note the linker marks the whole library as one without
 * BTI. */
#define NOTES_OF_FILE .section .note.GNU-stack, "", %progbits; \
	NOTE_OF_BTI
/* clang-format on */

#endif
