/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registers.h - unwinding with all registers: slow and exact, for frames whose caller is found by
 * registers other than rsp and rbp (the C library's lazy resolver, hand-written assembly).
 *
 * Takes about 1 us per frame: nothing is cached, and every word is probed before it is read.
 */
#ifndef UNWIND_REGISTERS_H
#define UNWIND_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h"
#include "unwind/cfi.h"

#define GUESS_MAX_BYTES 0x4000 /* size of a frame found by rbp without tables; libunwind's limit */

struct registers_all {
	uint64_t r[CFI_REGISTERS]; /* registers by DWARF number */
	bool exact;                /* interrupted: r[CFI_IP] is not a return address */
};

/* Get the registers of the calling function that a callee preserves. Any thread. In assembly
 * (MACHINE_UNWINDING): compiled code might change one of them first. */
void registers_here(struct registers_all *ret_registers);

/* Step from a frame to its caller. Return false at the end, or if the caller is not known. Any
 * thread, async-signal-safe. */
bool registers_step(struct registers_all *registers);

/* Return true if the caller runs in a signal handler, as far as its callers are known. Examines at
 * most 200 frames. Any thread, async-signal-safe. */
bool registers_in_handler(void);

/*
 * Return the bytes between sp and the return address of a frame in code without tables, if the code
 * behind the call at `ip` shows it (machine_room_behind()). 0: it does not.
 */
uint64_t registers_room_behind(uint64_t ip);

/*
 * Return the bytes between sp and the CFA of a frame in code without tables that was interrupted at
 * `ip`, if the code there shows that the function has no frame by the frame pointer yet, or no more
 * (machine_room_at_edge()). More than 8: it has stored the caller's frame pointer at sp. 0: it has
 * a frame, or is no function that has one. Any thread, async-signal-safe.
 */
uint64_t registers_room_at_edge(uint64_t ip);

/* Return true if `ip` is where signal handlers return to, and has no tables. */
bool registers_at_sigreturn(uint64_t ip);

#endif
