/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - how to get from a frame to its caller, one cached word per instruction address.
 *
 * The cache is process-wide. An entry is one 64-bit word, so it is read and replaced whole without
 * a lock. The call frame information is looked up at the first use of an address.
 */
#ifndef UNWIND_RULES_H
#define UNWIND_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

/*
 * A rule in the lower 29 bits of an entry: bp << 19 | cfa << 3 | kind. CFA = rsp or rbp + 8 * cfa;
 * the caller's rbp is stored at CFA - 8 * bp, or is unchanged if bp is 0.
 */
enum rule_kind {
	RULE_NONE = 0, /* an empty entry */
	RULE_SP,
	RULE_BP,
	RULE_OTHER,  /* rules_other() returns it in full; cfa is its number */
	RULE_END,    /* outermost frame */
	RULE_SIGNAL, /* return path of a signal handler */
	RULE_NO_FDE, /* nothing is known about this address */
	RULE_UNKNOWN /* more than a rule can express */
};

#define RULE_KIND(rule) ((rule)&7u)
#define RULE_CFA_BYTES(rule) ((rule) >> 3 << 3 & 0x7fff8u)
#define RULE_BP_BYTES(rule) ((rule) >> 19 << 3)
#define RULE_FRAME_POINTER ((uint32_t)RULE_BP | 2u << 3 | 2u << 19) /* push rbp; mov rsp, rbp */

#define RULES_SETS_BITS 13
#define RULES_WAYS 8u /* a set is one line of the processor's cache */
#define RULES_PAYLOAD_BITS 29
#define RULES_ADDRESS_BITS 48

extern uint64_t (*rules_cache)[RULES_WAYS] __attribute__((visibility("hidden")));

/* Allocate the cache. Return false without memory: rules_find() may not be called then. */
bool rules_open(void);

/*
 * Multiplication by an odd number permutes the 48-bit addresses (here in the upper 48 bits of a
 * word): the upper bits choose the set, the lower bits identify the address within it, and nothing
 * is lost.
 */
#define RULES_FACTOR (0x9e3779b97f4bull << (64 - RULES_ADDRESS_BITS))
#define RULES_SET(hash) ((hash) >> (64 - RULES_SETS_BITS))
#define RULES_FIRST(hash) ((hash) >> (64 - RULES_SETS_BITS - 3)) /* set * RULES_WAYS + first way */
#define RULES_TAG(hash) ((hash) << RULES_SETS_BITS)

/* Find a rule that is not in its first entry: in the rest of the set, then in the tables. */
uint32_t rules_find_slow(uint64_t address);

/*
 * Find the rule at `address`: the last byte of a call (return address - 1), or an interrupted
 * instruction. Any thread, lock-free, async-signal-safe.
 */
static inline uint32_t rules_find(uint64_t address)
{
	uint64_t hash = address * RULES_FACTOR;
	const uint64_t *first = &rules_cache[0][0] + RULES_FIRST(hash);
	uint64_t entry = __atomic_load_n(first, __ATOMIC_ACQUIRE);
	/* 0 is an empty entry, which could have the right tag. */
	if (__builtin_expect((entry ^ RULES_TAG(hash)) - 1 < (1u << RULES_PAYLOAD_BITS) - 1, 1))
		return (uint32_t)entry & ((1u << RULES_PAYLOAD_BITS) - 1);
	return rules_find_slow(address);
}

/* Return the rule of kind RULE_OTHER in full. */
const struct cfi_rule *rules_other(uint32_t rule);

/* Drop the rules of addresses in [begin, end). A thread that is looking one of them up at this
 * moment may still enter the old rule. Any thread. */
void rules_drop(uint64_t begin, uint64_t end);

/* Find the object that holds `address`, by the C library or the module map. Any thread,
 * lock-free. */
bool rules_object(uint64_t address, struct cfi_object *ret_object);

/* Set how objects are found: _dl_find_object() of the C library, or NULL for the module map alone.
 * Before the first lookup only. */
void rules_init(int (*find_object)(void *address, void *ret_object));

#endif
