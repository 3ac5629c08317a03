/* SPDX-License-Identifier: Apache-2.0 */
/*
 * valgrind.h - detection of Valgrind.
 *
 * Valgrind's tools check what a program does to memory, and would report the tracer: it reads the
 * stack, shares pages with the writer by atomic operations, and tries a lock before it takes it.
 */
#ifndef TRACER_BASE_VALGRIND_H
#define TRACER_BASE_VALGRIND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Return whether Valgrind runs the program: issue its client request 0x1001, RUNNING_ON_VALGRIND.
 * To a processor the instructions are a no-op: rotations by 128 bits in all, and an exchange of a
 * register with itself. Valgrind recognizes the sequence and writes its answer to rdx. Any thread.
 */
static inline bool runs_on_valgrind(void)
{
	uint64_t answer = 0;
#if defined(__x86_64__)
	volatile uint64_t question[6] = {0x1001};
	__asm__ volatile("rol $3, %%rdi\n\trol $13, %%rdi\n\trol $61, %%rdi\n\trol $51, %%rdi\n\t"
			 "xchg %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(question)
			 : "cc", "memory");
#endif
	return answer != 0;
}

#endif
