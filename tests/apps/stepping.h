/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stepping.h - stops of the calling thread after each instruction, by signals (SIGTRAP).
 *
 * STEP_TRAP() stops first; the handler then asks for the next stop. x86-64 has a flag for it.
 * AArch64 has none for a program of its own: breakpoints are written where the thread can continue,
 * and a loop of exclusive accesses, which no stop would let end, counts as one instruction. One
 * thread at a time; nothing else may run the code of the next stop before it.
 */
#ifndef TESTS_APPS_STEPPING_H
#define TESTS_APPS_STEPPING_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)

#define STEP_TRAP() __asm__ volatile("int3")
#define STEP_FLAG 0x100

/* Stop after the instruction at which `at` continues. In the handler, last. */
static inline void step_next(ucontext_t *at)
{
	at->uc_mcontext.gregs[REG_EFL] |= STEP_FLAG;
}

/* Let the thread run. In the handler, first. */
static inline void step_end(ucontext_t *at)
{
	at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)STEP_FLAG;
}

/* Return whether the next instruction makes this system call. */
static inline bool step_is_call(const ucontext_t *at, long number)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)at->uc_mcontext.gregs[REG_RIP];
	return at->uc_mcontext.gregs[REG_RAX] == number && code[0] == 0x0f && code[1] == 0x05;
}

/* Make a system call that no library sees. */
static inline long step_raw_fork(void)
{
	long pid;
	__asm__ volatile("syscall" : "=a"(pid) : "a"((long)SYS_fork) : "rcx", "r11", "memory");
	return pid;
}

#elif defined(__aarch64__)

#define STEP_BREAK 0xd4200000u /* brk #0 */
#define STEP_TRAP() __asm__ volatile("brk #0x57")
#define STEP_TRAP_CODE (STEP_BREAK | 0x57u << 5)
#define STEP_PLACES 8
#define STEP_LOOP 16 /* instructions of a loop of exclusive accesses */

static struct {
	uint32_t *place[STEP_PLACES], code[STEP_PLACES];
	int count;
} step_set;

static inline long step_raw_call(long number, long a, long b, long c)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory", "cc");
	return x0;
}

static inline void step_write(uint32_t *place, uint32_t code)
{
	uint64_t page = (uint64_t)(uintptr_t)place & ~UINT64_C(0xfff);
	if (step_raw_call(SYS_mprotect, (long)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		abort();
	*(volatile uint32_t *)place = code;
	__builtin___clear_cache((char *)place, (char *)(place + 1));
}

static inline void step_stop_at(uint32_t *place)
{
	for (int i = 0; i < step_set.count; i++)
		if (step_set.place[i] == place)
			return;
	if (step_set.count == STEP_PLACES)
		abort();
	step_set.place[step_set.count] = place;
	step_set.code[step_set.count++] = *place;
	step_write(place, STEP_BREAK);
}

/* Return the target of a branch with an offset in the instruction, NULL if it is none. */
static inline uint32_t *step_target(uint32_t *at)
{
	uint32_t code = *at;
	if ((code & 0x7c000000) == 0x14000000) /* b, bl */
		return at + ((int32_t)(code << 6) >> 6);
	if ((code & 0xff000010) == 0x54000000 || (code & 0x7e000000) == 0x34000000) /* b.c, cbz */
		return at + ((int32_t)(code << 8) >> 13);
	if ((code & 0x7e000000) == 0x36000000) /* tbz */
		return at + ((int32_t)(code << 13) >> 18);
	return NULL;
}

static inline void step_next(ucontext_t *at)
{
	uint32_t *pc = (uint32_t *)(uintptr_t)at->uc_mcontext.pc, *target = step_target(pc);
	uint32_t code = *pc;
	if ((code & 0x3fc00000) == 0x08400000) { /* ldxr: behind the branch after stxr */
		uint32_t *end = pc + 1;
		while (end < pc + STEP_LOOP && (*end & 0x3fc00000) != 0x08000000)
			end++;
		for (uint32_t *in = pc + 1; in <= end + 1; in++)
			if ((target = step_target(in)) && (target < pc || target > end))
				step_stop_at(target);
		step_stop_at(end + 2);
	} else if ((code & 0xff800000) == 0xd6000000) { /* br, blr, ret, signed or not */
		unsigned number = (code & 0xfffff800) == 0xd65f0800 ? 30 : code >> 5 & 31;
		uint64_t to = at->uc_mcontext.regs[number] & 0xffffffffffff;
		step_stop_at((uint32_t *)(uintptr_t)to);
	} else {
		if (target)
			step_stop_at(target);
		if ((code & 0x7c000000) != 0x14000000)
			step_stop_at(pc + 1);
	}
}

static inline void step_end(ucontext_t *at)
{
	while (step_set.count) {
		step_set.count--;
		step_write(step_set.place[step_set.count], step_set.code[step_set.count]);
	}
	if (*(uint32_t *)(uintptr_t)at->uc_mcontext.pc == STEP_TRAP_CODE)
		at->uc_mcontext.pc += 4;
}

static inline bool step_is_call(const ucontext_t *at, long number)
{
	return at->uc_mcontext.regs[8] == (uint64_t)number &&
		*(const uint32_t *)(uintptr_t)at->uc_mcontext.pc == 0xd4000001; /* svc #0 */
}

static inline long step_raw_fork(void)
{
	return step_raw_call(SYS_clone, 17 /* SIGCHLD */, 0, 0);
}

#else
#error "no way to stop after each instruction is known here"
#endif
#endif
