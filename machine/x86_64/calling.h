/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calling.h - the registers that hold vectors and floats, x86-64. Included by tracer/functions/
 * alone; the contracts are in machine/machine.h.
 */
#ifndef MACHINE_X86_64_CALLING_H
#define MACHINE_X86_64_CALLING_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

#define MACHINE_VECTOR_KINDS 0xe7u /* x87, SSE, AVX and AVX-512 */
#define MACHINE_VECTOR_HEADER 512u

/* In the layout of each processor. */
struct machine_vectors {
	uint8_t state[2752] __attribute__((aligned(64)));
	uint32_t kinds;
};

/* Return whether the system has enabled xsave. */
static inline bool machine_can_save_vectors(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE);
}

/* Save the registers, all that the kernel has enabled. */
static inline __attribute__((always_inline)) void machine_vectors_save(struct machine_vectors *v)
{
	uint32_t low, high;
	for (uint32_t i = 0; i < 64; i += 8)
		*(volatile uint64_t *)(void *)&v->state[MACHINE_VECTOR_HEADER + i] = 0;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	v->kinds = low & MACHINE_VECTOR_KINDS;
	__asm__ volatile("xsave64 %0" : "+m"(v->state) : "a"(v->kinds), "d"(0));
}

/* Restore them. */
static inline __attribute__((always_inline)) void machine_vectors_restore(
	const struct machine_vectors *v)
{
	__asm__ volatile("xrstor64 %0" : : "m"(v->state), "a"(v->kinds), "d"(0));
}

#endif
