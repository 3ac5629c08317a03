/*
 * cfi.h - what the call frame information (.eh_frame) says about one instruction, as far as it
 * concerns the way to the caller: where the frame ends, where rbp and the return address are.
 *
 * Reads the tables as the loader mapped them. x86-64 only; elsewhere nothing is ever found.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdint.h>

enum cfi_kind {
	CFI_NO_FDE = 0, /* no entry for this address: code made at run time, or without tables */
	CFI_UNKNOWN,    /* an entry that struct cfi_rule cannot express */
	CFI_FRAME,      /* cfa, bp; the return address lies at cfa - 8 */
	CFI_END,        /* outermost frame: the return address is undefined */
	CFI_SIGNAL      /* return path of a signal handler: the registers lie in the frame */
};

enum cfi_base { CFI_SP, CFI_BP, CFI_CFA };

/* A value or place base + offset. */
struct cfi_place {
	uint8_t base; /* enum cfi_base */
	int32_t offset;
};

struct cfi_rule {
	uint8_t kind;     /* enum cfi_kind */
	uint8_t cfa_load; /* the CFA is the word at `cfa` (base SP or BP), plus cfa_add */
	uint8_t bp_saved; /* the caller's rbp is the word at `bp`; else it is unchanged */
	struct cfi_place cfa;
	struct cfi_place bp;
	int32_t cfa_add;
};

/* A mapped object with its .eh_frame_hdr. Everything read lies in [begin, end). */
struct cfi_object {
	uint64_t begin, end;
	uint64_t frame_header; /* 0 = none */
};

/*
 * The rule at `address`. That is the last byte of a call instruction (return address - 1), or an
 * interrupted instruction. Any thread, async-signal-safe, no allocation, takes about 1 us.
 */
void cfi_find(const struct cfi_object *object, uint64_t address, struct cfi_rule *ret_rule);

#endif
