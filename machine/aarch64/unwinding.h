/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwinding.h - registers and code as the unwinder meets them, AArch64. Included by
 * unwind/registers.c alone; the contracts are in machine/machine.h.
 */
#ifndef MACHINE_AARCH64_UNWINDING_H
#define MACHINE_AARCH64_UNWINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/assembly.h"
#include "machine/machine.h"

/* The kernel's struct sigcontext: x0 to x30, sp, pc. */
static const uint8_t machine_signal_order[MACHINE_REGISTERS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
	11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

/* registers_here() */
/* clang-format off */
__asm__(MACHINE_HIDDEN_FUNCTION("registers_here")
	"\thint #34\n" /* bti c */
	"\tstp x19, x20, [x0, #152]\n\tstp x21, x22, [x0, #168]\n"
	"\tstp x23, x24, [x0, #184]\n\tstp x25, x26, [x0, #200]\n"
	"\tstp x27, x28, [x0, #216]\n\tstp x29, x30, [x0, #232]\n"
	"\tmov x1, sp\n\tstp x1, x30, [x0, #248]\n"
	"\tstrb wzr, [x0, #264]\n\tret\n"
	MACHINE_FUNCTION_END("registers_here"));
/* clang-format on */

/* CPython's trampolines for perf keep x29. */
static inline uint64_t machine_room_behind(const void *code)
{
	(void)code;
	return 0;
}

/* mov x8, #__NR_rt_sigreturn; svc #0. Neither the vdso nor qemu has tables for it. */
static inline bool machine_is_sigreturn(const void *code)
{
	const uint32_t *c = code;
	return c[0] == 0xd2801168 && c[1] == 0xd4000001;
}

#endif
