/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registers.h - walking out with all registers: slow, exact, for the frames whose way out depends
 * on another register than rsp and rbp (the C library's lazy resolver, hand-written assembly).
 *
 * About 1 us a frame: nothing is cached, and every word is probed before it is read. x86-64 only.
 */
#ifndef UNWIND_REGISTERS_H
#define UNWIND_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

/* Where the kernel puts them, from the stack pointer of a signal handler's return path. */
#define REGISTERS_BP_BYTES 120u
#define REGISTERS_SP_BYTES 160u
#define REGISTERS_IP_BYTES 168u

#define GUESS_MAX_BYTES 0x4000 /* of a frame found by guessing rbp; libunwind's */

struct registers_all {
	uint64_t r[CFI_REGISTERS]; /* by DWARF number */
	bool exact;                /* interrupted: r[CFI_IP] is not a return address */
};

/* The registers of the calling function that callers may want back. Any thread. */
void registers_here(struct registers_all *ret_registers);

/* From a frame to its caller. False at the end, or when the way is not known. Any thread,
 * async-signal-safe. */
bool registers_step(struct registers_all *registers);

/* Does the caller run in a signal handler, as far as the way out is known? Looks at 200 frames at
 * most. Any thread, async-signal-safe. */
bool registers_in_handler(void);

/*
 * Bytes between sp and the return address of a frame in code without tables, where the code itself
 * tells: `add $N, %rsp; ret` behind the call at `ip`, as CPython's trampolines for perf have it
 * (they keep no rbp). 0: it does not.
 */
uint64_t registers_room_behind(uint64_t ip);

#endif
