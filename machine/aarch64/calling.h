/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calling.h - the registers that hold vectors and floats, AArch64. Included by tracer/functions/
 * alone; the contracts are in machine/machine.h.
 *
 * A call may change all of SVE but the lower halves of q8 to q15, which compiled code keeps.
 */
#ifndef MACHINE_AARCH64_CALLING_H
#define MACHINE_AARCH64_CALLING_H

#include <stdbool.h>
#include <stdint.h>

/* q0 to q7, which hold arguments and results, and the flags of floating-point operations. */
struct machine_vectors {
	uint8_t q[8][16] __attribute__((aligned(16)));
	uint64_t flags;
};

/* Return true: machine_vectors_save() keeps what a call may change. Any thread. */
static inline bool machine_can_save_vectors(void)
{
	return true;
}

/* Store q0 to q7, which carry arguments and results, and the state of floating point. The caller
 * owns `v`. Any thread; nothing fails. */
static inline __attribute__((always_inline)) void machine_vectors_save(struct machine_vectors *v)
{
	__asm__ volatile(".arch_extension fp\n\t"
			 "stp q0, q1, [%1]\n\tstp q2, q3, [%1, #32]\n\t"
			 "stp q4, q5, [%1, #64]\n\tstp q6, q7, [%1, #96]\n\t"
			 "mrs %0, fpsr"
			 : "=&r"(v->flags)
			 : "r"(v->q)
			 : "memory");
}

/* Load what machine_vectors_save() stored. */
static inline __attribute__((always_inline)) void machine_vectors_restore(
	const struct machine_vectors *v)
{
	__asm__ volatile(".arch_extension fp\n\t"
			 "ldp q0, q1, [%1]\n\tldp q2, q3, [%1, #32]\n\t"
			 "ldp q4, q5, [%1, #64]\n\tldp q6, q7, [%1, #96]\n\t"
			 "msr fpsr, %0"
			 :
			 : "r"(v->flags), "r"(v->q)
			 : "memory");
}

#endif
