/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assembly.h - what the assembly of all machines shares: the beginning and the end of a function,
 * and the offsets that the handler of CPU samples knows.
 */
#ifndef MACHINE_ASSEMBLY_H
#define MACHINE_ASSEMBLY_H

#include <asm/unistd.h>

#define MACHINE_SAMPLE_STACK_AT 224 /* struct samples * in struct thread */
#define MACHINE_SAMPLE_TID_AT 136   /* tid in struct thread */
#define MACHINE_SAMPLE_CODE_AT 8    /* si_code in siginfo_t */
#define MACHINE_SAMPLE_VALUE_AT 24  /* si_value in siginfo_t */

#define MACHINE_STRING_OF(number) #number
#define MACHINE_STRING(number) MACHINE_STRING_OF(number)

/* The assembly before a hidden function. */
#define MACHINE_HIDDEN_FUNCTION(name)                                                   \
	".text\n\t.globl " name "\n\t.hidden " name "\n\t.type " name ", %function\n\t" \
	".p2align 4\n" name ":\n"
#define MACHINE_FUNCTION_END(name) "\t.size " name ", . - " name "\n"

#endif
