/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.h - the call frame information (.eh_frame) of one instruction, as far as it is needed to find
 * the caller: the end of the frame, and the addresses of rbp and the return address.
 *
 * Reads the tables as the loader mapped them.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdint.h>

#include "machine/machine.h"

enum cfi_kind {
	CFI_NO_FDE = 0, /* no entry for this address: code that was generated at run time, or has no
			   tables */
	CFI_UNKNOWN,    /* an entry that struct cfi_rule cannot express */
	CFI_FRAME,      /* an ordinary frame */
	CFI_END,        /* outermost frame: the return address is undefined */
	CFI_SIGNAL      /* return path of a signal handler: the registers are in the frame */
};

/* The base of a value: a register by its DWARF number, or the CFA. */
enum cfi_base {
	CFI_BP = MACHINE_BP,
	CFI_SP = MACHINE_SP,
	CFI_IP = MACHINE_IP,
	CFI_REGISTERS = MACHINE_REGISTERS,
	CFI_CFA = CFI_REGISTERS,
	CFI_NUMBER
};

/* base + offset; if `loaded`, the word at that address, + add. */
struct cfi_value {
	uint8_t base; /* enum cfi_base */
	uint8_t loaded;
	int32_t offset;
	int32_t add;
};

/* The frame, restricted to rsp, rbp and the return address. */
struct cfi_rule {
	uint8_t kind;         /* enum cfi_kind */
	uint8_t bp_saved;     /* the caller's rbp is the word at `bp`; otherwise rbp is unchanged */
	struct cfi_value cfa; /* base CFI_SP or CFI_BP */
	struct cfi_value bp;  /* base CFI_SP, CFI_BP or CFI_CFA; never loaded */
	int32_t ip;           /* the return address is at CFA + ip */
};

enum cfi_how { CFI_SAME = 0, CFI_UNDEFINED, CFI_AT, CFI_IS };

/* The frame with all registers. */
struct cfi_frame {
	uint8_t kind; /* enum cfi_kind */
	struct cfi_value cfa;
	struct {
		uint8_t how; /* enum cfi_how: CFI_AT = the word at `value`, CFI_IS = `value` */
		struct cfi_value value;
	} saved[CFI_REGISTERS];
};

/* A mapped object with its .eh_frame_hdr. Nothing outside [begin, end) is read. */
struct cfi_object {
	uint64_t begin, end;
	uint64_t frame_header; /* 0 = none */
};

/*
 * Find the rule at `address`: the last byte of a call instruction (return address - 1), or an
 * interrupted instruction. Any thread, async-signal-safe, no allocation, takes about 1 us.
 */
void cfi_find(const struct cfi_object *object, uint64_t address, struct cfi_rule *ret_rule);

/* Find the rule as cfi_find() does, with all registers: for the few frames that struct cfi_rule
 * cannot express. */
void cfi_find_frame(const struct cfi_object *object, uint64_t address, struct cfi_frame *ret_frame);

#endif
